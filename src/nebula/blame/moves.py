"""Lines that went from one file to another outside of turns, as git knows it: since the last commit, or in one."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from nebula.blame import text
from nebula.blame.inherit import Lost, inherit
from nebula.git import ask_git

_TIMEOUT: Final = 120.0
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def lost_since_commit(
    root: str, paths: Sequence[str], now: Callable[[str], bytes | None]
) -> Iterator[Lost[tuple[str, int]]]:
    """Yield the lines of the last commit that files have no more, each with its path and its place there (from 0)."""
    for path, committed in _read_committed(root, paths):
        present = now(path)
        if text.is_binary(committed) or (present is None and os.path.lexists(os.path.join(root, path))):
            continue  # what may not be read may have all its lines still
        places = [(path, place) for place in range(text.count_lines(committed))]
        yield from inherit(committed, places, present or b"").lost


def taken_out_by(root: str, commit: str) -> Counter[bytes]:
    """Return the keys of the lines that a commit took out of a file and did not put back into the same one."""
    told = ask_git(root, "diff-tree", "-r", "-p", "-U0", "--no-renames", commit, timeout=_TIMEOUT)
    lines = iter((told or b"").split(b"\n"))
    whole: Counter[bytes] = Counter()
    here: Counter[bytes] = Counter()
    for line in lines:
        if line.startswith(b"diff --git "):
            whole += +here  # what it put into another file is a matter of that one
            here = Counter()
        elif hunk := _HUNK.match(line):
            _count_hunk(lines, here, *(int(size) if size is not None else 1 for size in hunk.groups()))
    return whole + +here


def _count_hunk(lines: Iterator[bytes], taken_out: Counter[bytes], old: int, new: int) -> None:
    while old or new:
        line = next(lines, b"")
        if line.startswith(b"-"):
            taken_out[text.key(line[1:])] += 1
            old -= 1
        elif line.startswith(b"+"):
            taken_out[text.key(line[1:])] -= 1
            new -= 1
        elif not line.startswith(b"\\"):
            return


def _read_committed(root: str, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield paths with their contents in the last commit, those that are files there."""
    named = [path for path in paths if "\n" not in path]
    feed = b"".join(b"HEAD:./" + os.fsencode(path) + b"\n" for path in named)
    told = ask_git(root, "cat-file", "--batch", feed=feed, timeout=_TIMEOUT) if named else None
    if told is None:
        return
    at = 0
    for path in named:
        end = told.find(b"\n", at)
        facts = told[at:end].rsplit(b" ", 2)
        at = end + 1
        if len(facts) == 3 and facts[2].isdigit():
            size = int(facts[2])
            if facts[1] == b"blob":
                yield path, told[at : at + size]
            at += size + 1
