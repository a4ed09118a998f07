"""The first signal interrupts the work; those that come at once mean the same; later ones lead out."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from nebula.cli.headless import signals
from nebula.cli.headless.signals import Signals


@pytest.fixture(autouse=True)
def _signals(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(signals, "AT_ONCE_S", 0.05)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


async def _send(number: signal.Signals, times: int = 1) -> None:
    for _ in range(times):
        os.kill(os.getpid(), number)
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_several_at_once_interrupt_the_work_once(number: signal.Signals) -> None:
    interrupted: list[str] = []
    with Signals(lambda: interrupted.append("now")):
        await _send(number, times=3)
    assert interrupted == ["now"]
    await _send(number)  # the work has ended, and its session is being closed
    assert interrupted == ["now"]


async def test_one_that_comes_later_interrupts_again_and_the_next_leads_out() -> None:
    interrupted: list[str] = []
    with pytest.raises(KeyboardInterrupt), Signals(lambda: interrupted.append("now")):
        await _send(signal.SIGINT)
        await asyncio.sleep(0.06)
        await _send(signal.SIGINT)
        assert interrupted == ["now", "now"]
        await asyncio.sleep(0.06)
        signal.raise_signal(signal.SIGINT)


async def test_one_that_comes_later_than_the_work_leads_out() -> None:
    with Signals(lambda: None):
        await _send(signal.SIGINT)
    await asyncio.sleep(0.06)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


async def test_work_that_nobody_interrupted_leaves_no_trace() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Signals(lambda: None):
        pass
    assert signal.getsignal(signal.SIGTERM) == before
