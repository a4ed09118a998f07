"""Work that can wait: one thread that comes when called and leaves when there is nothing more to do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Housekeeper:
    """Runs `work` once changes have stopped for a while.

    The work asks `is_stopping` and `should_make_way` now and then. An exception is kept for `stop` to raise: the
    work concerns derived files, and the caller who made the change has long gone on.
    """

    def __init__(self, work: Callable[[], None], *, idle: float) -> None:
        self._work = work
        self._idle = idle
        self._condition = threading.Condition()
        self._thread: threading.Thread | None = None
        self._due_at: float | None = None
        self._stopping = False
        self._is_working = False
        self._error: BaseException | None = None

    def wake(self) -> None:
        """Say that something changed."""
        with self._condition:
            self._due_at = time.monotonic() + self._idle
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="graph-housekeeping", daemon=True)
                self._thread.start()

    def call(self) -> None:
        """Say that there is something to do, to whoever is not at it already."""
        with self._condition:
            if not self._is_working:
                self.wake()

    def stop(self) -> None:
        """Wait for the running work to end; what was not begun is left to the caller."""
        with self._condition:
            thread, self._stopping = self._thread, True
            self._condition.notify()
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        self._stopping = False
        self._due_at = None
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _run(self) -> None:
        while self._wait():
            self._is_working = True
            try:
                self._work()
            except Exception as error:  # noqa: BLE001
                self._error = error
            self._is_working = False

    def _wait(self) -> bool:
        """Wait until the work is due; return False if there is none, and the thread ends."""
        with self._condition:
            while self._due_at is not None and not self._stopping:
                left = self._due_at - time.monotonic()
                if left <= 0:
                    self._due_at = None
                    return True
                self._condition.wait(left)
            self._thread = None
            return False

    def is_stopping(self) -> bool:
        return self._stopping

    def should_make_way(self) -> bool:
        """Return whether there is an end or a new change to make way for."""
        return self._stopping or self._due_at is not None
