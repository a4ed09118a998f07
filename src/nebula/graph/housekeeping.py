"""Work that can wait: one thread that comes when called and leaves when there is nothing more to do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

_LINGER = 2.0


class Housekeeper:
    """Runs `soon` shortly after a change and `later` once changes have stopped for a while.

    The work asks `is_stopping` and `should_make_way` now and then. An exception is kept for `stop` to raise: the
    work concerns derived files and flushing, and the caller who made the change has long gone on.
    """

    def __init__(self, soon: Callable[[], None], later: Callable[[], None], *, delay: float, idle: float) -> None:
        self._soon = soon
        self._later = later
        self._delay = delay
        self._idle = idle
        self._condition = threading.Condition()
        self._thread: threading.Thread | None = None
        self._soon_at: float | None = None
        self._later_at: float | None = None
        self._stopping = False
        self._error: BaseException | None = None

    def wake(self, *, at_once: bool = False) -> None:
        """Something changed. `at_once` for when the first kind of work should not wait."""
        with self._condition:
            now = time.monotonic()
            if self._soon_at is None:
                self._soon_at = now + self._delay
            if at_once:
                self._soon_at = now
            self._later_at = now + self._idle
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="graph-housekeeping", daemon=True)
                self._thread.start()
            elif at_once:
                self._condition.notify()

    def stop(self) -> None:
        """Waits for the running work to end; what was not begun is left to the caller."""
        with self._condition:
            thread, self._stopping = self._thread, True
            self._condition.notify()
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        self._stopping = False
        self._soon_at = self._later_at = None
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _run(self) -> None:
        while True:
            work = self._next()
            if work is None:
                return
            try:
                work()
            except Exception as error:  # noqa: BLE001
                self._error = error

    def _next(self) -> Callable[[], None] | None:
        with self._condition:
            leave_at = time.monotonic() + _LINGER
            while not self._stopping:
                now = time.monotonic()
                if self._soon_at is not None and self._soon_at <= now:
                    self._soon_at = None
                    return self._soon
                if self._later_at is not None and self._later_at <= now:
                    self._later_at = None
                    return self._later
                due = [moment for moment in (self._soon_at, self._later_at) if moment is not None]
                if not due and now >= leave_at:
                    break
                self._condition.wait(min(due, default=leave_at) - now)
            self._thread = None
            return None

    def is_stopping(self) -> bool:
        return self._stopping

    def should_make_way(self) -> bool:
        """For the end, or for a new change."""
        return self._stopping or self._soon_at is not None
