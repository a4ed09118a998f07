"""Messages as rows of the table `messages`, and back.

A user row holds the prompt, an assistant row its text and, as JSON, its tool calls, a tool row one result as JSON.
The results that follow one assistant message come back as one user message, which is how they were sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from nebula.memory.errors import MemoryFileError
from nebula.messages import (
    AssistantMessage,
    AssistantToolUse,
    Message,
    MessageFormatError,
    Prompt,
    ToolUseResult,
    ToolUseResults,
    UserEnvContext,
    UserMessage,
)

Row = tuple[int, str, str, str | None, str | None, str | None]
"""id, timestamp, role, content, tool_calls, tool_results"""

# Patterns are compiled on first use: most starts load no session.
_LONE_SURROGATE = "[\ud800-\udfff]"
_TIME = r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(\.\d{1,6})?\d*\s*(Z|[+-]\d\d:?\d\d)?"


def storable(text: str) -> str:
    """Half a surrogate pair has no form in UTF-8, and one must not cost the whole message."""
    return text if text.isascii() else re.sub(_LONE_SURROGATE, "\ufffd", text)


def calls_text(message: AssistantMessage) -> str | None:
    uses = message.tool_uses
    return _json_text([use.to_json() for use in uses]) if uses else None


def results_text(results: Iterable[ToolUseResult]) -> str:
    return _json_text([result.to_json() for result in results])


def _json_text(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    # JSON, unlike plain text, can carry a lone surrogate: as an escape.
    return text if re.search(_LONE_SURROGATE, text) is None else json.dumps(value)


def to_turns(rows: Iterable[Row]) -> list[list[Message]]:
    """A turn begins with each prompt; what precedes the first one, in a file of another program, is a turn as well."""
    env = UserEnvContext.generate_new()
    turns: list[list[Message]] = []
    pending: list[ToolUseResult] = []

    def settle() -> None:
        if pending:
            turns[-1].append(UserMessage("", env, ToolUseResults(tuple(pending))))
            pending.clear()

    for row in rows:
        number, timestamp, role, content, calls, results = row
        if not turns and role != "user":
            turns.append([])
        if role == "tool":
            pending.extend(_read(number, results, ToolUseResult.from_json))
            continue
        settle()
        if role == "user":
            turns.append([UserMessage("", env, Prompt(content or ""), read_time(timestamp))])
        elif role == "assistant":
            turns[-1].append(_assistant(number, content or "", calls))
        else:
            raise MemoryFileError(f"message {number} of the session has an unknown role '{role}'")
    settle()
    return turns


def _assistant(number: int, content: str, calls: str | None) -> AssistantMessage:
    if calls is None:
        return AssistantMessage.new_response(None, content)
    return AssistantMessage.new_tool_use(None, content, _read(number, calls, AssistantToolUse.from_json))


def _read(number: int, text: str | None, from_json: Any) -> list[Any]:
    try:
        found = json.loads(text or "null")
        return [from_json(item) for item in (found if isinstance(found, list) else [found])]
    except (json.JSONDecodeError, MessageFormatError, RecursionError) as problem:
        raise MemoryFileError(f"message {number} of the session cannot be read ({problem})") from None


def write_time(moment: datetime) -> str:
    """The form of SQLite's CURRENT_TIMESTAMP, which sorts as text, with milliseconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.") + f"{moment.microsecond // 1000:03d}"


def read_time(text: str | None) -> datetime | None:
    """Aware and in local time; also reads what the original program wrote, Go's `… +0900 JST m=+0.02`."""
    found = re.match(_TIME, text or "")
    if found is None:
        return None
    day, clock, fraction, zone = found.groups()
    return datetime.fromisoformat(f"{day}T{clock}{fraction or ''}{zone or '+00:00'}").astimezone()
