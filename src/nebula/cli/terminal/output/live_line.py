"""The live line: that work goes on, for how long, what it waits for, and the way out."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from math import ceil
from typing import TYPE_CHECKING, Any, TypeVar

from nebula.cli.busy import FRAMES
from nebula.cli.terminal.input.typed_ahead import STEERED
from nebula.cli.terminal.output.screen import Screen, screen_on
from nebula.cli.terminal.output.width import display_width, tail
from nebula.cli.turn_lines import asked_again
from nebula.events import Retry
from nebula.language import translate

if TYPE_CHECKING:
    from nebula.cli.terminal.terminal_session import TerminalSession

TICK_S = 0.1
REPORT_S = 10.0
MUCH_LONGER_S = 5.0
TYPED_COLUMNS = 40
FEWEST_COLUMNS = 10
"""What is typed is seen, at its end, however narrow the terminal is."""

T = TypeVar("T")


class LiveLine:
    """Up between `raise_` and `lower`. The clock runs from the beginning of what goes on; beside it the turn's."""

    def __init__(
        self, screen: Screen, typed: Callable[[], str], way_out: str = "", above: Callable[[], Sequence[str]] = tuple
    ) -> None:
        self._screen = screen
        self._way_out = way_out or translate("Esc interrupts")
        self._typed = typed
        """What the user has typed ahead, shown at the end of the line."""
        self._above = above
        """Further lines above it, which are redrawn as well."""
        self._started = time.monotonic()
        self._path = ""
        self._running = ""
        """What goes on, in plain words, where there is more to say than that work does,"""
        self._amount = ""
        """how much of it there is by now,"""
        self._since = self._started
        """and since when."""
        self._retry: Retry | None = None
        self._again_at = 0.0
        self._task: asyncio.Task[None] | None = None

    def raise_(self, path: str = "", doing: str = "", amount: str = "") -> None:
        if doing != self._running:
            self._since = time.monotonic() if doing else self._started
        self._path, self._running, self._amount = path, doing, amount
        self._retry = None
        if self._task is None and self._screen.out.isatty():
            run = self._redraw() if self._screen.capable else self._report()
            self._task = asyncio.get_running_loop().create_task(run)

    def wait(self, retry: Retry) -> None:
        """From now on it shows why the model is asked again, and counts down to it."""
        self._retry = retry
        self._again_at = time.monotonic() + retry.delay_s
        if self._task is not None and not self._screen.capable:
            self._screen.line(f"… {self._doing()}")

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
                self._screen.line(f"… {' · '.join(self._what_goes_on())}")

    async def _redraw(self) -> None:
        with suppress(asyncio.CancelledError):
            frame = 0
            while True:
                self._screen.live(self.text(frame), self._above())
                frame += 1
                await asyncio.sleep(TICK_S)

    def text(self, frame: int) -> str:
        doing, *parts = self._what_goes_on()
        parts.insert(0, f"{FRAMES[frame % len(FRAMES)]} {doing}")
        if self._path:
            parts.append(self._path)
        typed = self._typed()
        if typed:
            room = self._screen.columns - display_width(" · ".join(parts)) - len(" · › ") - 1
            mark = STEERED if typed.startswith(STEERED) else ""  # seen whatever of the words is
            words = tail(typed.removeprefix(mark), max(FEWEST_COLUMNS, min(TYPED_COLUMNS, room)) - len(mark))
            parts.append(f"› {mark}{words}")
            parts += self._keys(" · ".join(parts))
        else:
            parts.append(self._way_out)
        return " · ".join(parts)

    def _keys(self, beside: str) -> list[str]:
        """Name the keys that act on what is typed, as many as there is room for."""
        room = self._screen.columns - 1 - display_width(beside) - len(" · ")
        keys = translate("Enter: next, Tab: now"), translate("Tab: now")
        return [each for each in keys if display_width(each) <= room][:1]

    def _doing(self) -> str:
        left = self._seconds_left()
        if self._retry is None or not left:
            return self._running or translate("working")
        return asked_again(self._retry, left)

    def _seconds_left(self) -> int:
        """Until the model is asked again."""
        return max(0, ceil(self._again_at - time.monotonic())) if self._retry else 0

    def _what_goes_on(self) -> list[str]:
        """Return what, how much of it, for how long, and how long the turn takes where that is much longer."""
        now = time.monotonic()
        since = self._started if self._seconds_left() else self._since
        parts = [self._doing(), *filter(None, (self._amount,)), _elapsed(now - since)]
        if since - self._started >= MUCH_LONGER_S:
            parts[-1] += f" ({_elapsed(now - self._started)})"
        return parts


def line_of_command() -> LiveLine:
    """Return the line of a command, on stderr; on anything but a terminal it is never seen."""
    return LiveLine(screen_on(sys.stderr), str, translate("Ctrl-C interrupts"))


def _elapsed(seconds: float) -> str:
    whole = int(seconds)
    return translate("{seconds} s", seconds=whole) if whole < 60 else f"{whole // 60}:{whole % 60:02d}"


async def waiting(terminal: TerminalSession, work: Coroutine[Any, Any, T], doing: str = "") -> T | None:
    """Return the result of the work, with a live line meanwhile; None where Ctrl-C or Esc stopped it."""
    live = LiveLine(terminal.screen, terminal.typed.shown)
    live.raise_(doing=doing)
    try:
        return await terminal.carry_out(work)
    except asyncio.CancelledError:
        return None
    finally:
        live.lower()
