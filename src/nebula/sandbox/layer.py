"""What is left of a command that has ended: two descriptors, which keep the layer's memory, and the project's own; its
folder, where it lies on disk."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import TYPE_CHECKING

from nebula.files.beneath import FILE_FLAGS, FOLDER_FLAGS, best_opener
from nebula.files.descriptors import closed_after
from nebula.files.reading import UnreadableFile, read_all, read_below
from nebula.sandbox.changes.git_index import LARGEST_INDEX, digest_of_entries
from nebula.sandbox.contract import LayerChange

if TYPE_CHECKING:
    from nebula.sandbox.disk import LayerFolder

Stamp = tuple[int, ...]


class Layer:
    """Its memory is freed when it is closed, or when nebula ends."""

    def __init__(self, lower: int) -> None:
        self.lower = lower
        self.folder: LayerFolder | None = None
        self.descriptors: list[int] = []
        self._indexes: dict[str, bytes | None] = {}

    @property
    def upper(self) -> int:
        return self.descriptors[0]

    @property
    def view(self) -> int:
        """The project as the command left it."""
        return self.descriptors[1]

    def read(self, path: str, limit: int | None = None) -> bytes:
        """Return a created or changed file as the command left it, at most `limit` bytes."""
        return self._read(self.upper, path, limit)

    def rewrite(self, path: str, content: bytes) -> None:
        """Give a file of the upper side other content: whoever has the layer open sees that as well."""
        handle = best_opener()(self.upper, path.split("/"), os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "wb") as file:
            file.truncate()
            file.write(content)

    def read_before(self, path: str, limit: int | None = None) -> bytes:
        """Return a file of the project."""
        return self._read(self.lower, path, limit)

    def _read(self, side: int, path: str, limit: int | None) -> bytes:
        with closed_after(best_opener()(side, path.split("/"), FILE_FLAGS)) as handle:
            return read_all(handle, os.fstat(handle).st_size if limit is None else limit)

    def read_since(self, masked: Iterable[str]) -> tuple[str, ...]:
        """Return the masked files that the command opened and read: a mask has the times of its file until then."""
        return tuple(path for path in sorted(masked) if self._was_read(path))

    def _was_read(self, path: str) -> bool:
        mask, below = _look_at(self.upper, path), _look_at(self.lower, path)
        if mask is None or below is None:
            return False  # the command removed it, or the user did
        return stat.S_ISREG(mask.st_mode) and mask.st_size == 0 and mask.st_atime_ns != below.st_atime_ns

    def conflicts(self, changes: Iterable[LayerChange]) -> list[str]:
        """Return paths of those changes where the project is no longer what it was when the layer was read."""
        return [change.path for change in changes if change.conflict or not self._is_as_it_was(change)]

    def remember_indexes(self, paths: Iterable[str]) -> None:
        """Note what each of the project's git indexes lists: any `git status` in another window writes it anew."""
        self._indexes = {path: self._listed_in(path) for path in paths}

    def _is_as_it_was(self, change: LayerChange) -> bool:
        if self.stamp(change.path) == change.stamp:
            return True
        listed = self._indexes.get(change.path)
        return listed is not None and listed == self._listed_in(change.path)

    def _listed_in(self, index: str) -> bytes | None:
        try:
            return digest_of_entries(read_below(self.lower, index, LARGEST_INDEX, follow=False) or b"")
        except UnreadableFile:
            return None

    def stamp(self, path: str) -> Stamp | None:
        """Return a stamp that changes whenever the project's entry at this path does."""
        found = _look_at(self.lower, path)
        return None if found is None else stamp_of(found)

    def close(self) -> None:
        for handle in (self.lower, *self.descriptors):
            if handle >= 0:
                os.close(handle)
        self.lower = -1
        self.descriptors.clear()
        folder, self.folder = self.folder, None
        if folder is not None:
            folder.close()


def _look_at(side: int, path: str) -> os.stat_result | None:
    """Return what stands at a path of one side; None where nothing does, or no way leads to it."""
    *above, name = path.split("/")
    try:
        with closed_after(best_opener()(side, above, FOLDER_FLAGS)) as folder:
            return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None


def stamp_of(found: os.stat_result) -> Stamp:
    if stat.S_ISDIR(found.st_mode):  # its times and size change with every file in it
        return found.st_dev, found.st_ino, found.st_mode
    return found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns
