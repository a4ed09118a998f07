"""Asking an editor for its texts: whatever it answers, or does not, the disk is there."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from nebula.server.acp import buffers as module
from nebula.server.acp.buffers import EditorBuffers, FileAccess
from nebula.server.acp.peer import Peer
from rows import each_row


class Line:
    """A line to an editor that answers each request with what it is told to; None: it never does."""

    def __init__(self, answer: dict[str, Any] | None) -> None:
        self.answer = answer
        self.asked: list[dict[str, Any]] = []
        self.was_asked = asyncio.Event()
        self.reader = asyncio.StreamReader()
        self.peer = Peer(self._send, {})
        self.reading = asyncio.get_running_loop().create_task(self.peer.read(self.reader))

    def _send(self, line: bytes) -> None:
        message = json.loads(line)
        self.asked.append(message)
        self.was_asked.set()
        if self.answer is not None:
            self.reader.feed_data(json.dumps({"jsonrpc": "2.0", "id": message["id"], **self.answer}).encode() + b"\n")

    async def close(self) -> None:
        self.reader.feed_eof()
        await self.reading
        await self.peer.finish()


BOTH = FileAccess(True, True)


async def test_a_text_is_asked_for_by_the_editors_path() -> None:
    line = Line({"result": {"content": "unsaved"}})
    found = EditorBuffers(line.peer, "s1", "/link/project", BOTH)
    assert await asyncio.to_thread(found.read, "src/a.py") == "unsaved"
    await asyncio.to_thread(found.write, "src/a.py", "new")
    assert [each["method"] for each in line.asked] == ["fs/read_text_file", "fs/write_text_file"]
    assert line.asked[0]["params"] == {"sessionId": "s1", "path": "/link/project/src/a.py"}
    assert line.asked[1]["params"]["content"] == "new"
    await line.close()


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"code": -32603, "message": "no such file"}},
        {"result": None},
        {"result": {"content": 5}},
        {"result": ["text"]},
    ],
)
async def test_what_is_no_text_is_none(answer: dict[str, Any]) -> None:
    line = Line(answer)
    found = EditorBuffers(line.peer, "s1", "/p", BOTH)
    assert await asyncio.to_thread(found.read, "a") is None
    assert await asyncio.to_thread(found.read, "a") is None and len(line.asked) == 2
    await line.close()


async def test_an_editor_that_does_not_answer_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_S", 0.05)
    line = Line(None)
    found = EditorBuffers(line.peer, "s1", "/p", BOTH)
    assert await asyncio.to_thread(found.read, "a") is None and not found.writes
    assert await asyncio.to_thread(found.read, "a") is None
    await asyncio.to_thread(found.write, "a", "new")
    assert len(line.asked) == 1
    await line.close()


async def test_an_editor_that_goes_leaves_the_disk() -> None:
    line = Line(None)
    found = EditorBuffers(line.peer, "s1", "/p", BOTH)
    reading = asyncio.create_task(asyncio.to_thread(found.read, "a"))
    while not line.asked:  # noqa: ASYNC110 - a thread asks
        await asyncio.sleep(0.005)
    await line.close()
    assert await reading is None


async def test_nothing_is_waited_for_on_the_event_loop_or_asked_of_who_cannot() -> None:
    line = Line({"result": {"content": "unsaved"}})
    assert EditorBuffers(line.peer, "s1", "/p", BOTH).read("a") is None
    neither = EditorBuffers(line.peer, "s1", "/p", FileAccess())
    assert await asyncio.to_thread(neither.read, "a") is None
    await asyncio.to_thread(neither.write, "a", "new")
    assert line.asked == []
    await line.close()


@each_row(
    ("said", "access"),
    [
        ({}, FileAccess()),
        ({"clientCapabilities": None}, FileAccess()),
        ({"clientCapabilities": {"fs": True}}, FileAccess()),
        ({"clientCapabilities": {"fs": {"readTextFile": 1}}}, FileAccess()),
        ({"clientCapabilities": {"fs": {"readTextFile": True}}}, FileAccess(True)),
        ({"clientCapabilities": {"fs": {"readTextFile": True, "writeTextFile": True}}}, BOTH),
    ],
)
def test_what_an_editor_says_it_can(said: dict[str, Any], access: FileAccess) -> None:
    assert FileAccess.read(said) == access


async def test_a_cancelled_turn_waits_no_longer_for_the_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HURRIED_S", 0.01)
    monkeypatch.setattr(module, "ANSWER_S", 60)
    line = Line(None)
    found = EditorBuffers(line.peer, "s1", "/p", BOTH)
    waiting = asyncio.create_task(asyncio.to_thread(found.read, "a"))
    await asyncio.wait_for(line.was_asked.wait(), 10)
    found.hurry()
    assert await asyncio.wait_for(waiting, 10) is None
    assert await asyncio.to_thread(found.read, "b") is None and not found.writes and len(line.asked) == 1
    line.answer = {"result": {"content": "unsaved"}}
    found.begin()
    assert found.writes and await asyncio.to_thread(found.read, "c") == "unsaved", "in the next turn it is asked again"
    await line.close()
