"""A line on the terminal while a command works and has nothing to say yet.

It is drawn by a thread, so that it moves whatever the command does meanwhile, and gone with the first thing printed.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from nebula.cli import printing
from nebula.language import Sentence, explain, translate

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
SILENT_S = 0.3
"""What takes no longer needs no line."""
TICK_S = 0.1


class Busy:
    """Tells from `SILENT_S` on what goes on and for how long, until `end`."""

    def __init__(self, doing: Sentence | str) -> None:
        self.doing = doing
        """May become another one meanwhile; it is translated as it is drawn."""
        self._began = time.monotonic()
        self._out = sys.stderr
        self.begin()

    def begin(self) -> None:
        """Show the line once nothing was said for long enough; so again after an end, and the clock runs on."""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._draw, name="busy", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Take the line away."""
        self._over.set()
        self._thread.join()

    def _draw(self) -> None:
        if self._over.wait(SILENT_S):
            return
        frame = 0
        while True:
            seconds = translate("{seconds} s", seconds=int(time.monotonic() - self._began))
            doing = printing.fit_to_print(explain(self.doing))
            line = f"{FRAMES[frame % len(FRAMES)]} {doing} · {seconds}"[: printing.columns_of(self._out) - 1]
            self._write(f"\r\x1b[2m{line}\x1b[0m\x1b[K")
            frame += 1
            if self._over.wait(TICK_S):
                break
        self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        try:
            self._out.write(text)
            self._out.flush()
        except (OSError, ValueError):  # the terminal has gone; whoever prints next will say so
            self._over.set()


WORKING = Sentence("working")
_lines: list[Busy] = []


@contextmanager
def busy(doing: Sentence | str = WORKING) -> Iterator[Busy | None]:
    """Show such a line during the block, where stderr is a terminal that can redraw it, until something is printed."""
    if not sys.stderr.isatty() or os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        yield None
        return
    printing.make_room()
    line = Busy(doing)
    printing.in_the_way.append(line.end)
    _lines.append(line)
    try:
        yield line
    finally:
        printing.in_the_way.pop()
        _lines.pop().end()


def come_back() -> None:
    """Show the line again that something printed has taken away: the work goes on."""
    if _lines:
        _lines[-1].begin()
