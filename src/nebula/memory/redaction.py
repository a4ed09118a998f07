"""Keys stay out of every record, wherever they turn up: in a prompt, a tool's answer, an error of a provider."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nebula.messages import AssistantMessage, ToolUseResult
from nebula.messages.json_forms import map_json_text

REDACTED = "[redacted]"
SHORTEST_SECRET = 7
"""Stand-ins for keys such as "none" or "ollama" are no secrets, and redacting them would shred ordinary words."""


class Redactor:
    def __init__(self, secrets: Iterable[str] = ()) -> None:
        # Longest first, so that a key that contains another leaves no rest behind.
        self._secrets = sorted({each for each in secrets if len(each) >= SHORTEST_SECRET}, key=len, reverse=True)

    def text(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        return text

    def value(self, value: Any) -> Any:
        """The same for JSON, inside strings only: a key of digits must not eat a number."""
        return map_json_text(value, self.text) if self._secrets else value

    def message(self, message: AssistantMessage) -> AssistantMessage:
        return AssistantMessage.from_json(self.value(message.to_json())) if self._secrets else message

    def result(self, result: ToolUseResult) -> ToolUseResult:
        return ToolUseResult.from_json(self.value(result.to_json())) if self._secrets else result
