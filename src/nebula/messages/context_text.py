"""The text a user message has for a model: time, further context, prompt, each between its markers."""

from __future__ import annotations

from datetime import datetime

USER_ENTRY_START_HEADER = "--- USER MESSAGE BEGIN ---\n"
USER_ENTRY_END_HEADER = "--- USER MESSAGE END ---\n\n"
CONTEXT_ENTRY_START_HEADER = "--- CONTEXT ENTRY BEGIN ---\n"
CONTEXT_ENTRY_END_HEADER = "--- CONTEXT ENTRY END ---\n\n"

# strftime would follow the locale.
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def context_text(timestamp: datetime | None, additional_context: str, prompt: str | None) -> str:
    parts: list[str] = []
    if timestamp is not None:
        now = f"Current time: {_WEEKDAYS[timestamp.weekday()]}, {timestamp.isoformat(timespec='milliseconds')}\n"
        parts += (CONTEXT_ENTRY_START_HEADER, now, CONTEXT_ENTRY_END_HEADER)
    if additional_context:
        parts += (additional_context, "\n")
    if prompt is not None:
        parts += (USER_ENTRY_START_HEADER, prompt, USER_ENTRY_END_HEADER) if parts else (prompt,)
    return "".join(parts).strip()
