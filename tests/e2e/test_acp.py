"""nebula acp, driven by the protocol's own client library, as an editor would."""

from __future__ import annotations

import asyncio
import base64
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from acp import RequestError, image_block, resource_link_block, spawn_agent_process, text_block
from acp.schema import EnvVariable, McpServerStdio

from conftest import BIN, Bench
from editor_rig import Editor, connected
from scripted_model import Call, Fault, ScriptedModel, Turn
from slow_git import slow_git, wait_for

pytestmark = pytest.mark.slow

CREATE = Call("writeFile", {"path": "notes.txt", "content": "one\n"})
PIXEL = base64.b64encode(
    base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
).decode()


async def test_a_turn_with_an_approved_write(bench: Bench) -> None:
    editor = Editor()
    with ScriptedModel([Turn("I write it.", [CREATE]), Turn("Written.")]) as server:
        async with connected(bench, server, editor) as agent:
            session = await agent.new_session(cwd=str(bench.project), mcp_servers=[])
            ended = await agent.prompt(session_id=session.session_id, prompt=[text_block("write notes")])
    assert ended.stop_reason == "end_turn"
    assert editor.said().startswith("I write it.\n\nWritten.\n\n1 file changed: notes.txt +1 −0")
    assert (bench.project / "notes.txt").read_text() == "one\n"
    (asked,) = editor.questions
    assert asked.title == "Create a new file: notes.txt"
    assert (asked.content[0].path, asked.content[0].new_text) == (str(bench.project / "notes.txt"), "one\n")
    shown = json.dumps(editor.updates)
    assert "writeFile" not in shown, "which tool ran is backstage"


@pytest.mark.parametrize("answer", ["no", "closed"])
async def test_a_refused_write_reaches_the_model(bench: Bench, answer: str) -> None:
    editor = Editor(answer)
    with ScriptedModel([Turn("", [CREATE]), Turn("Then not.")]) as server:
        async with connected(bench, server, editor) as agent:
            session = await agent.new_session(cwd=str(bench.project), mcp_servers=[])
            ended = await agent.prompt(session_id=session.session_id, prompt=[text_block("write notes")])
        assert "did not allow" in json.dumps(server.turns[-1].json["messages"])
    assert ended.stop_reason == "end_turn" and not (bench.project / "notes.txt").exists()


async def test_yes_for_the_session_is_not_asked_again(bench: Bench) -> None:
    editor, more = Editor("all"), Call("writeFile", {"path": "more.txt", "content": "two\n"})
    with ScriptedModel([Turn("", [CREATE]), Turn("", [more]), Turn("Both.")]) as server:
        async with connected(bench, server, editor) as agent:
            session = await agent.new_session(cwd=str(bench.project), mcp_servers=[])
            await agent.prompt(session_id=session.session_id, prompt=[text_block("write")])
    assert len(editor.questions) == 1 and (bench.project / "more.txt").exists()


async def test_plan_mode_writes_nothing(bench: Bench) -> None:
    editor = Editor()
    with ScriptedModel([Turn("", [CREATE]), Turn("Only a plan.")]) as server:
        async with connected(bench, server, editor) as agent:
            session = await agent.new_session(cwd=str(bench.project), mcp_servers=[])
            assert {mode.id for mode in session.modes.available_modes} == {"agent", "plan"}
            await agent.set_session_mode(session_id=session.session_id, mode_id="plan")
            await agent.prompt(session_id=session.session_id, prompt=[text_block("write")])
    assert not editor.questions and not (bench.project / "notes.txt").exists()
    assert "current_mode_update" in editor.kinds()


async def test_a_cancelled_turn_ends_so(bench: Bench) -> None:
    editor = Editor()
    with ScriptedModel([Turn("late", fault=Fault.slow(60))]) as server:
        async with connected(bench, server, editor) as agent:
            session = await agent.new_session(cwd=str(bench.project), mcp_servers=[])
            prompt = asyncio.create_task(agent.prompt(session_id=session.session_id, prompt=[text_block("wait")]))
            await asyncio.to_thread(server.wait_until, lambda: bool(server.turns))
            await agent.cancel(session_id=session.session_id)
            ended = await prompt
    assert ended.stop_reason == "cancelled"


async def test_a_turn_cancelled_while_its_context_is_built_is_answered(bench: Bench) -> None:
    path, asked = slow_git(bench, 1)
    with ScriptedModel([Turn("never")]) as server:
        async with connected(bench, server, Editor(), PATH=path) as agent:
            session = await agent.new_session(cwd=str(bench.project), mcp_servers=[])
            asked.unlink(missing_ok=True)
            prompt = asyncio.create_task(agent.prompt(session_id=session.session_id, prompt=[text_block("wait")]))
            await asyncio.to_thread(wait_for, asked)
            await agent.cancel(session_id=session.session_id)
            assert (await asyncio.wait_for(prompt, 30)).stop_reason == "cancelled"
    assert not server.turns


