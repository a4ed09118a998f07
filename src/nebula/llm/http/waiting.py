"""Say that nothing has come for a while, and go on waiting: silence looks like a program that hangs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from nebula.llm.contract import ModelNotice, Retrying, StreamItem

LONGEST_PAUSE_S = 60.0


async def with_waiting_notices(
    items: AsyncGenerator[StreamItem], notice: Callable[[float], ModelNotice], every_s: float
) -> AsyncGenerator[StreamItem]:
    """Yield the items as they come, and a notice whenever none has come for `every_s`, then at twice that, and so on.

    `notice` is given the seconds since the last item. The pause before a retry was announced, and is no silence. The
    items are read in a task of their own, so that waiting for one can be interrupted without losing it.
    """
    arrived: asyncio.Queue[StreamItem | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    reading = loop.create_task(_read(items, arrived))
    since, pause = loop.time(), every_s
    try:
        while True:
            try:
                if arrived.empty():
                    async with asyncio.timeout_at(since + pause):
                        item = await arrived.get()
                else:
                    item = arrived.get_nowait()
            except TimeoutError:
                yield notice(loop.time() - since)
                pause += min(pause, LONGEST_PAUSE_S)
                continue
            if item is None:
                await reading  # raises what ended it
                return
            yield item
            since, pause = loop.time() + (item.delay_s if isinstance(item, Retrying) else 0.0), every_s
    finally:
        if not reading.done():
            reading.cancel()
            await asyncio.wait((reading,))
        if not reading.cancelled():
            reading.exception()  # seen, or of no interest any more


async def _read(items: AsyncGenerator[StreamItem], arrived: asyncio.Queue[StreamItem | None]) -> None:
    """Put the items into the queue as they come, and None behind the last."""
    try:
        async with aclosing(items):
            async for item in items:
                arrived.put_nowait(item)
    finally:
        arrived.put_nowait(None)
