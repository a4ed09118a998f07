"""What a stream of JSON shows between two events: what goes on, and text while it is written."""

from __future__ import annotations

import asyncio

from nebula.cli.busy import WORKING
from nebula.errors import NebulaError
from nebula.events import Activity, Delta, Final, Reader, Retry, Stamped, now
from nebula.value import replace

SILENT_S = 0.5
"""What takes no longer needs no line."""


class Between:
    """Reads a stream and watches it: hands every event on, and what goes on once nothing was said for `SILENT_S`.

    With `partial` that is handed on whenever it becomes another, and text while it is written.
    """

    def __init__(self, audience: Reader, *, partial: bool = False) -> None:
        self._audience = audience
        self._partial = partial
        self._loop = asyncio.get_running_loop()
        self._told = ""
        """What goes on, as it was said last since the last event."""
        self._doing = Activity(WORKING)
        """What goes on, as it was heard last."""
        self._next: Stamped | None = None
        """What is said when the time is up."""
        self._clock: asyncio.TimerHandle | None = None
        self._problem: NebulaError | None = None
        """Why that could not be said; the turn hears of it with its next event."""

    def __call__(self, stamped: Stamped) -> None:
        if self._problem is not None:
            problem, self._problem = self._problem, None
            raise problem
        event = stamped.event
        if isinstance(event, Activity):
            self._doing = event
            if (doing := str(event.sentence)) != self._told:
                self._goes_on(stamped, doing)
        elif not isinstance(event, Delta):
            self._stop()
            self._told = ""
            self._audience(stamped)
            if not isinstance(event, Final):
                self._wait(replace(stamped, event=self._doing if isinstance(event, Retry) else Activity(WORKING)))
        elif self._partial:
            self._audience(stamped)

    def _goes_on(self, stamped: Stamped, doing: str) -> None:
        if self._partial:
            self._stop()
            self._told = doing
            self._audience(stamped)
        else:
            self._wait(stamped)

    def _wait(self, stamped: Stamped) -> None:
        self._next = stamped
        if self._clock is None:
            self._clock = self._loop.call_later(SILENT_S, self._break_silence)

    def _break_silence(self) -> None:
        self._clock = None
        if self._next is not None and isinstance(self._next.event, Activity):
            self._told = str(self._next.event.sentence)
            try:
                self._audience(replace(self._next, ts=now().isoformat(timespec="milliseconds")))
            except NebulaError as problem:
                self._problem = problem

    def _stop(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