async def test_an_editor_is_told_what_goes_on_while_the_context_is_built(bench: Bench) -> None:
    path, _ = slow_git(bench, 2)
    editor = Editor()
    with ScriptedModel([Turn("Hello.")]) as server:
        async with connected(bench, server, editor, PATH=path) as agent:
            session = await agent.new_session(cwd=str(bench.project), mcp_servers=[])
            await agent.prompt(session_id=session.session_id, prompt=[text_block("hi")])
    assert "looking at the project · 1 s" in editor.waits


async def test_an_editor_is_told_that_the_model_is_not_asked_yet(bench: Bench) -> None:
    editor, limited = Editor(), Fault.status_code(429, retry_after="2")
    with ScriptedModel([limited, Turn("Hello.")]) as server:
        async with connected(bench, server, editor) as agent:
            session = await agent.new_session(cwd=str(bench.project), mcp_servers=[])
            await agent.prompt(session_id=session.session_id, prompt=[text_block("hi")])
    assert "rate limited, again in 2 s · 1 s" in editor.waits


async def test_a_turn_cancelled_in_the_same_breath_is_answered(bench: Bench) -> None:
    with ScriptedModel([Turn("never", fault=Fault.slow(60))]) as server:
        async with connected(bench, server, Editor()) as agent:
            session = await agent.new_session(cwd=str(bench.project), mcp_servers=[])
            prompt = asyncio.create_task(agent.prompt(session_id=session.session_id, prompt=[text_block("wait")]))
            await asyncio.sleep(0)
            await agent.cancel(session_id=session.session_id)
            assert (await asyncio.wait_for(prompt, 30)).stop_reason == "cancelled"


async def test_a_session_is_loaded_with_its_past(bench: Bench) -> None:
    first, second = Editor(), Editor()
    with ScriptedModel([Turn("Nice to meet you."), Turn("You are Ada.")]) as server:
        async with connected(bench, server, first) as agent:
            session = await agent.new_session(cwd=str(bench.project), mcp_servers=[])
            await agent.prompt(session_id=session.session_id, prompt=[text_block("I am Ada.")])
        async with connected(bench, server, second) as agent:
            listed = await agent.list_sessions(cwd=str(bench.project))
            assert [(each.session_id, each.title) for each in listed.sessions] == [(session.session_id, "I am Ada.")]
            await agent.load_session(cwd=str(bench.project), session_id=session.session_id, mcp_servers=[])
            assert second.said("user_message_chunk") == "I am Ada."
            assert second.said() == "Nice to meet you."
            await agent.prompt(session_id=session.session_id, prompt=[text_block("Who am I?")])
        assert "I am Ada." in json.dumps(server.turns[-1].json["messages"])


async def test_files_and_images_go_along(bench: Bench) -> None:
    (bench.project / "a.py").write_text("print('the file itself')\n")
    editor = Editor()
    with ScriptedModel([Turn("Seen.")]) as server:
        async with connected(bench, server, editor) as agent:
            session = await agent.new_session(cwd=str(bench.project), mcp_servers=[])
            link = resource_link_block("a.py", (bench.project / "a.py").as_uri())
            blocks = [text_block("Explain "), link, text_block(" please"), image_block(PIXEL, "image/png")]
            await agent.prompt(session_id=session.session_id, prompt=blocks)
        sent = json.dumps(server.turns[0].json["messages"][-1])
    assert "Explain @a.py please" in sent and "the file itself" in sent and PIXEL in sent


async def test_a_model_that_says_nothing_and_a_command_that_takes_long_are_told(bench: Bench) -> None:
    editor, released = Editor(), threading.Event()
    with ScriptedModel(
        [Turn("", [Call("runCommand", {"command": "sleep 2"})]), Turn("Done.", until=released)]
    ) as server:
        async with connected(bench, server, editor) as agent:
            session = await agent.new_session(cwd=str(bench.project), mcp_servers=[])
            prompt = asyncio.create_task(agent.prompt(session_id=session.session_id, prompt=[text_block("go")]))
            async with editor.changed:
                await asyncio.wait_for(
                    editor.changed.wait_for(lambda: "waiting for the model · 1 s" in editor.waits), 60
                )
            released.set()
            await prompt
    assert any(each.startswith("running ") for each in editor.waits)


async def test_backstage_shows_the_tools(bench: Bench) -> None:
    (bench.project / "a.txt").write_text("a\n")
    editor = Editor()
    with ScriptedModel([Turn("", [Call("readFile", {"path": "a.txt"})]), Turn("Read.")]) as server:
        async with connected(bench, server, editor, "--backstage") as agent:
            session = await agent.new_session(cwd=str(bench.project), mcp_servers=[])
            await agent.prompt(session_id=session.session_id, prompt=[text_block("read")])
    calls = [each for each in editor.updates if each["sessionUpdate"] == "tool_call"]
    ends = [each for each in editor.updates if each["sessionUpdate"] == "tool_call_update"]
    assert [(each["title"], each["kind"]) for each in calls] == [("readFile a.txt", "read")]
    assert calls[0]["locations"] == [{"path": str(bench.project / "a.txt")}]
    assert [each["status"] for each in ends] == ["completed"]


