"""Sessions and their messages, in SQLite: what was acknowledged is there after a crash."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from nebula.attachments import Attachment
from nebula.files.descriptors import ClosedByBlock
from nebula.memory.errors import UnknownSession, UnreadableRow
from nebula.memory.rows import (
    FAILED,
    REFUSED,
    STEERING,
    attachments_text,
    calls_text,
    read_time,
    results_text,
    storable,
    to_turns,
    write_time,
)
from nebula.memory.schema import file_errors, open_database
from nebula.messages import AssistantMessage, Message, ToolUseResult
from nebula.value import value

LAST_WORDS_LENGTH = 200
_ENDINGS: Mapping[object, Literal["failed", "refused"]] = {FAILED: "failed", REFUSED: "refused"}
_EPOCH = datetime.fromtimestamp(0, UTC)

_INFO = f"""
SELECT s.id, s.started_at, s.ended_at, s.model_used, s.project_path,
       (SELECT substr(m.content, 1, {LAST_WORDS_LENGTH}) FROM messages m
         WHERE m.session_id = s.id AND m.role IN ('user', 'assistant') AND trim(m.content) <> ''
         ORDER BY m.id DESC LIMIT 1),
       (SELECT substr(m.content, 1, {LAST_WORDS_LENGTH}) FROM messages m
         WHERE m.session_id = s.id AND m.role = 'user' AND trim(m.content) <> '' ORDER BY m.id LIMIT 1),
       (SELECT count(*) FROM messages m WHERE m.session_id = s.id),
       (SELECT CASE WHEN m.role <> 'assistant' OR m.tool_calls IS NOT NULL THEN '{FAILED}'
                    ELSE coalesce(m.tool_results, '') END
          FROM messages m WHERE m.session_id = s.id ORDER BY m.id DESC LIMIT 1),
       (SELECT max(m.id) FROM messages m WHERE m.session_id = s.id) AS last_message
  FROM sessions s
