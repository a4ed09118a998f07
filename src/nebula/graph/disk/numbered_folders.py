"""Which files the numbered folders hold, looked at again only where a folder changed."""

from __future__ import annotations

from typing import NamedTuple

from nebula.graph.disk import numbered_paths
from nebula.graph.disk.files import Files, is_settled


class _Listing(NamedTuple):
    changed_ns: int
    names: list[str]


class NumberedFolders:
    """The `digits/digits.suffix` files below one folder."""

    def __init__(self, files: Files, root: str, suffix: str) -> None:
        self._files = files
        self._root = root
        self._suffix = suffix
        self._listings: dict[str, _Listing] = {}

    def paths(self) -> list[str]:
        """Return the paths of all files, in order of number."""
        times = self._files.folder_times(self._root)
        self._listings = {folder: self._list(folder, changed_ns) for folder, changed_ns in times.items()}
        found = [f"{folder}/{name}" for folder, listing in self._listings.items() for name in listing.names]
        return sorted(found, key=numbered_paths.order_key)

    def _list(self, folder: str, changed_ns: int) -> _Listing:
        known = self._listings.get(folder)
        if known and known.changed_ns == changed_ns:
            return known
        names = self._files.names(f"{self._root}/{folder}")
        kept = [name for name in names if numbered_paths.is_path(f"{folder}/{name}", self._suffix)]
        return _Listing(changed_ns if is_settled(changed_ns) else -1, kept)