async def test_what_fails_is_said(bench: Bench) -> None:
    editor = Editor()
    with ScriptedModel([Fault.status_code(401)]) as server:
        async with connected(bench, server, editor) as agent:
            with pytest.raises(RequestError, match="absolute path of a folder"):
                await agent.new_session(cwd="somewhere", mcp_servers=[])
            with pytest.raises(RequestError, match="'sessionId' must be a string that is not empty"):
                await agent.load_session(cwd=str(bench.project), session_id="", mcp_servers=[])
            with pytest.raises(RequestError, match="no such session"):
                await agent.prompt(session_id="none", prompt=[text_block("x")])
            session = await agent.new_session(cwd=str(bench.project), mcp_servers=[])
            with pytest.raises(RequestError, match="did not accept the key"):
                await agent.prompt(session_id=session.session_id, prompt=[text_block("x")])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_an_editor_that_ends_it_leaves_a_closed_session(bench: Bench, number: signal.Signals) -> None:
    editor = Editor()
    with ScriptedModel([Turn("late", fault=Fault.slow(60))]) as server:
        environ = bench.env(**server.env())
        async with spawn_agent_process(editor, str(BIN / "nebula"), "acp", env=environ) as (agent, process):  # type: ignore[arg-type]
            await agent.initialize(protocol_version=1)
            session = await agent.new_session(cwd=str(bench.project), mcp_servers=[])
            prompt = asyncio.create_task(agent.prompt(session_id=session.session_id, prompt=[text_block("wait")]))
            await asyncio.to_thread(server.wait_until, lambda: bool(server.turns))
            process.send_signal(number)
            assert await asyncio.wait_for(process.wait(), 60) == 0
            assert (await prompt).stop_reason == "cancelled"
    listed = bench.run("nebula", "sessions", "--json").json
    assert listed[0]["ended_at"] is not None


async def test_servers_of_the_editor_join(bench: Bench) -> None:
    code = "from mcp.server import MCPServer\ns = MCPServer('t')\n@s.tool()\ndef ping() -> str:\n    return 'pong'\ns.run()"
    given = McpServerStdio(
        name="tools", command=sys.executable, args=["-c", code], env=[EnvVariable(name="A", value="b")]
    )
    editor = Editor()
    with ScriptedModel([Turn("", [Call("tools__ping", {})]), Turn("Pinged.")]) as server:
        async with connected(bench, server, editor) as agent:
            session = await agent.new_session(cwd=str(bench.project), mcp_servers=[given])
            await agent.prompt(session_id=session.session_id, prompt=[text_block("ping")])
        assert "pong" in json.dumps(server.turns[-1].json["messages"])
    assert editor.questions[0].title == "Call tools__ping with:"


async def test_a_session_loaded_again_is_opened_once(bench: Bench) -> None:
    """Its server stands for all that a session holds: it ends with the one that had it."""
    started = bench.home / "started"
    code = (
        f"import os\nwith open({str(started)!r}, 'a') as file:\n    print(os.getpid(), file=file)\n"
        "from mcp.server import MCPServer\ns = MCPServer('t')\n@s.tool()\ndef ping() -> str:\n    return 'pong'\ns.run()"
    )

    def alive() -> list[str]:
        return [pid for pid in started.read_text().split() if Path("/proc", pid).exists()]

    given = McpServerStdio(name="tools", command=sys.executable, args=["-c", code], env=[])
    editor = Editor()
    with ScriptedModel([Turn("One."), Turn("Two."), Turn("late", fault=Fault.slow(60))]) as server:
        async with connected(bench, server, editor) as agent:
            session = (await agent.new_session(cwd=str(bench.project), mcp_servers=[given])).session_id
            where = {"cwd": str(bench.project), "session_id": session, "mcp_servers": [given]}
            await agent.prompt(session_id=session, prompt=[text_block("one")])
            (first,) = alive()
            await asyncio.gather(agent.load_session(**where), agent.load_session(**where))
            assert not alive()
            await agent.prompt(session_id=session, prompt=[text_block("two")])
            (second,) = alive()
            assert second != first
            assert "in use by another process" not in json.dumps(editor.updates)
            prompt = asyncio.create_task(agent.prompt(session_id=session, prompt=[text_block("wait")]))
            await asyncio.to_thread(server.wait_until, lambda: len(server.turns) == 3)
            with pytest.raises(RequestError, match="a turn is under way"):
                await agent.load_session(**where)
            await agent.cancel(session_id=session)
            assert (await prompt).stop_reason == "cancelled"
    assert not alive()


@pytest.mark.parametrize("source", ["/dev/null", __file__])
def test_what_is_no_pipe_is_refused_in_one_line(bench: Bench, source: str) -> None:
    with open(source, "rb") as stdin:
        done = subprocess.run(
            [BIN / "nebula", "acp"], stdin=stdin, capture_output=True, env=bench.env(), timeout=60, check=False
        )
    assert done.returncode == 64
    assert done.stderr == b"nebula: an editor starts this command and talks with it through a pipe\n"
