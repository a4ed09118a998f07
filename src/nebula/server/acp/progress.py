"""What is waited for, as an editor shows it: one entry, like a tool call, whose title changes until the message comes.

It appears only where the wait is long enough to be noticed.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any

from nebula.language import translate
from nebula.stage import Curtain

NOTICED_S = 0.4
EVERY_S = 0.5


class Progress:
    def __init__(self, update: Callable[[Mapping[str, Any]], None]) -> None:
        self._update = update
        self._name = secrets.token_hex(4)
        self._count = 0
        self._title = ""
        self._began = self._shown = self._since = 0.0
        self._doing = ""

    def show(self, cue: Curtain) -> None:
        """Show what goes on, at most twice a second."""
        moment = time.monotonic()
        if not self._began:
            self._began = moment
        if cue.doing != self._doing:
            self._doing, self._since = cue.doing, moment
        if moment - self._began < NOTICED_S or moment - self._shown < EVERY_S:
            return
        elapsed = translate("{seconds} s", seconds=int(moment - self._since))
        title = " · ".join(filter(None, (cue.doing, cue.amount, elapsed)))
        if not self._title:
            self._count += 1
            self._update({"sessionUpdate": "tool_call", "kind": "think", **self._entry(title, "in_progress")})
        elif title != self._title:
            self._update({"sessionUpdate": "tool_call_update", **self._entry(title, "in_progress")})
        self._title, self._shown = title, moment

    def end(self) -> None:
        """Close the entry: what was waited for is there, or will not come."""
        if self._title:
            self._update({"sessionUpdate": "tool_call_update", **self._entry(self._title, "completed")})
        self._title, self._doing = "", ""
        self._began = self._shown = 0.0

    def _entry(self, title: str, status: str) -> dict[str, Any]:
        return {"toolCallId": f"progress-{self._name}-{self._count}", "title": title, "status": status}
