"""Unsaved buffers, and a cancellation at every moment, from an editor."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from acp import text_block

from conftest import Bench
from editor_rig import Editor, connected
from scripted_model import Call, Fault, RecordedRequest, ScriptedModel, Turn

pytestmark = pytest.mark.slow

READ = Call("readFile", {"path": "a.txt"})


async def test_unsaved_buffers_are_read_and_written(bench: Bench) -> None:
    path = bench.project / "a.txt"
    path.write_text("saved\n")
    editor = Editor(buffers={str(path): "unsaved\n"})
    edit = Call("editFile", {"path": "a.txt", "edits": [{"old_text": "unsaved", "new_text": "edited"}]})
    with ScriptedModel([Turn("", [READ]), Turn("", [edit]), Turn("Done.")]) as server:
        async with connected(bench, server, editor) as agent:
            session = (await agent.new_session(cwd=str(bench.project), mcp_servers=[])).session_id
            await agent.prompt(session_id=session, prompt=[text_block("edit")])
            assert "unsaved" in json.dumps(server.turns[1].json["messages"])
            (asked,) = editor.questions
            assert (asked.content[0].old_text, asked.content[0].new_text) == ("unsaved\n", "edited\n")
            assert path.read_text() == "edited\n" and not editor.buffers
            assert editor.written == [str(path)], "saved first; then it shows what we wrote"
            await agent.prompt(session_id=session, prompt=[text_block("/undo")])
    assert path.read_text() == "unsaved\n", "what the user typed is never lost"


async def test_a_text_typed_while_somebody_thinks_is_read_again_first(bench: Bench) -> None:
    path = bench.project / "a.txt"
    path.write_text("one\n")

    class Typing(Editor):
        async def request_permission(self, *args: Any, **more: Any) -> Any:
            if not self.questions:
                self.buffers = {str(path): "one\ntyped\n"}
            return await super().request_permission(*args, **more)

    editor = Typing(buffers={})
    edit = Call("editFile", {"path": "a.txt", "edits": [{"old_text": "one", "new_text": "two"}]})
    with ScriptedModel(
        [Turn("", [READ]), Turn("", [edit]), Turn("", [READ]), Turn("", [edit]), Turn("Done.")]
    ) as server:
        async with connected(bench, server, editor) as agent:
            session = (await agent.new_session(cwd=str(bench.project), mcp_servers=[])).session_id
            await agent.prompt(session_id=session, prompt=[text_block("edit")])
    assert [each.content[0].new_text for each in editor.questions] == ["two\n", "two\ntyped\n"]
    assert path.read_text() == "two\ntyped\n"


async def test_plan_mode_reads_buffers_too(bench: Bench) -> None:
    path = bench.project / "a.txt"
    path.write_text("saved\n")
    with ScriptedModel([Turn("", [READ]), Turn("Seen.")]) as server:
        async with connected(bench, server, Editor(buffers={str(path): "unsaved\n"})) as agent:
            session = (await agent.new_session(cwd=str(bench.project), mcp_servers=[])).session_id
            await agent.set_session_mode(session_id=session, mode_id="plan")
            await agent.prompt(session_id=session, prompt=[text_block("look")])
        assert "unsaved" in json.dumps(server.turns[1].json["messages"])


class Cancelling(Editor):
    """Cancels when it is told or asked something for the `nth` time, and leaves that unanswered."""

    def __init__(self, nth: int, buffers: dict[str, str]) -> None:
        super().__init__(buffers=buffers)
        self.left = nth
        self.agent: Any = None
        self.session = ""

    async def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            await self.agent.cancel(session_id=self.session)

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        await super().session_update(session_id, update, **more)
        if update.session_update not in ("available_commands_update", "config_option_update"):
            await self._count()

    async def request_permission(self, *args: Any, **more: Any) -> Any:
        await self._count()
        if self.left == 0:
            await asyncio.sleep(60)
        return await super().request_permission(*args, **more)

    async def read_text_file(self, session_id: str, path: str, **more: Any) -> Any:
        await self._count()
        if self.left == 0:
            await asyncio.sleep(1)
        return await super().read_text_file(session_id, path, **more)


async def test_a_turn_is_cancelled_at_every_moment(bench: Bench) -> None:
    """After each thing that the editor hears or is asked; what was not cancelled any more had ended."""
    path = bench.project / "a.txt"
    command = Call("runCommand", {"command": "echo b > b.txt"})
    edit = Call("editFile", {"path": "a.txt", "new_content": "edited\n"})
    steps = [Turn("I read.", [READ]), Turn("I edit.", [edit]), Turn("I run.", [command]), Turn("Done.")]

    def answer(request: RecordedRequest) -> Turn:
        messages = request.json["messages"]
        done = sum(each["role"] == "tool" for each in messages)
        return Turn("Still there.") if "there?" in json.dumps(messages[-1]) else steps[done]

    with ScriptedModel(answer) as server:
        editor = Cancelling(0, {})
        async with connected(bench, server, editor, "--backstage") as agent:
            editor.agent = agent
            for nth in range(1, 60):
                path.write_text("saved\n")
                editor.session = (await agent.new_session(cwd=str(bench.project), mcp_servers=[])).session_id
                editor.left = nth
                prompt = agent.prompt(session_id=editor.session, prompt=[text_block("work")])
                ended = (await asyncio.wait_for(prompt, 30)).stop_reason
                assert ended in ("cancelled", "end_turn")
                assert path.read_text() in ("saved\n", "edited\n")
                if editor.left > 0:
                    assert ended == "end_turn"
                    break
                editor.left = 0
                asked = await agent.prompt(session_id=editor.session, prompt=[text_block("there?")])
                assert asked.stop_reason == "end_turn"
            assert nth > 12, "there were that many moments"


async def test_a_command_is_cancelled(bench: Bench) -> None:
    """/compact asks the model for summaries; given up, the session is as it was."""
    turns = [Turn("One."), Turn("Two."), Turn("late", fault=Fault.slow(60))]
    with ScriptedModel(turns) as server:
        async with connected(bench, server, Editor()) as agent:
            session = (await agent.new_session(cwd=str(bench.project), mcp_servers=[])).session_id
            for prompt in ("one " * 300, "two"):
                await agent.prompt(session_id=session, prompt=[text_block(prompt)])
            under_way = asyncio.create_task(agent.prompt(session_id=session, prompt=[text_block("/compact")]))
            await asyncio.to_thread(server.wait_until, lambda: len(server.turns) == 3)
            await agent.cancel(session_id=session)
            assert (await asyncio.wait_for(under_way, 30)).stop_reason == "cancelled"
