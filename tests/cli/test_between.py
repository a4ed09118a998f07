"""What a stream of JSON says between two events."""

from __future__ import annotations

import asyncio

import pytest

from nebula.cli.headless import between
from nebula.cli.headless.between import Between
from nebula.cli.headless.run import OutputFailed
from nebula.events import Activity, Delta, EventStream, Notice, Retry, Stamped, Task
from nebula.language import Sentence


def read_by(reader: Between) -> EventStream:
    stream = EventStream("s", audience=(reader,), watchers=(reader,))
    stream.emit(Task("p", "agent", "m"))
    return stream


async def test_what_goes_on_is_said_in_time_though_it_is_reported_over_and_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(between, "SILENT_S", 0.05)
    said: asyncio.Future[Stamped] = asyncio.get_running_loop().create_future()
    stream = read_by(Between(lambda stamped: said.set_result(stamped) if isinstance(stamped.event, Activity) else None))
    for words in range(20_000):
        stream.show(Activity(Sentence("answering"), words=words))
        stream.show(Delta("word "))
        await asyncio.sleep(0)
        if said.done():
            break
    assert str(said.result().event.sentence) == "answering"  # type: ignore[attr-defined]


async def test_a_reader_that_goes_while_nothing_is_said_ends_the_turn_at_its_next_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(between, "SILENT_S", 0)
    tried = asyncio.Event()

    def show(stamped: Stamped) -> None:
        if isinstance(stamped.event, Activity):
            tried.set()
            raise OutputFailed("Nobody reads any more.")

    stream = read_by(Between(show))
    await tried.wait()
    with pytest.raises(OutputFailed):
        stream.emit(Notice(Sentence("said too late")))


async def test_after_a_retry_it_is_said_what_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(between, "SILENT_S", 0)
    said: asyncio.Future[Stamped] = asyncio.get_running_loop().create_future()
    stream = read_by(Between(lambda stamped: said.set_result(stamped) if isinstance(stamped.event, Activity) else None))
    stream.show(Activity(Sentence("rate limited")))
    stream.emit(Retry(Sentence("too much"), 2, 5.0))
    assert str((await said).event.sentence) == "rate limited"  # type: ignore[attr-defined]


@pytest.mark.parametrize("partial", [False, True])
async def test_what_goes_on_for_long_is_said_again_with_its_time(
    monkeypatch: pytest.MonkeyPatch, partial: bool
) -> None:
    monkeypatch.setattr(between, "SILENT_S", 0.05)
    monkeypatch.setattr(between, "ALIVE_S", 0.05)
    heard: asyncio.Queue[Stamped] = asyncio.Queue()
    stream = read_by(Between(heard.put_nowait, partial=partial))
    await heard.get()  # the task
    stream.show(Activity(Sentence("answering"), words=1))
    stream.show(Activity(Sentence("answering"), words=2))
    said = [(await heard.get()).event for _ in range(4 if partial else 3)][partial:]
    assert said == [Activity(Sentence("answering"), words=2, seconds=0)] * 3
    stream.show(Activity(Sentence("thinking")))
    while str(getattr((event := (await heard.get()).event), "sentence", "")) != "thinking":
        assert event == said[0]
    stream.emit(Notice(Sentence("here")))
    assert [str((await heard.get()).event.sentence) for _ in range(2)] == ["here", "working"]  # type: ignore[attr-defined]
