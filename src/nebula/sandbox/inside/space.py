"""Whether what a command wrote has reached its limit."""

from __future__ import annotations

import os
import stat
import time

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEEPEST = 64
_SMALLEST = 4096
"""What the least of files counts, here as in a tmpfs."""
_RESERVE = 64 << 20
"""Of the disk, left to others."""
_UNSEEN = 4
_LEAST_UNSEEN = 512 << 20
"""How often the limit may be missing from the disk without being found, and how much of it at least."""
_LOOK_EVERY_S = 1.0
_PAUSE = 10
"""Times as long as a look took, before the next."""


class MemorySpace:
    """A tmpfs that is as large as the limit."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def is_full(self, *, at_the_end: bool) -> bool:
        space = os.fstatvfs(self._handle)
        return space.f_bavail == 0 or space.f_favail == 0

    def memory_used(self) -> int:
        space = os.fstatvfs(self._handle)
        return (space.f_blocks - space.f_bfree) * space.f_frsize


class DiskSpace:
    """The upper side, on a disk that others use as well, and the rest in memory: one limit for both.

    To walk through the upper side is dear, so it is looked at when the disk's free space says that the limit may be
    reached, and now and then. What a look does not find (files deleted while they are open, folders that are closed to
    us) is missing from the free space all the same, as is what other programs write meanwhile. These cannot be told
    apart, so several times the limit has to be missing before that ends the command.
    """

    def __init__(self, upper: int, memory: MemorySpace, limit: int) -> None:
        self._upper = upper
        self._memory = memory
        self._limit = limit
        self._unseen_limit = max(_UNSEEN * limit, _LEAST_UNSEEN)
        self._at_start = self._at_look = self._free()
        self._found = (0, 0)
        self._next_look = 0.0
        self._latest_look = time.monotonic() + _LOOK_EVERY_S

    def is_full(self, *, at_the_end: bool) -> bool:
        bytes_free, files_free = self._free()
        if bytes_free < _RESERVE or self._memory.is_full(at_the_end=at_the_end):
            return True
        now, written = time.monotonic(), self.memory_used() + self._found[0]
        may_be_full = written + max(0, self._at_look[0] - bytes_free) + self._new_files(files_free) > self._limit
        if now >= self._latest_look or (may_be_full and (at_the_end or now >= self._next_look)):
            self._look(now)
            written = self.memory_used() + self._found[0]
        unseen = max(
            self._at_start[0] - bytes_free - self._found[0],
            (self._at_start[1] - files_free - self._found[1]) * _SMALLEST,
        )
        return written > self._limit or unseen > self._unseen_limit

    def memory_used(self) -> int:
        return self._memory.memory_used()

    def _free(self) -> tuple[int, int]:
        space = os.fstatvfs(self._upper)
        return space.f_bavail * space.f_frsize, space.f_favail

    def _new_files(self, files_free: int) -> int:
        return max(0, self._at_look[1] - files_free) * _SMALLEST

    def _look(self, began: float) -> None:
        self._at_look = self._free()
        linked: set[int] = set()
        self._found = _sizes(self._upper, linked, 0)
        took = time.monotonic() - began
        self._next_look = began + (1 + _PAUSE) * took
        self._latest_look = began + max(_LOOK_EVERY_S, 2 * _PAUSE * took)


def _sizes(folder: int, linked: set[int], depth: int) -> tuple[int, int]:
    """Return bytes and number of the files below a folder."""
    size = number = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # deleted since
            if found.st_nlink > 1 and not stat.S_ISDIR(found.st_mode):
                if found.st_ino in linked:
                    continue
                linked.add(found.st_ino)
            size += max(found.st_blocks * 512, _SMALLEST)
            number += 1
            if stat.S_ISDIR(found.st_mode) and depth < _DEEPEST:
                more = _sizes_of(folder, entry.name, linked, depth + 1)
                size, number = size + more[0], number + more[1]
    return size, number


def _sizes_of(parent: int, name: str, linked: set[int], depth: int) -> tuple[int, int]:
    try:
        handle = os.open(name, _FOLDER_FLAGS, dir_fd=parent)
    except OSError:
        return 0, 0  # gone, or closed to us: then its files are among those that are not found
    try:
        return _sizes(handle, linked, depth)
    finally:
        os.close(handle)
