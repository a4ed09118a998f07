"""What an editor shows while a message is written: one entry that changes, and ends when the message is there."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from nebula.server.acp.progress import Progress
from nebula.stage import Curtain


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [50.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def test_a_wait_that_is_noticed_is_one_entry(clock: list[float]) -> None:
    sent: list[Any] = []
    progress = Progress(sent.append)
    progress.show(Curtain(doing="waiting for the model"))
    for words in range(1, 41):
        clock[0] += 0.1
        progress.show(Curtain(doing="answering", amount=f"{words} words"))
    progress.end()
    assert [each["sessionUpdate"] for each in sent] == ["tool_call"] + ["tool_call_update"] * (len(sent) - 1)
    assert len({each["toolCallId"] for each in sent}) == 1 and 7 <= len(sent) <= 10
    assert (sent[0]["title"], sent[0]["kind"]) == ("answering · 4 words · 0 s", "think")
    assert [each["status"] for each in sent] == ["in_progress"] * (len(sent) - 1) + ["completed"]
    assert sent[-1]["title"].endswith("words · 3 s")


def test_a_short_wait_is_not_shown_and_the_next_message_has_an_entry_of_its_own(clock: list[float]) -> None:
    sent: list[Any] = []
    progress = Progress(sent.append)
    for _ in range(2):
        progress.show(Curtain(doing="thinking"))
        clock[0] += 0.2
        progress.show(Curtain(doing="thinking"))
        progress.end()
    assert sent == []
    for _ in range(2):
        progress.show(Curtain(doing="thinking"))
        clock[0] += 1
        progress.show(Curtain(doing="thinking"))
        progress.end()
    assert [each["status"] for each in sent] == ["in_progress", "completed"] * 2
    assert sent[0]["toolCallId"] != sent[2]["toolCallId"]


def test_the_clock_runs_on_while_nothing_is_heard(clock: list[float]) -> None:
    sent: list[Any] = []
    progress = Progress(sent.append)
    progress.tick()
    progress.show(Curtain())
    for _ in range(12):
        clock[0] += 0.25
        progress.tick()
    assert [each["title"] for each in sent] == ["working · 0 s", "working · 1 s", "working · 2 s", "working · 3 s"]
    progress.show(Curtain(doing="waiting for the model"))
    clock[0] += 1.5
    progress.tick()
    assert sent[-1]["title"] == "waiting for the model · 1 s"
    progress.end()
    clock[0] += 5
    progress.tick()
    assert sent[-1]["status"] == "completed" and len({each["toolCallId"] for each in sent}) == 1


@pytest.mark.slow
async def test_it_ticks_by_itself_until_the_turn_ends() -> None:
    heard = asyncio.Event()
    progress = Progress(lambda _: heard.set())
    async with progress.ticking():
        progress.show(Curtain(doing="running pytest"))
        await asyncio.wait_for(heard.wait(), 60)
    heard.clear()
    assert len(asyncio.all_tasks()) <= 2
