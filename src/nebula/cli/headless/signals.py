"""Signals that end a task: Ctrl-C, a closed window, whoever ends the process."""

from __future__ import annotations

import asyncio
import signal
import time
from _signal import signal as set_handler  # type: ignore[import-not-found]
from collections.abc import Callable
from types import FrameType

from nebula.programs import AT_ONCE_S, ending_signals


class Signals:
    """Interrupts work by the first signal of several; those that follow at once, also after its end, mean the same.

    One that comes later, where the work still has not ended, interrupts it again, and the next leads out. So does one
    that comes when it has ended: as Ctrl-C, whichever it is, so that what is open is closed and the exit code is ours.
    """

    def __init__(self, interrupt: Callable[[], object]) -> None:
        self._interrupt = interrupt
        self._times = 0
        self._last = -AT_ONCE_S
        self._is_over = False
        self._numbers = ending_signals()

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        for number in self._numbers:
            # `signal.signal` of Python 3.11 would put the handler before into words, asyncio's with its task.
            set_handler(number, lambda *_: loop.call_soon_threadsafe(self._hear))
            signal.siginterrupt(number, False)

    def __exit__(self, *_: object) -> None:
        self._is_over = True  # a signal of the last moment is heard only now, and what follows the work is not it
        for number in self._numbers:
            signal.signal(number, self._hear_late)

    def _hear(self) -> None:
        if self._is_over or (self._times and time.monotonic() - self._last < AT_ONCE_S):
            return
        self._times, self._last = self._times + 1, time.monotonic()
        self._interrupt()
        if self._times > 1:
            self.__exit__()

    def _hear_late(self, number: int, frame: FrameType | None) -> None:
        if time.monotonic() - self._last >= AT_ONCE_S:
            self._last = time.monotonic()
            signal.default_int_handler(number, frame)
