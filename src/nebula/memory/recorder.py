"""The reader of the event stream that keeps the session's memory."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from nebula.events import Message, Task, ToolResult
from nebula.memory.redaction import Redactor

if TYPE_CHECKING:
    from nebula.events import Stamped
    from nebula.memory.sessions import Sessions


class MemoryReader:
    """Stores each prompt, each finished message and each tool result; on the disk before the next event may happen."""

    def __init__(self, sessions: Sessions, session_id: str, secrets: Iterable[str] = ()) -> None:
        self._sessions = sessions
        self._session_id = session_id
        self._redactor = Redactor(secrets)

    def __call__(self, stamped: Stamped) -> None:
        event = stamped.event
        if isinstance(event, Task):
            prompt = self._redactor.text(event.prompt)
            self._sessions.append_user(self._session_id, prompt, _moment(stamped))
        elif isinstance(event, Message):
            message = self._redactor.message(event.message)
            self._sessions.append_assistant(self._session_id, message, _moment(stamped))
        elif isinstance(event, ToolResult):
            result = self._redactor.result(event.result)
            self._sessions.append_tool_result(self._session_id, result, _moment(stamped))


def _moment(stamped: Stamped) -> datetime:
    return datetime.fromisoformat(stamped.ts)
