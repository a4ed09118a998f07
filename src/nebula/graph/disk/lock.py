"""One writer at a time, among the threads of a process and the processes of a machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Callable
from types import TracebackType

_AT_REST, _IN_STEP = b"\0", b"\1"


class StoreLock:
    """Re-entrant; held through `with`. The lock file stays where it is: removing it would split the lock.

    Its first byte says that a step has begun and not ended: whoever finds it set when taking the lock comes after one
    that died, or failed, in the middle of a step, and has to finish it.
    """

    def __init__(self, open_file: Callable[[], int]) -> None:
        self._open_file = open_file
        self.threads = threading.RLock()
        """The part of the lock that concerns this process: enough for reading what only we keep in memory."""
        self._depth = 0
        self._handle = -1
        self._in_step = False
        self.is_left_in_step = False
        """Found when the lock was taken, and to be set back by whoever has finished the step."""

    def __enter__(self) -> StoreLock:
        self.threads.acquire()
        try:
            if self._depth == 0:
                if self._handle < 0:
                    self._handle = self._open_file()
                fcntl.flock(self._handle, fcntl.LOCK_EX)
                self.is_left_in_step = os.pread(self._handle, 1, 0) == _IN_STEP
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
                if self._in_step and kind is None:
                    self.end_step()
                self._in_step = False
                fcntl.flock(self._handle, fcntl.LOCK_UN)
        finally:
            self.threads.release()

    def begin_step(self) -> None:
        """From here to the end of the outermost `with` the folder may be between two states."""
        if not self._in_step:
            os.pwrite(self._handle, _IN_STEP, 0)
            self._in_step = True

    def end_step(self) -> None:
        with contextlib.suppress(OSError):  # then the next one looks for what is unfinished, and finds nothing
            os.pwrite(self._handle, _AT_REST, 0)

    def close(self) -> None:
        with self.threads:
            if self._handle >= 0 and self._depth == 0:
                os.close(self._handle)
                self._handle = -1
