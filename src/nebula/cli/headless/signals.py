"""Signals that end a task: Ctrl-C, a closed window, whoever ends the process."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable

AT_ONCE_S = 1.0
"""A signal so soon after another is the same wish."""


class Signals:
    """Interrupts work by the first signal of several; those that follow at once, also after its end, mean the same.

    One that comes later, where the work still has not ended, interrupts it again, and the next takes the default way
    out.
    """

    def __init__(self, interrupt: Callable[[], object]) -> None:
        self._interrupt = interrupt
        self._times = 0
        self._last = 0.0
        ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # started by nohup
        self._numbers = (signal.SIGINT, signal.SIGTERM, *(() if ignored else (signal.SIGHUP,)))

    def __enter__(self) -> None:
        self._loop = asyncio.get_running_loop()
        for number in self._numbers:
            self._loop.add_signal_handler(number, self._hear)

    def __exit__(self, *_: object) -> None:
        for number in self._numbers:
            self._loop.remove_signal_handler(number)
            if self._times:
                signal.signal(number, self._hear_late)

    def _hear(self) -> None:
        if self._times and time.monotonic() - self._last < AT_ONCE_S:
            return
        self._times, self._last = self._times + 1, time.monotonic()
        self._interrupt()
        if self._times > 1:
            self.__exit__()

    def _hear_late(self, number: int, _: object) -> None:
        if time.monotonic() - self._last >= AT_ONCE_S:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
            signal.raise_signal(number)
