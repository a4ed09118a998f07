"""One writer at a time for a path, among threads and among processes.

Locks are advisory `flock`s on a fixed set of files; paths share them by hash, which costs a wait now and then and
never a wrong answer. The kernel drops a lock when its holder dies, so there is nothing to clean up.
"""

from __future__ import annotations

import fcntl
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

LOCK_FILES: Final = 64
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class PathLocks:
    def __init__(self, folder_fd: int) -> None:
        self._folder_fd = folder_fd

    @contextmanager
    def hold(self, keys: Iterable[str]) -> Iterator[None]:
        """Hold the locks of all these paths; taken in one order everywhere, so that two holders cannot block
        each other for ever."""
        numbers = sorted({zlib.crc32(key.encode()) % LOCK_FILES for key in keys})
        held: list[int] = []
        try:
            for number in numbers:
                # each holder has a descriptor of its own: flock then works between threads as well
                held.append(os.open(f"{number:02x}", _FLAGS, 0o600, dir_fd=self._folder_fd))
                fcntl.flock(held[-1], fcntl.LOCK_EX)
            yield
        finally:
            for fd in held:
                os.close(fd)
