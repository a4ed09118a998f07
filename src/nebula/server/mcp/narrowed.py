"""A workspace narrowed to some of its folders, for a client that offers only those.

Folders only narrow: a path outside them is refused as out of bounds, and the workspace below still judges all others. A
link that leads out of the folders counts as leading out; this is checked before use, not while opening, so a link that
is swapped at that moment can show another file of the same root, but never one outside it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Self

from nebula.workspace.contract import (
    DEFAULT_LIST_ITEMS,
    DEFAULT_SEARCH_FILES,
    FileEntry,
    Listing,
    SearchHits,
    Workspace,
)
from nebula.workspace.errors import PathEscape
from nebula.workspace.guard.paths import normal_path
from nebula.workspace.wrapped.base import WrappedWorkspace

Parts = tuple[str, ...]


def folders_below(root: str, offered: Sequence[str]) -> tuple[Parts, ...]:
    """Return the offered absolute paths as folders relative to the root, without those elsewhere. A folder that
    contains the root offers all of it: `()`."""
    base = os.path.realpath(root)
    found: set[Parts] = set()
    for path in offered:
        real = os.path.realpath(path)
        if os.path.commonpath([base, real]) == real:
            return ((),)
        if os.path.commonpath([base, real]) == base:
            found.add(tuple(os.path.relpath(real, base).split(os.sep)))
    return tuple(folder for folder in sorted(found) if not any(folder[:depth] in found for depth in range(len(folder))))


class NarrowedWorkspace(WrappedWorkspace):
    def __init__(self, inner: Workspace, root: str, folders: tuple[Parts, ...]) -> None:
        super().__init__(inner)
        self._root = os.path.realpath(root)
        self._folders = folders

    def list_files(
        self,
        path: str = ".",
        *,
        recursive: bool = False,
        extensions: Sequence[str] | None = None,
        max_items: int | None = None,
    ) -> Listing:
        parts = normal_path(path).parts
        if self._within(parts):
            return super().list_files(path, recursive=recursive, extensions=extensions, max_items=max_items)
        below = self._below(parts)
        if not recursive:
            listing = self._inner.list_files(path, extensions=extensions, max_items=max_items)
            seen = tuple(entry for entry in listing.files if self._leads_inside(entry))
            return Listing(listing.path, seen, listing.truncated, listing.remark)
        cap = max_items or DEFAULT_LIST_ITEMS
        listings = [
            self._inner.list_files("/".join(folder), recursive=True, extensions=extensions, max_items=cap)
            for folder in below
        ]
        found = [_renamed(entry, parts) for listing in listings for entry in listing.files]
        truncated = len(found) > cap or any(listing.truncated for listing in listings)
        remark = f"There are more than {cap} entries, the first are shown." if truncated else None
        return Listing(normal_path(path).text, tuple(found[:cap]), truncated, remark)

    def search(self, directory: str, keyword: str, *, max_files: int = DEFAULT_SEARCH_FILES) -> SearchHits:
        parts = normal_path(directory).parts
        if self._within(parts):
            return super().search(directory, keyword, max_files=max_files)
        hits = [self._inner.search("/".join(folder), keyword, max_files=max_files) for folder in self._below(parts)]
        found = [path for each in hits for path in each.files]
        truncated = len(found) > max_files or any(each.truncated for each in hits)
        remark = f"More than {max_files} files match, the first are shown." if truncated else None
        return SearchHits(tuple(found[:max_files]), truncated, remark)

    def _around(self, inner: Workspace) -> Self:
        return type(self)(inner, self._root, self._folders)

    def _require(self, path: str) -> None:
        if not self._within(normal_path(path).parts):
            raise _outside(path)

    def _within(self, parts: Parts) -> bool:
        return self._covers(parts) and self._covers(self._real(parts))

    def _covers(self, parts: Parts) -> bool:
        return any(parts[: len(folder)] == folder for folder in self._folders)

    def _real(self, parts: Parts) -> Parts:
        real = os.path.realpath(os.path.join(self._root, *parts))
        if real == self._root or os.path.commonpath([self._root, real]) != self._root:
            return ()  # out of the root altogether: the jail explains that better than we could
        return tuple(os.path.relpath(real, self._root).split(os.sep))

    def _below(self, parts: Parts) -> list[Parts]:
        below = [folder for folder in self._folders if folder[: len(parts)] == parts]
        if not below:
            raise _outside("/".join(parts))
        return below

    def _leads_inside(self, entry: FileEntry) -> bool:
        parts = normal_path(entry.path).parts
        return self._within(parts) or any(folder[: len(parts)] == parts for folder in self._folders)


def _renamed(entry: FileEntry, parts: Parts) -> FileEntry:
    name = "/".join(entry.path.split("/")[len(parts) :])
    return FileEntry(name, entry.path, entry.is_dir, entry.size)


def _outside(path: str) -> PathEscape:
    return PathEscape("{path}: is not in the folders that your client offers.", path=path)
