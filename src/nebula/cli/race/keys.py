"""Keys during a race: Esc ends all tries, `stop 2` and Enter ends one."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nebula.agent.race.race import Race

ESCAPE = b"\x1b"
_DELETE = (b"\x7f", b"\x08")


@contextmanager
def reading_keys(race: Race, show: Callable[[str], None]) -> Iterator[None]:
    """Read single keys from the terminal for the length of the block; `show` is handed what is typed so far."""
    loop, handle = asyncio.get_running_loop(), sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    typed = ""

    def read() -> None:
        nonlocal typed
        keys = os.read(handle, 1024)
        if keys in (b"", ESCAPE):
            race.stop()
            return
        if keys.startswith(ESCAPE):
            return  # an arrow, or the like
        for each in keys.decode("utf-8", "replace"):
            if each in "\r\n":
                stop_named(race, typed)
                typed = ""
            elif each.encode() in _DELETE:
                typed = typed[:-1]
            elif each.isprintable():
                typed += each
        show(typed)

    tty.setcbreak(handle)
    loop.add_reader(handle, read)
    try:
        yield
    finally:
        loop.remove_reader(handle)
        termios.tcsetattr(handle, termios.TCSADRAIN, before)


def stop_named(race: Race, line: str) -> bool:
    """Carry out `stop N`; return whether the line was that."""
    named = re.fullmatch(r"\s*stop\s+(\d+)\s*", line)
    if named is not None:
        race.stop(int(named[1]))
    return named is not None
