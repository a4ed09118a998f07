"""Saying that nothing has come for a while, and going on waiting: silence looks like a program that hangs."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from nebula.llm.contract import ModelNotice, Retrying, StreamItem

LONGEST_PAUSE_S = 60.0


async def with_waiting_notices(
    items: AsyncGenerator[StreamItem], notice: Callable[[float], ModelNotice], every_s: float
) -> AsyncGenerator[StreamItem]:
    """Yield the items as they come, and a notice whenever none has come for `every_s`, then at twice that, and so on.

    `notice` is given the seconds since the last item. The pause before a retry was announced, and is no silence.
    """
    source = _Source(items)
    loop, reading = source.loop, source.task
    since, pause = loop.time(), every_s
    try:
        while True:
            while source.arrived:
                item = source.arrived.popleft()
                yield item
                since, pause = loop.time() + (item.delay_s if isinstance(item, Retrying) else 0.0), every_s
            if reading.done():
                reading.result()  # raises what ended it
                return
            due = since + pause
            await source.wait_until(due)
            if not source.arrived and not reading.done() and loop.time() >= due:
                yield notice(loop.time() - since)
                pause += min(pause, LONGEST_PAUSE_S)
    finally:
        await source.close()


class _Source:
    """Reads the items in a task of its own, so that waiting for one can be interrupted without losing it."""

    def __init__(self, items: AsyncGenerator[StreamItem]) -> None:
        self.loop = asyncio.get_running_loop()
        self.arrived: deque[StreamItem] = deque()
        self._wake: asyncio.Future[None] | None = None
        self.task = self.loop.create_task(self._read(items))
        self.task.add_done_callback(self._stir)

    async def wait_until(self, moment: float) -> None:
        """Wait for the next item, the end, or that moment."""
        self._wake = self.loop.create_future()
        timer = self.loop.call_at(moment, self._stir)
        try:
            await self._wake
        finally:
            timer.cancel()
            self._wake = None

    async def close(self) -> None:
        if not self.task.done():
            self.task.cancel()
            await asyncio.wait((self.task,))
        if not self.task.cancelled():
            self.task.exception()  # seen, or of no interest any more

    async def _read(self, items: AsyncGenerator[StreamItem]) -> None:
        async with aclosing(items):
            async for item in items:
                self.arrived.append(item)
                self._stir()

    def _stir(self, _: object = None) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)
