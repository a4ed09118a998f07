"""A node's own record of the lines that its turn wrote, so that a clone without the journal knows them too.

`wrote` has a run of lines each as `START:` and eight characters a line, runs parted by blanks; `removed` has the same
eight characters for each line that was taken out. They are a hash of the line's key, so that a formatter changes none.
Of a line that may hold a secret, and of a secret file, nothing is kept.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal

from nebula.blame import text
from nebula.blame.course import find_renames
from nebula.blame.inherit import Inheritance, Lost, inherit
from nebula.graph.values import FileState
from nebula.value import replace, value

try:
    from _blake2 import blake2b  # without OpenSSL, which takes milliseconds to load
except ImportError:
    from hashlib import blake2b

LENGTH: Final = 8
UNTOLD: Final = "." * LENGTH
"""In place of a hash: the line was written, and says nothing about itself."""
_RUN = re.compile(r"(\d{1,9}):((?:[\w.-]{8})+)")

_Writer = Literal["turn", "found", "moved"]


@value
class WrittenLine:
    number: int
    """Its place in the file as the turn left it, from 1."""
    hash: str
    run: int
    """Which run of the record it is in."""


def hash_line(line: bytes) -> str:
    """Return the eight characters that stand for a line, whatever its blanks and tabs."""
    return hash_key(text.key(line))


def hash_key(key: bytes) -> str:
    return urlsafe_b64encode(blake2b(key, digest_size=6).digest()).decode()


def read_wrote(wrote: str) -> list[WrittenLine]:
    """Return the lines of a record; parts that make no sense are passed over, since anybody may have edited a node."""
    lines = []
    for run, found in enumerate(_RUN.finditer(wrote)):
        start, hashes = int(found[1]), found[2]
        for place in range(0, len(hashes), LENGTH):
            lines.append(WrittenLine(start + place // LENGTH, hashes[place : place + LENGTH], run))
    return lines


def read_removed(removed: str) -> Iterator[str]:
    """Yield the hashes of the lines that a turn took out."""
    return (removed[place : place + LENGTH] for place in range(0, len(removed) - LENGTH + 1, LENGTH))


def ranges_of(wrote: str) -> list[tuple[int, int]]:
    """Return the first and last line of each run of a record."""
    return [(int(run[1]), int(run[1]) + len(run[2]) // LENGTH - 1) for run in _RUN.finditer(wrote)]


def count_written(wrote: str) -> int:
    return sum(last - first + 1 for first, last in ranges_of(wrote))


def record_lines(
    steps: Iterable[FileState], content: Callable[[str], bytes | None], may_tell: Callable[[str], bool]
) -> dict[str, FileState]:
    """Return what a turn did to each file, by path, with the lines that it wrote and took out; `steps` are its changes
    in order.

    `content` returns the bytes of a state, None where they were not kept: nothing is told of such a file. A line for
    which `may_tell` is False is counted and not named."""
    by_path: dict[str, list[FileState]] = {}
    for step in steps:
        by_path.setdefault(step.path, []).append(step)
    ends = {path: found for path, own in by_path.items() if (found := _follow(own, content)) is not None}
    renamed = find_renames({path: (own[0].before, own[-1].after) for path, own in by_path.items()})
    for path, (_, owners, after, _) in ends.items():
        if path in renamed:
            owners[:] = ["moved"] * len(owners)
        else:
            _mark_moved(owners, after, [lost for other, end in ends.items() if other != path for lost in end[3]])
    states = {}
    for path, (_, owners, after, _) in ends.items():
        wrote, removed = _write_runs(owners, after, may_tell), "".join(_find_removed(path, ends, may_tell))
        states[path] = FileState(path, by_path[path][0].before, by_path[path][-1].after, wrote, removed)
    return states


_End = tuple[bytes, list[_Writer], list[bytes], list[Lost[_Writer]]]


def _follow(steps: Sequence[FileState], content: Callable[[str], bytes | None]) -> _End | None:
    """Return what the turn found in a file, who wrote its last lines, these lines, and what was lost on the way."""
    first = _bytes(steps[0].before, content)
    if first is None or text.is_binary(first):
        return None
    here, state = first, steps[0].before
    owners: list[_Writer] = ["found"] * text.count_lines(here)
    lost: list[Lost[_Writer]] = []
    for step in steps:
        for next_state, writer in ((step.before, "found"), (step.after, "turn")):
            if next_state == state:  # mostly nobody else changes a file between two steps
                continue
            then = _bytes(next_state, content)
            if then is None or (writer == "turn" and text.is_binary(then)):
                return None
            heritage = inherit(here, owners, then)
            if writer == "turn":
                lost = heritage.claim_moved(lost)  # it may put back what it took out
            heritage.settle(writer)  # type: ignore[arg-type]
            tail = owners[len(owners) - heritage.tail :] if heritage.tail else []
            owners = [*owners[: heritage.head], *(each or "found" for each in heritage.owners), *tail]
            lost += [each for each in heritage.lost if each.owner == "found" and writer == "turn"]
            here, state = then, next_state
    return first, owners, text.split(here), lost


def _bytes(state: str, content: Callable[[str], bytes | None]) -> bytes | None:
    return content(state) if state else b""


def _mark_moved(owners: list[_Writer], lines: Sequence[bytes], lost: Sequence[Lost[_Writer]]) -> None:
    """Mark what the turn only carried here from another of its files, by the same rule as the journal's lines."""
    found = [_open(each) for each in owners]
    heritage: Inheritance[_Writer] = Inheritance(0, 0, list(lines), found, [], b"\n".join(lines))
    heritage.claim_moved(replace(each, owner="moved") for each in lost)
    heritage.settle("turn")
    owners[:] = [each or "turn" for each in heritage.owners]


def _open(owner: _Writer) -> _Writer | None:
    return None if owner == "turn" else owner


def _find_removed(path: str, ends: dict[str, _End], may_tell: Callable[[str], bool]) -> list[str]:
    """Return the hashes of the telling lines that a turn took out of a file and put into none of its others."""
    moved = {
        text.key(line)
        for other, (_, owners, lines, _) in ends.items()
        if other != path
        for owner, line in zip(owners, lines, strict=True)
        if owner == "moved"
    }
    gone = [each.key for each in ends[path][3] if text.is_telling(each.key) and each.key not in moved]
    return [hash_key(key) for key in gone if may_tell(key.decode(errors="replace"))]


def _write_runs(owners: Sequence[_Writer], lines: Sequence[bytes], may_tell: Callable[[str], bool]) -> str:
    runs: list[str] = []
    last = -2
    for number, owner in enumerate(owners):
        if owner != "turn":
            continue
        hashed = hash_line(lines[number]) if may_tell(lines[number].decode(errors="replace")) else UNTOLD
        if last == number - 1:
            runs[-1] += hashed
        else:
            runs.append(f"{number + 1}:{hashed}")
        last = number
    return " ".join(runs)