"""  # noqa: S608  the inserted values are ours


@value
class SessionInfo:
    """One session as a list shows it."""

    id: str
    started_at: datetime
    ended_at: datetime | None
    model: str
    project_path: str
    last_words: str
    """The end of the conversation on one line, at most 200 characters, not yet made safe for a terminal."""
    messages: int
    first_prompt: str = ""
    """The first prompt, in the same form."""
    ending: Literal["", "failed", "refused"] = ""
    """How the last turn ended where that was not well: it got no answer or failed, or what it wanted was refused."""
    name: str = ""
    """What the user calls it."""
    is_abandoned: bool = False
    """It was never ended, and no living process has it: the one that had it was killed."""

    @property
    def status(self) -> Literal["active", "completed", "failed", "refused", "interrupted"]:
        if self.is_abandoned and self.ending == "failed":
            return "interrupted"  # nobody was left to say how the last turn ended
        if self.ended_at is None and not self.is_abandoned:
            return "active"
        return self.ending or "completed"


class Sessions(ClosedByBlock):
    """One memory file. Safe to share between threads; any number of processes may have it open."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._connection = open_database(self.path)
        self._lock = threading.RLock()

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    # The life of a session

    def start(self, project_path: str, model: str) -> str:
        """Return a new session of this directory. Its id is the local time and a few random digits, which keep it apart
        from every other one of this second, on this machine or, where graphs are shared, on another."""
        now = datetime.now().astimezone()
        session_id = f"session_{now:%Y%m%d_%H%M%S}_{os.urandom(4).hex()}"
        self._write(
            "INSERT INTO sessions (id, started_at, project_path, model_used) VALUES (?, ?, ?, ?)",
            (session_id, write_time(now), _real(project_path), storable(model)),
            session_id,
        )
        return session_id

    def resume(self, session_id: str) -> SessionInfo:
        """Make a session active again, given what `find` takes."""
        found = self.find(session_id)
        self._write("UPDATE sessions SET ended_at = NULL WHERE id = ?", (found.id,), found.id)
        return self.find(found.id)

    def end(self, session_id: str) -> None:
        now = write_time(datetime.now().astimezone())
        self._write("UPDATE sessions SET ended_at = ? WHERE id = ?", (now, session_id), session_id)

    def switch_model(self, session_id: str, model: str) -> None:
        self._write("UPDATE sessions SET model_used = ? WHERE id = ?", (storable(model), session_id), session_id)

    # Finding one again

    def of_project(self, project_path: str, limit: int | None = None) -> list[SessionInfo]:
        """Return the sessions of this directory, the newest first."""
        return self._infos(
            "WHERE s.project_path = ? ORDER BY s.started_at DESC, s.rowid DESC LIMIT ?",
            (_real(project_path), -1 if limit is None else limit),
        )

    def latest(self, project_path: str) -> SessionInfo | None:
        """Return the session that was last spoken in, which after a resume need not be the newest. One in which nothing
        was said is nothing to go back to."""
        found = self._infos(
            "WHERE s.project_path = ? AND last_message IS NOT NULL ORDER BY last_message DESC LIMIT 1",
            (_real(project_path),),
        )
        return found[0] if found else None

    def find(self, session_id: str, project_path: str = "") -> SessionInfo:
        """By the whole id, or by a beginning that only one has, if only one of this directory; the word `session_`
        may be left out."""
        beginning = session_id if session_id.startswith("session_") else f"session_{session_id}"
        candidates = self._infos(
            "WHERE s.id = ? OR substr(s.id, 1, length(?)) = ? "
            "ORDER BY s.id = ? DESC, s.project_path = ? DESC, s.id LIMIT 4",
            (whole := storable(session_id), start := storable(beginning), start, whole, here := _real(project_path)),
        )
        if candidates and candidates[0].id != session_id:
            candidates = [each for each in candidates if each.project_path == here] or candidates
        if session_id and candidates and (candidates[0].id == session_id or len(candidates) == 1):
            return candidates[0]
        if not candidates or not session_id:
            raise UnknownSession("no session '{id}'; `nebula sessions` lists those of this directory", id=session_id)
        ids = ", ".join(each.id for each in candidates[:3]) + (" …" if len(candidates) > 3 else "")
        raise UnknownSession(
            "'{id}' is the beginning of several sessions ({ids}); give more of the id", id=session_id, ids=ids
        )

    def projects(self) -> list[str]:
        """Return the directories that have had sessions, the newest first."""
        query = "SELECT project_path FROM sessions GROUP BY project_path ORDER BY max(started_at) DESC"
        return [path for (path,) in self._rows(query, ()) if isinstance(path, str)]

    # What was said

    def messages(self, session_id: str) -> list[Message]:
        """Return the whole history in order, tools included, as it stands: a turn that was cut off is not repaired
        here."""
        return [message for turn in self.turns(session_id) for message in turn]

    def turns(
        self, session_id: str, unreadable: Callable[[UnreadableRow], None] = lambda _: None
    ) -> list[list[Message]]:
        """Return the same, one list for each prompt. `unreadable` is called for each row that had to be left out."""
        rows = self._rows(
            "SELECT id, timestamp, role, content, tool_calls, tool_results FROM messages WHERE session_id = ? "
            "ORDER BY id",
            (self.find(session_id).id,),
        )
        return to_turns(rows, unreadable)

    def append_user(
        self, session_id: str, prompt: str, timestamp: datetime | None = None, attachments: Sequence[Attachment] = ()
    ) -> None:
        self._append(session_id, timestamp, "user", storable(prompt), None, attachments_text(attachments))

    def append_steering(self, session_id: str, text: str, timestamp: datetime | None = None) -> None:
        """Append what the user said while a turn ran; it belongs to the results before it."""
        self._append(session_id, timestamp, "user", storable(text), None, STEERING)

    def append_assistant(self, session_id: str, message: AssistantMessage, timestamp: datetime | None = None) -> None:
        self._append(session_id, timestamp, "assistant", storable(message.content), calls_text(message), None)

    def append_tool_result(self, session_id: str, result: ToolUseResult, timestamp: datetime | None = None) -> None:
        self._append(session_id, timestamp, "tool", None, None, results_text((result,)))

    def mark_ending(self, session_id: str, mark: str) -> None:
        """Note beside the last answer of a session that its turn did not end well, with a mark of `rows`.

        A turn without an answer shows that by itself."""
        with self._lock, file_errors(self.path):
            self._connection.execute(
                "UPDATE messages SET tool_results = ? WHERE role = 'assistant' AND tool_calls IS NULL "
                "AND id = (SELECT max(id) FROM messages WHERE session_id = ?)",
                (mark, session_id),
            )

    def _append(self, session_id: str, timestamp: datetime | None, *values: str | None) -> None:
        """Append one message, which is on the disk when this returns."""
        moment = write_time(timestamp or datetime.now().astimezone())
        self._write(
            "INSERT INTO messages (session_id, timestamp, role, content, tool_calls, tool_results) "
            "SELECT id, ?, ?, ?, ?, ? FROM sessions WHERE id = ?",
            (moment, *values, session_id),
            session_id,
        )

    def _write(self, statement: str, values: Sequence[Any], session_id: str) -> None:
        """Run one statement, which is a transaction by itself: it waits for its turn, and is on the disk when it ends.

        Raises UnknownSession where it changed nothing.
        """
        with self._lock, file_errors(self.path):
            rows = self._connection.execute(statement, values).rowcount
        if rows == 0:
            raise UnknownSession("no session '{id}'", id=session_id)

    def _rows(self, query: str, values: Sequence[Any]) -> list[Any]:
        with self._lock, file_errors(self.path):
            return self._connection.execute(query, values).fetchall()

    def _infos(self, condition: str, values: Sequence[Any]) -> list[SessionInfo]:
        return [
            SessionInfo(
                id=session_id,
                started_at=read_time(started) or _EPOCH,
                ended_at=read_time(ended),
                model=model,
                project_path=path,
                last_words=_on_one_line(words),
                messages=count,
                first_prompt=_on_one_line(prompt),
                ending=_ENDINGS.get(ending, ""),
            )
            for session_id, started, ended, model, path, words, prompt, count, ending, _ in self._rows(
                _INFO + condition, values
            )
        ]


def _on_one_line(text: object) -> str:
    return " ".join(text.split()) if isinstance(text, str) else ""


def _real(project_path: str) -> str:
    """Return one name for one directory, whatever links lead there; a name that is not UTF-8 keeps its bytes as
    escapes."""
    return os.fsencode(os.path.realpath(project_path)).decode("utf-8", "backslashreplace")
