"""Find files of the project by part of their names: for completion in the terminal and the palette of the page."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from nebula.workspace.contract import Workspace
from nebula.workspace.errors import WorkspaceError

MAX_FILES: Final = 20_000
FRESH_S: Final = 10.0


class FileNames:
    """A list of file names, made again when it is some seconds old. It reads the disk, so keep it out of the event
    loop."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._names: tuple[str, ...] = ()
        self._listed = float("-inf")

    def matching(self, pattern: str, limit: int = 30) -> list[str]:
        return best_matches(pattern, self._current(), limit)

    def _current(self) -> Sequence[str]:
        if time.monotonic() - self._listed > FRESH_S:
            try:
                listing = self._workspace.list_files(".", recursive=True, max_items=MAX_FILES)
            except WorkspaceError:
                return self._names  # completion is a convenience; the tools report what is wrong
            self._names = tuple(entry.path for entry in listing.files if not entry.is_dir)
            self._listed = time.monotonic()
        return self._names


def best_matches(pattern: str, names: Sequence[str], limit: int) -> list[str]:
    """Return the names that contain the pattern's characters in order, best match first; ties by length, then by
    name."""
    scored = [(score, len(name), name) for name in names if (score := _distance(pattern.lower(), name)) is not None]
    return [name for _, _, name in sorted(scored)[:limit]]


def _distance(pattern: str, name: str) -> int | None:
    """Return 0 or more, smaller is better: a match in the file's own name first, then in any part of the path, then
    scattered characters."""
    lowered = name.lower()
    base = lowered.rfind("/") + 1
    if lowered.startswith(pattern, base):
        return 0
    found = lowered.find(pattern, base)
    if found >= 0:
        return 2 if lowered[found - 1].isalnum() else 1
    if pattern in lowered:
        return 3
    gaps, at = 0, -1
    for character in pattern:
        found = lowered.find(character, at + 1)
        if found < 0:
            return None
        gaps += found - at - 1 if at >= 0 else 0
        at = found
    return 4 + gaps
