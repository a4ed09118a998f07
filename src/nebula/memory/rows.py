"""Messages as rows of the table `messages`, and back.

A user row holds the prompt and, as JSON beside it, what came with it; an assistant row its text and, as JSON, its
tool calls; a tool row one result as JSON. The results that follow one assistant message come back as one user message,
which is how they were sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from nebula.attachments import Attachment, attach
from nebula.memory.errors import UnreadableRow
from nebula.messages import (
    AssistantMessage,
    AssistantToolUse,
    Message,
    Prompt,
    ToolUseResult,
    ToolUseResults,
    UserEnvContext,
    UserMessage,
)

T = TypeVar("T")

Row = tuple[int, Any, Any, Any, Any, Any]
"""id, timestamp, role, content, tool_calls, tool_results; a file may hold anything in them"""

# Patterns are compiled on first use: most starts load no session.
_LONE_SURROGATE = "[\ud800-\udfff]"
_TIME = r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(\.\d{1,6})?\d*\s*(Z|[+-]\d\d:?\d\d)?"


STEERING = '{"steering": true}'
"""Beside a user row: it was said while a turn ran, and begins none."""
FAILED = '{"ended": "failed"}'
REFUSED = '{"ended": "refused"}'
"""Beside the last answer of a turn: how it ended where that was not well."""


def storable(text: str) -> str:
    """Return the text with halves of surrogate pairs replaced: UTF-8 has no form for them, and one must not cost a
    message."""
    return text if text.isascii() else re.sub(_LONE_SURROGATE, "\ufffd", text)


def calls_text(message: AssistantMessage) -> str | None:
    uses = message.tool_uses
    return _json_text([use.to_json() for use in uses]) if uses else None


def results_text(results: Iterable[ToolUseResult]) -> str:
    return _json_text([result.to_json() for result in results])


def attachments_text(attachments: Sequence[Attachment]) -> str | None:
    return _json_text({"attachments": [each.to_record() for each in attachments]}) if attachments else None


_encode = json.JSONEncoder(ensure_ascii=False).encode


def _json_text(value: Any) -> str:
    text = _encode(value)
    # JSON, unlike plain text, can carry a lone surrogate: as an escape.
    return text if text.isascii() or re.search(_LONE_SURROGATE, text) is None else json.dumps(value)


def to_turns(rows: Iterable[Row], unreadable: Callable[[UnreadableRow], None]) -> list[list[Message]]:
    """Return the messages of each turn. A turn begins with a prompt; messages before the first prompt, in a file of
    another program, are a turn of their own.

    A row that cannot be read is left out, and `unreadable` is called.
    """
    env = UserEnvContext.generate_new()
    turns: list[list[Message]] = []
    pending: list[ToolUseResult] = []

    def settle() -> None:
        if pending:
            turns[-1].append(UserMessage("", env, ToolUseResults(tuple(pending))))
            pending.clear()

    for row in rows:
        try:
            said = _read_row(row, env)
        except UnreadableRow as problem:
            unreadable(problem)
            continue
        if not turns and not isinstance(said, UserMessage):
            turns.append([])
        if turns and isinstance(said, UserMessage) and row[5] == STEERING:
            turns[-1].append(UserMessage.new_steered_results(pending, said.prompt or "") if pending else said)
            pending.clear()
            continue
        if isinstance(said, list):
            pending.extend(said)
            continue
        settle()
        if isinstance(said, UserMessage):
            turns.append([said])
        else:
            turns[-1].append(said)
    settle()
    return turns


def _read_row(row: Row, env: UserEnvContext) -> Message | list[ToolUseResult]:
    number, timestamp, role, content, calls, results = row
    if role == "tool":
        return _read(number, results, ToolUseResult.from_json)
    if not isinstance(content, str | None):
        raise UnreadableRow(number, "its content is not text")
    if role == "user":
        said = UserMessage("", env, Prompt(content or ""), read_time(timestamp))
        return attach(said, _read_attachments(number, results)) if results not in (None, STEERING) else said
    if role != "assistant":
        raise UnreadableRow(number, f"its role '{role}' is unknown")
    if calls is None:
        return AssistantMessage.new_response(None, content or "")
    return AssistantMessage.new_tool_use(None, content or "", _read(number, calls, AssistantToolUse.from_json))


def _read_attachments(number: int, text: str) -> list[Attachment]:
    try:
        return [Attachment.from_record(each) for each in json.loads(text)["attachments"]]
    except (ValueError, TypeError, LookupError, RecursionError) as problem:
        raise UnreadableRow(number, str(problem)) from None


def _read(number: int, text: str | None, from_json: Callable[[Any], T]) -> list[T]:
    try:
        found = json.loads(text or "null")
        return [from_json(item) for item in (found if isinstance(found, list) else [found])]
    except (ValueError, TypeError, RecursionError) as problem:  # MessageFormatError is a ValueError
        raise UnreadableRow(number, str(problem)) from None


def write_time(moment: datetime) -> str:
    """Return a time in the form of SQLite's CURRENT_TIMESTAMP, which sorts as text, with milliseconds."""
    return moment.astimezone(UTC).isoformat(" ", "milliseconds").removesuffix("+00:00")


def read_time(text: object) -> datetime | None:
    """Return an aware, local time; what the original program wrote is read, too: Go's `… +0900 JST m=+0.02`."""
    found = re.match(_TIME, text) if isinstance(text, str) else None
    if found is None:
        return None
    day, clock, fraction, zone = found.groups()
    try:
        return datetime.fromisoformat(f"{day}T{clock}{fraction or ''}{zone or '+00:00'}").astimezone()
    except (ValueError, OverflowError):  # a 13th month
        return None
