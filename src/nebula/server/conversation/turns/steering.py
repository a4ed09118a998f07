"""The messages that clients send into a running turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from nebula.events import new_trace_id
from nebula.server.conversation.protocol import ActionError
from nebula.value import field, record

MOST_WAITING: Final = 100_000
"""Characters that may wait for one turn, so that a client cannot fill the memory."""


@record
class SteeringQueue:
    waiting: dict[str, str] = field(default_factory=dict)
    """By id, oldest first."""
    redact: Callable[[str], str] = str
    """Redacts what others may see of it; set once the secrets of the turn's session are known."""

    def add(self, text: str) -> str:
        """Add a message and return its id. Raises ActionError if too much is waiting."""
        if len(text) + sum(map(len, self.waiting.values())) > MOST_WAITING:
            raise ActionError(
                "at most {limit} characters wait for a running turn; send the rest as a prompt",
                code="too_large",
                limit=f"{MOST_WAITING:,}",
            )
        steering_id = new_trace_id()
        self.waiting[steering_id] = text
        return steering_id

    def take(self) -> str:
        """Return all messages for the turn, which has heard them then."""
        text = "\n".join(self.waiting.values())
        self.waiting.clear()
        return text

    def shown(self) -> list[dict[str, str]]:
        return [{"steering_id": key, "text": self.redact(text)} for key, text in self.waiting.items()]
