"""Where the n-th file of the store lives (seed §3.1, §8.1; SPEC §11), and which files there are.

A hundred files in each of the folders 000–999, then the next hundred in each, and so on. The step is
`max_files_per_folder`. Reading accepts numbers of any width.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from nebula.graph.disk.files import Files, is_settled

KINDS = {"nodes": "xml", "flows": "yaml"}
FOLDERS = 1000
DEFAULT_STEP = 100

_RELATIVE = re.compile(r"(\d{1,9})/(\d{1,9})\.(xml|yaml)", re.ASCII)


def path_of(number: int, step: int, suffix: str) -> str:
    """Return the relative path of the file with that number, counted from 0."""
    lap, rest = divmod(number, FOLDERS * step)
    folder, place = divmod(rest, step)
    return f"{folder:03}/{lap * step + place:03}.{suffix}"


def number_of(path: str, step: int) -> int:
    """Return the inverse of `path_of`; for a path written under another step, a number that is free to count on
    from."""
    found = _RELATIVE.fullmatch(path)
    if not found:
        raise ValueError(f"not a path of the store: {path!r}")
    folder, file = int(found[1]), int(found[2])
    lap, place = divmod(file, step)
    return (lap * FOLDERS + folder) * step + place


def is_path(path: str, suffix: str) -> bool:
    """True for `digits/digits.suffix` and nothing else: an index may come from a stranger's pull request."""
    found = _RELATIVE.fullmatch(path)
    return found is not None and found[3] == suffix


def order_key(path: str) -> tuple[int, int, str]:
    """Return what sorts paths in the order in which a walk by number finds them."""
    folder, _, name = path.partition("/")
    return int(folder), int(name.partition(".")[0]), path


class _Listing(NamedTuple):
    changed_ns: int
    names: list[str]


class NumberedFolders:
    """The `digits/digits.suffix` files below one folder, looked at again only where a folder in it changed."""

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
        return sorted(found, key=order_key)

    def _list(self, folder: str, changed_ns: int) -> _Listing:
        known = self._listings.get(folder)
        if known and known.changed_ns == changed_ns:
            return known
        names = self._files.names(f"{self._root}/{folder}")
        kept = [name for name in names if is_path(f"{folder}/{name}", self._suffix)]
        return _Listing(changed_ns if is_settled(changed_ns) else -1, kept)
