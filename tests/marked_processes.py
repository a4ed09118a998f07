"""Processes that a test recognises by a word in their command line: however many there are, and whoever started them."""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path

_NUMBERS = itertools.count()


def a_mark() -> str:
    """A word that no other process of this machine carries."""
    return f"mark-{os.getpid()}-{time.time_ns()}-{next(_NUMBERS)}"


def processes_with(mark: str) -> list[str]:
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            words = Path("/proc", pid, "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if mark.encode() in words:
            found.append(pid)
    return found


def wait_until_none_is_left(mark: str) -> None:
    """Init collects what was killed when it gets to it; the test's own time limit is the bar."""
    while processes_with(mark):
        time.sleep(0.01)
