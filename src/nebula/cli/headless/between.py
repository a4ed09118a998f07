"""What a stream of JSON shows between two events: what goes on, and text while it is written."""

from __future__ import annotations

import asyncio

from nebula.cli.busy import WORKING
from nebula.errors import NebulaError
from nebula.events import Activity, Delta, Final, Reader, Retry, Stamped, now
from nebula.value import replace

SILENT_S = 0.5
"""What takes no longer needs no line."""
ALIVE_S = 10.0
"""How often that is said again of a long wait: work can be told from a halt, and the log of a build is not filled."""


class Between:
    """Reads a stream and watches it: hands every event on, and what goes on once nothing was said for `SILENT_S`, then
    every `ALIVE_S`.

    With `partial` that is handed on whenever it becomes another and every `SILENT_S`, and text while it is written.
    """

    def __init__(self, audience: Reader, *, partial: bool = False) -> None:
        self._audience = audience
        self._partial = partial
        self._loop = asyncio.get_running_loop()
        self._told = ""
        """What goes on, as it was said last since the last event."""
        self._doing = Activity(WORKING)
        """What goes on, as it was heard last,"""
        self._since = self._loop.time()
        """from when on,"""
        self._last: Stamped
        """and with or after which event."""
        self._clock: asyncio.TimerHandle | None = None
        self._problem: NebulaError | None = None
        """Why that could not be said; the turn hears of it with its next event."""

    def __call__(self, stamped: Stamped) -> None:
        if self._problem is not None:
            problem, self._problem = self._problem, None
            raise problem
        event = stamped.event
        if isinstance(event, Activity):
            self._goes_on(stamped, event)
        elif not isinstance(event, Delta):
            self._stop()
            self._told, self._since = "", self._loop.time()
            self._audience(stamped)
            if not isinstance(event, Final):
                self._wait(stamped, self._doing if isinstance(event, Retry) else Activity(WORKING))
        elif self._partial:
            self._audience(stamped)

    def _goes_on(self, stamped: Stamped, doing: Activity) -> None:
        sentence = str(doing.sentence)
        if self._partial and sentence != self._told:
            self._stop()
            self._told = sentence
            self._audience(stamped)
        elif self._told not in ("", sentence):  # what was said is not so any more
            self._stop()
            self._told = ""
        self._wait(stamped, doing)

    def _wait(self, stamped: Stamped, doing: Activity) -> None:
        if str(doing.sentence) != str(self._doing.sentence):
            self._since = self._loop.time()
        self._last, self._doing = stamped, doing
        if self._clock is None:
            self._clock = self._loop.call_later(SILENT_S, self._break_silence)

    def _break_silence(self) -> None:
        self._told = str(self._doing.sentence)
        event = replace(self._doing, seconds=int(self._loop.time() - self._since))
        try:
            self._audience(replace(self._last, event=event, ts=now().isoformat(timespec="milliseconds")))
        except NebulaError as problem:
            self._problem = problem
        else:
            self._clock = self._loop.call_later(SILENT_S if self._partial else ALIVE_S, self._break_silence)

    def _stop(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
