"""What is special about nebula, reached from an editor: commands, models, parts of a change, a past with its changes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from acp import RequestError, text_block

from conftest import Bench
from editor_rig import Editor, connected, titles
from scripted_model import Call, Fault, RecordedRequest, ScriptedModel, Turn

pytestmark = pytest.mark.slow

CREATE = Call("writeFile", {"path": "notes.txt", "content": "one\n"})


def words(text: str) -> list[Any]:
    return [text_block(text)]


async def opened(agent: Any, bench: Bench) -> str:
    return (await agent.new_session(cwd=str(bench.project), mcp_servers=[])).session_id


async def test_commands_are_offered_and_run(bench: Bench) -> None:
    editor = Editor()
    notes = bench.project / "notes.txt"
    with ScriptedModel([Turn("", [CREATE]), Turn("Written."), Turn("Again.")]) as server:
        async with connected(bench, server, editor) as agent:
            session = await opened(agent, bench)
            offered = (await editor.wait_for("available_commands_update"))["availableCommands"]
            names = {each["name"] for each in offered}
            wanted = {"undo", "redo", "fork", "restore", "cost", "context", "compact", "history", "checks", "accept"}
            assert wanted <= names and not {"exit", "clear", "resume"} & names
            assert all(each["description"] for each in offered)
            await agent.prompt(session_id=session, prompt=words("write notes"))
            assert notes.exists()

            async def run(line: str) -> str:
                editor.updates.clear()
                assert (await agent.prompt(session_id=session, prompt=words(line))).stop_reason == "end_turn"
                return editor.said()

            assert "Taken back: notes.txt" in await run("/undo") and not notes.exists()
            assert "Done again: notes.txt" in await run("/redo") and notes.exists()
            assert "tokens in" in await run("/cost")
            assert "system prompt" in await run("/context")
            assert "notes.txt" in await run("/history notes.txt")
            assert "write notes" in await run("/fork")
            assert "The next prompt continues from: write notes" in await run("/fork 1")
            assert "+one" in await run("/diff")
            assert "Mode: plan" in await run("/plan")
            assert editor.of_kind("current_mode_update")[0]["currentModeId"] == "plan"
            await run("/agent")
            asked = len(server.turns)
            assert await run("/retry") and len(server.turns) == asked + 1
            assert editor.said().endswith("Again.")


async def test_a_command_that_is_none_is_an_error_and_is_not_sent(bench: Bench) -> None:
    with ScriptedModel([Turn("A path.")]) as server:
        async with connected(bench, server, Editor()) as agent:
            session = await opened(agent, bench)
            with pytest.raises(RequestError, match="did you mean /undo"):
                await agent.prompt(session_id=session, prompt=words("/undoo"))
            with pytest.raises(RequestError, match="for the terminal"):
                await agent.prompt(session_id=session, prompt=words("/exit"))
            assert not server.turns
            await agent.prompt(session_id=session, prompt=words("/etc/passwd is a path"))
        assert len(server.turns) == 1


async def test_a_command_of_the_users_own_runs_in_a_layer(bench: Bench) -> None:
    editor = Editor()
    with ScriptedModel([Turn("Seen.")]) as server:
        async with connected(bench, server, editor) as agent:
            session = await opened(agent, bench)
            await agent.prompt(session_id=session, prompt=words("!echo said; echo one > own.txt"))
            assert "said" in editor.said() and (bench.project / "own.txt").read_text() == "one\n"
            assert titles(editor.questions) == ["What a command changed: echo said; echo one > own.txt"]
            assert [each["status"] for each in editor.of_kind("tool_call_update")] == ["completed"]
            assert not server.turns
            await agent.prompt(session_id=session, prompt=words("what did it say?"))
        assert "$ echo said" in json.dumps(server.turns[0].json["messages"])


async def test_a_command_of_the_users_own_that_takes_long_is_told(bench: Bench) -> None:
    editor = Editor()
    with ScriptedModel([]) as server:
        async with connected(bench, server, editor) as agent:
            await agent.prompt(session_id=await opened(agent, bench), prompt=words("!sleep 2"))
    assert "working · 1 s" in editor.waits


async def test_tries_are_raced_and_one_is_taken(bench: Bench) -> None:
    editor = Editor()

    def answer(request: RecordedRequest) -> Turn:
        is_done = any(each["role"] == "tool" for each in request.json["messages"])
        return Turn("Done.") if is_done else Turn("", [CREATE])

    with ScriptedModel(answer) as server:
        async with connected(bench, server, editor) as agent:
            session = await opened(agent, bench)
            await agent.prompt(session_id=session, prompt=words("/race --tries 2 write notes"))
            assert "/take 2" in editor.said() and not (bench.project / "notes.txt").exists()
            await agent.prompt(session_id=session, prompt=words("/take 1"))
    assert (bench.project / "notes.txt").read_text() == "one\n"
    (asked,) = editor.questions
    assert [each.new_text for each in asked.content if each.type == "diff"] == ["one\n"]
    assert editor.of_kind("tool_call_update")[-1]["status"] == "completed"


async def test_a_question_of_a_command_is_a_permission(bench: Bench) -> None:
    """What another session did is taken back only after a yes."""
    notes, editor = bench.project / "notes.txt", Editor("no", "yes")
    with ScriptedModel([Turn("", [CREATE]), Turn("Written.")]) as server:
        bench.run("nebula", "-p", "write", "--yes", **server.env())
        async with connected(bench, server, editor) as agent:
            session = await opened(agent, bench)
            await agent.prompt(session_id=session, prompt=words("/undo"))
            assert notes.exists()
            await agent.prompt(session_id=session, prompt=words("/undo"))
            assert not notes.exists()
    assert titles(editor.questions) == ["Take it back all the same?"] * 2


async def test_a_plan_is_accepted_in_words(bench: Bench) -> None:
    editor = Editor()
    with ScriptedModel([Turn("1. Write notes."), Turn("", [CREATE]), Turn("Done.")]) as server:
        async with connected(bench, server, editor) as agent:
            session = await opened(agent, bench)
            await agent.set_session_mode(session_id=session, mode_id="plan")
            await agent.prompt(session_id=session, prompt=words("plan notes"))
            await agent.prompt(session_id=session, prompt=words("/accept"))
    assert (bench.project / "notes.txt").exists()
    assert [each["currentModeId"] for each in editor.of_kind("current_mode_update")] == ["plan", "agent"]


async def test_the_steps_of_a_plan_are_entries(bench: Bench) -> None:
    plan = {"tasks": [{"id": "a", "title": "First", "goal": "do a"}, {"id": "b", "goal": "do b", "depends_on": ["a"]}]}
    editor = Editor()
    with ScriptedModel([Turn("A plan."), Turn(json.dumps(plan))]) as server:
        async with connected(bench, server, editor) as agent:
            session = await opened(agent, bench)
            await agent.set_session_mode(session_id=session, mode_id="plan")
            await agent.prompt(session_id=session, prompt=words("plan it"))
            await agent.prompt(session_id=session, prompt=words("/accept --plan steps.json"))
    assert (bench.project / "steps.json").exists()
    entries = editor.of_kind("plan")[-1]["entries"]
    assert [(each["content"], each["status"]) for each in entries] == [("First", "pending"), ("do b", "pending")]


async def test_the_models_own_list_of_steps_is_shown(bench: Bench) -> None:
    steps = [{"content": "Look", "status": "completed"}, {"content": "Write", "status": "in_progress"}]
    editor = Editor()
    with ScriptedModel([Turn("", [Call("todo", {"items": steps})]), Turn("Done.")]) as server:
        async with connected(bench, server, editor) as agent:
            await agent.prompt(session_id=await opened(agent, bench), prompt=words("work"))
    (told,) = editor.of_kind("plan")
    assert [{"content": each["content"], "status": each["status"]} for each in told["entries"]] == steps


async def test_the_model_is_chosen_in_the_editor(bench: Bench) -> None:
    editor = Editor()
    with ScriptedModel([Turn("One."), Turn("Two."), Turn("Three.")], models={"openai": ["small", "large"]}) as server:
        async with connected(bench, server, editor) as agent:
            found = await agent.new_session(cwd=str(bench.project), mcp_servers=[])
            session = found.session_id
            options = {each.id: each for each in found.config_options}
            assert set(options) == {"mode", "model", "effort"}
            told = await editor.wait_for("config_option_update")
            (models,) = [each for each in told["configOptions"] if each["id"] == "model"]
            assert {"openai/small", "openai/large"} <= {each["value"] for each in models["options"]}
            await agent.prompt(session_id=session, prompt=words("one"))
            told = await agent.set_config_option(session_id=session, config_id="model", value="openai/large")
            assert {each.id: each.current_value for each in told.config_options}["model"] == "openai/large"
            await agent.prompt(session_id=session, prompt=words("two"))
            await agent.set_config_option(session_id=session, config_id="mode", value="plan")
            await agent.set_config_option(session_id=session, config_id="effort", value="high")
            await agent.prompt(session_id=session, prompt=words("three"))
            for option, value in (("model", "nobody/none"), ("effort", "huge"), ("mode", "x"), ("colour", "red")):
                with pytest.raises(RequestError):
                    await agent.set_config_option(session_id=session, config_id=option, value=value)
        assert [each.json["model"] for each in server.turns][1:] == ["large", "large"]
    assert [each["currentModeId"] for each in editor.of_kind("current_mode_update")] == ["plan"]
    assert editor.of_kind("usage_update")[-1]["size"] > 0


async def test_the_model_is_chosen_as_editors_did_before_there_were_options(bench: Bench) -> None:
    with ScriptedModel([Turn("One.")], models={"openai": ["small", "large"]}) as server:
        async with connected(bench, server, Editor()) as agent:
            session = await opened(agent, bench)
            await agent._conn.send_request("session/set_model", {"sessionId": session, "modelId": "openai/large"})
            await agent.prompt(session_id=session, prompt=words("one"))
        assert server.turns[-1].json["model"] == "large"


async def test_a_model_chosen_during_a_turn_answers_the_next(bench: Bench) -> None:
    with ScriptedModel(
        [Turn("Slow.", fault=Fault.slow(1)), Turn("Two.")], models={"openai": ["small", "large"]}
    ) as server:
        async with connected(bench, server, Editor()) as agent:
            session = await opened(agent, bench)
            turn = asyncio.create_task(agent.prompt(session_id=session, prompt=words("one")))
            await asyncio.to_thread(server.wait_until, lambda: bool(server.turns))
            await agent.set_config_option(session_id=session, config_id="model", value="openai/large")
            assert (await turn).stop_reason == "end_turn"
            await agent.prompt(session_id=session, prompt=words("two"))
        assert server.turns[-1].json["model"] == "large"


def two_hunks(bench: Bench) -> Call:
    lines = [f"{number}\n" for number in range(30)]
    (bench.project / "a.txt").write_text("".join(lines))
    lines[2], lines[25] = "two\n", "twenty-five\n"
    return Call("editFile", {"path": "a.txt", "new_content": "".join(lines)})


async def test_what_goes_without_asking_is_listed_and_taken_back_in_an_editor(bench: Bench) -> None:
    editor = Editor("all", "no", "yes")
    write = [Turn("", [Call("writeFile", {"path": f"{name}.txt", "content": "x\n"})]) for name in "abc"]
    script = [write[0], Turn("One."), write[1], Turn("Two."), write[2], Turn("Three.")]
    with ScriptedModel(script) as server:
        async with connected(bench, server, editor, "--allow-network") as agent:
            session = await opened(agent, bench)
            revoked = [f"/permissions revoke {name}" for name in ("network", "pages", "*")]
            for line in ("a", "/permissions", *revoked[:2], "b", revoked[2], "c"):
                await agent.prompt(session_id=session, prompt=words(line))
    said = editor.said()
    assert "  network  commands that use the network\n" in said and "  pages  " in said
    assert "  *  every change of ordinary files" in said
    assert "Taken back: network" in said and "Taken back: *" in said and "everything is asked about" in said
    wanted = ["Create a new file: a.txt", "Take all of them back now?", "Create a new file: c.txt"]
    assert titles(editor.questions) == wanted


async def test_hunks_are_permissions_of_their_own(bench: Bench) -> None:
    write = two_hunks(bench)
    editor = Editor("hunks", "no", "yes")
    with ScriptedModel([Turn("", [Call("readFile", {"path": "a.txt"})]), Turn("", [write]), Turn("Half.")]) as server:
        async with connected(bench, server, editor) as agent:
            await agent.prompt(session_id=await opened(agent, bench), prompt=words("write"))
        assert "left out a part" in json.dumps(server.turns[-1].json["messages"])
    text = (bench.project / "a.txt").read_text()
    assert "twenty-five" in text and "two\n" not in text
    assert titles(editor.questions)[1:] == ["Take hunk 1 of 2? a.txt", "Take hunk 2 of 2? a.txt"]
    assert len({each.tool_call_id for each in editor.questions}) == 1
    ended = [each["status"] for each in editor.of_kind("tool_call_update")]
    assert ended == ["in_progress", "completed"]


async def test_a_commands_changes_are_diffs_and_chosen_by_file(bench: Bench) -> None:
    editor = Editor("files", "yes", "no")
    command = Call("runCommand", {"command": "echo a > a.txt; echo b > b.txt"})
    with ScriptedModel([Turn("", [command]), Turn("Done.")]) as server:
        async with connected(bench, server, editor) as agent:
            await agent.prompt(session_id=await opened(agent, bench), prompt=words("run"))
    asked = editor.questions[0]
    assert asked.title == "What a command changed: echo a > a.txt; echo b > b.txt"
    diffs = [(each.path, each.old_text, each.new_text) for each in asked.content if each.type == "diff"]
    assert diffs == [(str(bench.project / f"{name}.txt"), None, f"{name}\n") for name in "ab"]
    assert (bench.project / "a.txt").exists() and not (bench.project / "b.txt").exists()


async def test_a_session_is_loaded_with_its_calls_and_its_mode(bench: Bench) -> None:
    (bench.project / "a.txt").write_text("a\n")
    command = Call("runCommand", {"command": "echo b > b.txt"})
    calls = [Turn("", [Call("readFile", {"path": "a.txt"}), CREATE]), Turn("", [command]), Turn("Written.")]
    with ScriptedModel(calls) as server:
        async with connected(bench, server, Editor()) as agent:
            session = await opened(agent, bench)
            await agent.prompt(session_id=session, prompt=words("write notes"))
            await agent.set_session_mode(session_id=session, mode_id="plan")
        for argv, shown in (((), ["edit", "execute"]), (("--backstage",), ["read", "edit", "execute"])):
            editor = Editor()
            async with connected(bench, server, editor, *argv) as agent:
                found = await agent.load_session(cwd=str(bench.project), session_id=session, mcp_servers=[])
                assert found.modes.current_mode_id == "plan"
                loaded = editor.of_kind("tool_call")
                assert [each["kind"] for each in loaded] == shown
                assert {each["status"] for each in loaded} == {"completed"}
                changed = {each["locations"][0]["path"]: each["content"][0] for each in loaded[-2:]}
                notes = changed[str(bench.project / "notes.txt")]
                assert (notes["type"], notes["newText"]) == ("diff", "one\n") and "oldText" not in notes
                assert changed[str(bench.project / "b.txt")]["newText"] == "b\n"
                assert editor.said("user_message_chunk") == "write notes" and editor.said() == "Written."
                await editor.wait_for("available_commands_update")
                editor.updates.clear()
                await agent.close_session(session_id=session)
                with pytest.raises(RequestError, match="no such session"):
                    await agent.prompt(session_id=session, prompt=words("x"))
                again = await agent.resume_session(cwd=str(bench.project), session_id=session, mcp_servers=[])
                assert again.modes.current_mode_id == "plan" and not editor.said("user_message_chunk")
