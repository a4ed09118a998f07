"""What git knows of the lines that no turn wrote: the commit and the author of each.

The file is taken from a commit, not from the work tree, so no filter is asked for; its lines find the present ones by
the same rules as everywhere in this room.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from nebula.blame import text
from nebula.blame.inherit import inherit
from nebula.blame.moves import lost_since_commit, taken_out_by
from nebula.git import ask_git
from nebula.value import value

_TIMEOUT: Final = 120.0
_MOST_RANGES: Final = 100
"""More ranges than that cost git more than the whole file."""
_HEAD = re.compile(rb"([0-9a-f]{40,64}) (\d+) (\d+) (\d+)$")


@value
class LineCommit:
    id: str
    author: str = ""
    email: str = ""
    at: str = ""
    made: int = 0
    """When it was made as it is, in seconds: an amended or rebased commit keeps `at`."""


@value
class LineOrigin:
    """Where a line came from: its place, from 1, in the file as a commit has it."""

    commit: LineCommit
    path: str
    """From the top of the repository."""
    line: int

    @property
    def key(self) -> tuple[str, str, int]:
        """Return what tells it from others; there are as many of them as lines."""
        return self.commit.id, self.path, self.line

    def read_file(self, root: str, path: str) -> bytes | None:
        """Return the file as that commit has it; `path` is the same from `root`."""
        return content_at(root, self.commit.id, path)


def content_at(root: str, revision: str, path: str) -> bytes | None:
    """Return a file as it is in a revision; None where it is not, or there is no such revision."""
    if not revision or revision.startswith("-") or ":" in revision:
        return None
    return ask_git(root, "cat-file", "blob", f"{revision}:./{path}", timeout=_TIMEOUT)


def find_origins(
    root: str,
    path: str,
    content: bytes,
    wanted: Iterable[int],
    revision: str = "HEAD",
    *,
    mine: str | None = None,
    yours: Collection[int] = (),
    changed: Callable[[], Sequence[str]] = tuple,
    now: Callable[[str], bytes | None] = lambda _: None,
) -> dict[int, LineOrigin]:
    """Return the origins of those wanted lines of a content (from 0) that a revision has.

    `mine` is the address under which the user commits: a line that such a commit took from another file is older, and
    so is one of `yours` that any commit took from there. `changed` returns the files that are not as the last commit
    has them, `now` one of them as it is: a line that is not in the revision may be one that another file lost."""
    committed = content_at(root, revision, path) or b""
    if text.is_binary(committed):
        return {}
    places: list[tuple[str, int]] = [(path, place) for place in range(text.count_lines(committed))]
    heritage = inherit(committed, places, content)
    chosen = set(wanted)
    if any(owner is None and heritage.head + at in chosen for at, owner in enumerate(heritage.owners)):
        heritage.claim_moved(lost_since_commit(root, [each for each in changed() if each != path], now))
    kept = [*places[: heritage.head], *heritage.owners, *places[len(places) - heritage.tail :]]
    of_line = {line: place for line in sorted(chosen) if (place := kept[line]) is not None}
    origins: dict[tuple[str, int], LineOrigin] = {}
    for source in dict.fromkeys(source for source, _ in of_line.values()):
        numbers = sorted(number for other, number in of_line.values() if other == source)
        found = _blame(root, source, revision, numbers)
        unsure = {place for place, origin in found.items() if origin.commit.email == mine}
        unsure |= {number for line, (other, number) in of_line.items() if other == source and line in yours}
        _trace_moves(root, source, revision, found, unsure & found.keys())
        origins |= {(source, number): origin for number, origin in found.items()}
    first: dict[tuple[str, str, int], tuple[str, int]] = {}  # a line that comes from there as well is a copy of it
    for place, origin in sorted(origins.items()):
        first.setdefault(origin.key, place)
    return {
        line: origins[place]
        for line, place in of_line.items()
        if place in origins and first[origins[place].key] == place
    }


def _trace_moves(root: str, path: str, revision: str, origins: dict[int, LineOrigin], unsure: set[int]) -> None:
    """Give those of the unsure lines that their commit took out of another file the origin that they had there."""
    if not unsure:
        return
    lines = text.split(content_at(root, revision, path) or b"")
    taken_out: dict[str, Counter[bytes]] = {}
    for place, older in sorted(_blame(root, path, revision, sorted(unsure), f"-C{text.TELLING}").items()):
        newer = origins.get(place)
        if newer is None or place not in unsure or older.commit == newer.commit:
            continue
        if newer.commit.id not in taken_out:
            taken_out[newer.commit.id] = taken_out_by(root, newer.commit.id)
        key = text.key(lines[place])
        if taken_out[newer.commit.id][key] > 0:  # else it stands there still: a copy
            taken_out[newer.commit.id][key] -= 1
            origins[place] = older


def _blame(root: str, path: str, revision: str, places: Sequence[int], *more: str) -> dict[int, LineOrigin]:
    """Return the origins of some lines (from 0) of a revision's file."""
    ranges = ranges_of(places)
    kept = "-w", f"-M{text.TELLING}", *more  # the rules of this room, as git has them
    limits = [f"-L{first + 1},{last + 1}" for first, last in ranges] if len(ranges) <= _MOST_RANGES else []
    told = ask_git(root, "blame", "--incremental", *kept, *limits, revision, "--", path, timeout=_TIMEOUT)
    shallow = ask_git(root, "rev-parse", "--is-shallow-repository") if told else None
    return _read_groups(told, shallow.strip() == b"true") if told and shallow else {}


