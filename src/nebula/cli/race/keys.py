"""Keys during `nebula race`: Esc ends all tries, `stop 2` and Enter ends one."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

from nebula.agent.race.race import Race

ESCAPE = b"\x1b"
_DELETE = (b"\x7f", b"\x08")


class RaceKeys:
    """Reads single keys from the terminal for the length of a block."""

    def __init__(self) -> None:
        self.typed = ""

    @contextmanager
    def reading(self, race: Race) -> Iterator[None]:
        loop, handle = asyncio.get_running_loop(), sys.stdin.fileno()
        before = termios.tcgetattr(handle)
        tty.setcbreak(handle)
        loop.add_reader(handle, lambda: self._take(os.read(handle, 1024), race))
        try:
            yield
        finally:
            loop.remove_reader(handle)
            termios.tcsetattr(handle, termios.TCSADRAIN, before)

    def _take(self, keys: bytes, race: Race) -> None:
        if keys in (b"", ESCAPE):
            race.stop()
            return
        if keys.startswith(ESCAPE):
            return  # an arrow, or the like
        for each in keys.decode("utf-8", "replace"):
            if each in "\r\n":
                stop_named(race, self.typed)
                self.typed = ""
            elif each.encode() in _DELETE:
                self.typed = self.typed[:-1]
            elif each.isprintable():
                self.typed += each


def stop_named(race: Race, line: str) -> bool:
    """Carry out `stop N`; return whether the line was that."""
    named = re.fullmatch(r"\s*stop\s+(\d+)\s*", line)
    if named is not None:
        race.stop(int(named[1]))
    return named is not None
