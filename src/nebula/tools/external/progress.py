"""How far a call of an MCP server's tool is, shown to those who watch."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from nebula.events import Activity, Event
from nebula.language import Sentence
from nebula.tools.external.content import clean_text

INTERVAL_S = 0.25
"""A server may report as often as it likes; nobody reads faster than this."""
MAX_MESSAGE = 100


class ProgressReport:
    """Shows each word of the server on a call of `tool`, as seldom as a person can read it."""

    def __init__(self, tool: str, show: Callable[[Event], Any]) -> None:
        self._tool = tool
        self._show = show
        self._due = 0.0

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        moment = time.monotonic()
        if moment < self._due:
            return
        self._due = moment + INTERVAL_S
        amount = f"{progress:g}/{total:g}" if total else f"{progress:g}"
        said = " ".join(clean_text(message or "").split())[:MAX_MESSAGE]
        self._show(Activity(Sentence("{tool}: {said}", tool=self._tool, said=" ".join(filter(None, (amount, said))))))
