"""What goes on in a turn, for the page: once a second is enough for a count; the ring of events is for what stays."""

from __future__ import annotations

import time
from typing import Final

from nebula.events import Activity, Reader, Stamped

EVERY_S: Final = 1.0


class Seldom:
    """Hands on an activity that is a new one, or of which the last report is old."""

    def __init__(self, hear: Reader) -> None:
        self._hear = hear
        self._last = ""
        self._due = 0.0

    def __call__(self, stamped: Stamped) -> None:
        event, moment = stamped.event, time.monotonic()
        if isinstance(event, Activity) and (str(event.sentence) != self._last or moment >= self._due):
            self._last, self._due = str(event.sentence), moment + EVERY_S
            self._hear(stamped)
