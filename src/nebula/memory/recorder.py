"""The reader of the event stream that keeps the session's memory."""

from __future__ import annotations

from datetime import datetime

from nebula.events import Final, Message, Stamped, Steering, Task, ToolResult
from nebula.memory.rows import FAILED, REFUSED
from nebula.memory.sessions import Sessions


class MemoryReader:
    """Stores each prompt, each finished message and each tool result, and that a turn did not end well.

    Each is on the disk before the next event may happen."""

    def __init__(self, sessions: Sessions, session_id: str) -> None:
        self._sessions = sessions
        self._session_id = session_id

    def __call__(self, stamped: Stamped) -> None:
        event = stamped.event
        if isinstance(event, Task):
            self._sessions.append_user(self._session_id, event.prompt, _moment(stamped), event.attachments)
        elif isinstance(event, Steering):
            self._sessions.append_steering(self._session_id, event.text, _moment(stamped))
        elif isinstance(event, Message):
            self._sessions.append_assistant(self._session_id, event.message, _moment(stamped))
        elif isinstance(event, ToolResult):
            self._sessions.append_tool_result(self._session_id, event.result, _moment(stamped))
        elif isinstance(event, Final) and event.status != "ok":
            self._sessions.mark_ending(self._session_id, REFUSED if event.status == "refused" else FAILED)


def _moment(stamped: Stamped) -> datetime:
    return datetime.fromisoformat(stamped.ts)
