"""One writer at a time, among the threads of a process and the processes of a machine."""

from __future__ import annotations

import fcntl
import os
import threading
from types import TracebackType


class StoreLock:
    """Re-entrant; held through `with`. The lock file stays where it is: removing it would split the lock."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.threads = threading.RLock()
        """The part of the lock that concerns this process: enough for reading what only we keep in memory."""
        self._depth = 0
        self._handle = -1

    def __enter__(self) -> StoreLock:
        self.threads.acquire()
        try:
            if self._depth == 0:
                if self._handle < 0:
                    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
                    self._handle = os.open(self._path, flags, 0o666)
                fcntl.flock(self._handle, fcntl.LOCK_EX)
            self._depth += 1
        except BaseException:
            self.threads.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        try:
            if self._depth == 0:
                fcntl.flock(self._handle, fcntl.LOCK_UN)
        finally:
            self.threads.release()

    def close(self) -> None:
        with self.threads:
            if self._handle >= 0:
                os.close(self._handle)
                self._handle = -1
