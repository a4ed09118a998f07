"""Files that a turn moved as they were: one path went, another came with the same content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from nebula.blame.course import file_of


def find_renames(ends: Mapping[str, tuple[str | None, str | None]]) -> dict[str, str]:
    """Return the old path of each new one, from the states that a turn found and left at its paths. Where several
    files have the same content nobody can tell which became which."""
    gone = [(name, path) for path, (before, after) in ends.items() if not after and (name := file_of(before or None))]
    came = [(name, path) for path, (before, after) in ends.items() if not before and (name := file_of(after or None))]
    times = Counter(name for name, _ in gone), Counter(name for name, _ in came)
    old = dict(gone)
    return {path: old[name] for name, path in came if times[0][name] == times[1][name] == 1}
