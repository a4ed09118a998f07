"""The live line of the interlude: that work goes on, and for how long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from nebula.cli.terminal.output.screen import Screen
from nebula.cli.terminal.output.width import tail
from nebula.cli.words import Words

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
TICK_S = 0.1
REPORT_S = 10.0
TYPED_COLUMNS = 40


class LiveLine:
    """Up between `raise_` and `lower`; the clock runs from the beginning of the turn."""

    def __init__(self, screen: Screen, words: Words, typed: Callable[[], str]) -> None:
        self._screen = screen
        self._words = words
        self._typed = typed
        """What the user has typed ahead, shown at the end of the line."""
        self._started = time.monotonic()
        self._path = ""
        self._task: asyncio.Task[None] | None = None

    def raise_(self, path: str = "") -> None:
        self._path = path
        if self._task is None and self._screen.out.isatty():
            run = self._redraw() if self._screen.moving else self._report()
            self._task = asyncio.get_running_loop().create_task(run)

    def lower(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._screen.end_live()

    async def _report(self) -> None:
        """On a terminal that cannot redraw a line: a new one once in a while."""
        with suppress(asyncio.CancelledError):
            while True:
                await asyncio.sleep(REPORT_S)
                self._screen.line(f"… {self._words('working')} · {self._elapsed()}")

    async def _redraw(self) -> None:
        with suppress(asyncio.CancelledError):
            frame = 0
            while True:
                self._screen.live(self.text(frame))
                frame += 1
                await asyncio.sleep(TICK_S)

    def text(self, frame: int) -> str:
        parts = [f"{FRAMES[frame % len(FRAMES)]} {self._words('working')}", self._elapsed()]
        if self._path:
            parts.append(self._path)
        typed = self._typed()
        if typed:
            parts.append(f"› {tail(typed, TYPED_COLUMNS)}")
        return " · ".join(parts)

    def _elapsed(self) -> str:
        seconds = int(time.monotonic() - self._started)
        return f"{seconds} s" if seconds < 60 else f"{seconds // 60}:{seconds % 60:02d}"
