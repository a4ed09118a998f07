"""Show an editor what is being waited for: one entry, like a tool call, whose title changes until the message comes.

The entry appears only if the wait is long enough to be noticed, and its clock keeps running while no event comes.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from nebula.language import translate
from nebula.stage import Curtain

NOTICED_S = 0.4
EVERY_S = 0.5
_TICK_S = 0.25


class Progress:
    def __init__(self, update: Callable[[Mapping[str, Any]], None]) -> None:
        self._update = update
        self._name = os.urandom(4).hex()
        self._count = 0
        self._title = ""
        self._began = self._shown = self._since = 0.0
        self._cue: Curtain | None = None

    def show(self, cue: Curtain) -> None:
        """Show the present activity, at most twice a second."""
        moment = time.monotonic()
        if self._cue is None:
            self._began = moment
        if self._cue is None or cue.doing != self._cue.doing:
            self._since = moment
        self._cue = cue
        self.tick()

    def tick(self) -> None:
        """Show how long the wait has taken so far."""
        moment, cue = time.monotonic(), self._cue
        if cue is None or moment - self._began < NOTICED_S or moment - self._shown < EVERY_S:
            return
        elapsed = translate("{seconds} s", seconds=int(moment - self._since))
        title = " · ".join(filter(None, (cue.doing or translate("working"), cue.amount, elapsed)))
        if not self._title:
            self._count += 1
            self._update({"sessionUpdate": "tool_call", "kind": "think", **self._entry(title, "in_progress")})
        elif title != self._title:
            self._update({"sessionUpdate": "tool_call_update", **self._entry(title, "in_progress")})
        self._title, self._shown = title, moment

    def end(self) -> None:
        """Close the entry: the wait is over, or given up."""
        if self._title:
            self._update({"sessionUpdate": "tool_call_update", **self._entry(self._title, "completed")})
        self._title, self._cue = "", None
        self._began = self._shown = 0.0

    @asynccontextmanager
    async def ticking(self) -> AsyncIterator[None]:
        """Keep the clock of the entry running inside this block."""

        async def tick() -> None:
            while True:
                await asyncio.sleep(_TICK_S)
                self.tick()

        clock = asyncio.create_task(tick())
        try:
            yield
        finally:
            clock.cancel()

    def _entry(self, title: str, status: str) -> dict[str, Any]:
        return {"toolCallId": f"progress-{self._name}-{self._count}", "title": title, "status": status}
