"""One writer at a time, among the threads of a process and the processes of a machine."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class StoreLock:
    """Re-entrant. The lock file stays where it is: removing it would split the lock."""

    def __init__(self, open_file: Callable[[], int]) -> None:
        self._open_file = open_file
        self.threads = threading.RLock()
        """The part of the lock that concerns this process: enough for reading what only we keep in memory."""
        self.depth = 0
        """How often the thread that holds it has taken it."""
        self._handle = -1

    @contextmanager
    def held(self) -> Iterator[None]:
        with self.threads:
            if self.depth == 0:
                if self._handle < 0:
                    self._handle = self._open_file()
                fcntl.flock(self._handle, fcntl.LOCK_EX)
            self.depth += 1
            try:
                yield
            finally:
                self.depth -= 1
                if self.depth == 0:
                    fcntl.flock(self._handle, fcntl.LOCK_UN)

    def close(self) -> None:
        with self.threads:
            if self._handle >= 0 and self.depth == 0:
                os.close(self._handle)
                self._handle = -1
