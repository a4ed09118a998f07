"""Waiting for something that takes time, with a live line and a way out."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from nebula.cli.terminal.live import LiveLine
from nebula.cli.terminal.reading import Watch

if TYPE_CHECKING:
    from nebula.cli.terminal.sitting import Sitting

T = TypeVar("T")


async def waiting(sitting: Sitting, work: Coroutine[Any, Any, T]) -> T | None:
    """What the work comes to; None where Ctrl-C or Esc stopped it."""
    live = LiveLine(sitting.screen, sitting.words, sitting.typed.shown)
    live.raise_()
    task = asyncio.create_task(work)
    sitting.work = task
    try:
        with sitting.reading.watching(Watch(sitting.interrupt, sitting.toggle_backstage)):
            return await task
    except asyncio.CancelledError:
        return None
    finally:
        live.lower()
        sitting.work = None
