"""Waiting for something that takes time, with a live line and a way out."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from nebula.cli.terminal.input.contract import Watch
from nebula.cli.terminal.output.live_line import LiveLine

if TYPE_CHECKING:
    from nebula.cli.terminal.terminal_session import TerminalSession

T = TypeVar("T")


async def waiting(terminal: TerminalSession, work: Coroutine[Any, Any, T]) -> T | None:
    """What the work comes to; None where Ctrl-C or Esc stopped it."""
    live = LiveLine(terminal.screen, terminal.words, terminal.typed.shown)
    live.raise_()
    task = asyncio.create_task(work)
    terminal.work = task
    try:
        with terminal.input.watching(Watch(terminal.interrupt, terminal.toggle_backstage)):
            return await task
    except asyncio.CancelledError:
        return None
    finally:
        live.lower()
        terminal.work = None