def ranges_of(places: Iterable[int]) -> list[tuple[int, int]]:
    """Return the first and last of each run of places that follow one another."""
    ranges: list[tuple[int, int]] = []
    for place in places:
        if ranges and ranges[-1][1] == place - 1:
            ranges[-1] = ranges[-1][0], place
        else:
            ranges.append((place, place))
    return ranges


def _read_groups(told: bytes, is_shallow: bool) -> dict[int, LineOrigin]:
    """Return the origin of each line that `git blame --incremental` tells of. Where history is cut off, the commit at
    its end is no author: what it is blamed for may be older."""
    facts: dict[str, dict[bytes, bytes]] = {}
    groups: list[tuple[str, bytes, range, int]] = []
    commit, source, place, size = "", 0, 0, 0
    for line in told.split(b"\n"):
        name, _, fact = line.partition(b" ")
        if head := _HEAD.match(line):
            commit, source, place, size = head[1].decode(), int(head[2]), int(head[3]) - 1, int(head[4])
        elif name == b"filename":  # the last that is told of a group
            groups.append((commit, fact, range(place, place + size), source - place))
        else:
            facts.setdefault(commit, {})[name] = fact
    known = {
        name: LineCommit(
            name,
            _decode(fact, b"author"),
            _decode(fact, b"author-mail").strip("<>"),
            _time(fact),
            int(_decode(fact, b"committer-time") or 0),
        )
        for name, fact in facts.items()
        if not (is_shallow and b"boundary" in fact)
    }
    return {
        place: LineOrigin(known[name], path, place + offset)
        for name, quoted, places, offset in groups
        if name in known
        for path in [_unquote(quoted)]
        for place in places
    }


def _decode(facts: dict[bytes, bytes], name: bytes) -> str:
    return facts.get(name, b"").decode(errors="replace")


def _unquote(name: bytes) -> str:
    """Return a path that git may have written as C writes a string."""
    if name.startswith(b'"'):
        name = name[1:-1].decode("unicode_escape").encode("latin-1")
    return os.fsdecode(name)


def _time(facts: dict[bytes, bytes]) -> str:
    try:
        return datetime.fromtimestamp(int(facts[b"author-time"]), UTC).isoformat()
    except (KeyError, ValueError, OverflowError, OSError):
        return ""
