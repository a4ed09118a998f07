"""Which files the numbered folders hold, looked at again only where a folder changed."""

from __future__ import annotations

import os
from typing import NamedTuple

from nebula.graph.disk import files, numbered_paths


class _Listing(NamedTuple):
    mtime_ns: int
    names: list[str]


class NumberedFolders:
    """The `digits/digits.suffix` files below one folder."""

    def __init__(self, root: str, suffix: str) -> None:
        self._root = root
        self._suffix = suffix
        self._listings: dict[str, _Listing] = {}

    def paths(self) -> list[str]:
        """All of them in order of number."""
        self.look()
        found = [f"{folder}/{name}" for folder, listing in self._listings.items() for name in listing.names]
        return sorted(found, key=numbered_paths.order_key)

    def look(self) -> bool:
        """Brings the listings up to date; True when any of them changed."""
        try:
            with os.scandir(self._root) as entries:
                times = {
                    entry.name: entry.stat(follow_symlinks=False).st_mtime_ns
                    for entry in entries
                    if entry.name.isdigit() and entry.is_dir(follow_symlinks=False)
                }
        except FileNotFoundError:
            times = {}
        changed = False
        for folder in self._listings.keys() - times.keys():
            del self._listings[folder]
            changed = True
        for folder, mtime_ns in times.items():
            known = self._listings.get(folder)
            if known is None or known.mtime_ns != mtime_ns:
                names = self._names(folder)
                changed = changed or known is None or known.names != names
                self._listings[folder] = _Listing(mtime_ns if files.is_settled(mtime_ns) else -1, names)
        return changed

    def _names(self, folder: str) -> list[str]:
        try:
            names = os.listdir(os.path.join(self._root, folder))
        except FileNotFoundError:
            return []
        return sorted(name for name in names if numbered_paths.is_path(f"{folder}/{name}", self._suffix))
