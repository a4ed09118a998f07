"""The memory file: the two tables of the original, how a file is opened, and when it is left alone.

The version is kept in `PRAGMA user_version`. Version 0 with the right tables is a file of the original program and is
adopted. Anything else that is not ours is refused before a single byte of it changes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from nebula.memory.errors import MemoryFileError

if TYPE_CHECKING:
    import sqlite3

VERSION = 1
BUSY_TIMEOUT_S = 10.0

COLUMNS = {
    "sessions": ("id", "started_at", "ended_at", "project_path", "model_used"),
    "messages": ("id", "session_id", "timestamp", "role", "content", "tool_calls", "tool_results"),
}

TABLES = """
CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY,
    started_at DATETIME DEFAULT CURRENT_TIMESTAMP,
    ended_at DATETIME,
    project_path TEXT NOT NULL,
    model_used TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT REFERENCES sessions(id),
    timestamp DATETIME DEFAULT CURRENT_TIMESTAMP,
    role TEXT NOT NULL,
    content TEXT,
    tool_calls TEXT,
    tool_results TEXT
);
CREATE INDEX IF NOT EXISTS idx_sessions_project_path ON sessions(project_path);
CREATE INDEX IF NOT EXISTS idx_messages_session_id ON messages(session_id);
CREATE INDEX IF NOT EXISTS idx_messages_timestamp ON messages(timestamp)
"""


def open_database(path: str) -> sqlite3.Connection:
    """Open a connection whose commits are on the disk when they return, and that waits its turn among processes."""
    import sqlite3

    from nebula.files.database import distrust_schema

    with file_errors(path):
        _make_private(path)
        _refuse_strangers(path)
        connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
        connection.text_factory = _text  # one string that is not UTF-8 must not cost the whole session
        try:
            distrust_schema(connection)
            _use_wal(connection)
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA fullfsync=ON")  # on macOS a plain one leaves it in the drive's cache
            connection.execute("PRAGMA foreign_keys=ON")
            _bring_up_to_date(connection)
        except BaseException:
            connection.close()
            raise
    return connection


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


@contextmanager
def file_errors(path: str) -> Iterator[None]:
    """Be the one border at which errors of SQLite and the file system become ours."""
    import sqlite3

    try:
        yield
    except sqlite3.Error as problem:
        raise _explained(path, str(problem)) from problem
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise MemoryFileError(
            "{path} cannot be opened ({reason}); check the folder and its permissions", path=path, reason=reason
        ) from problem


def _explained(path: str, problem: str) -> MemoryFileError:
    about: dict[str, Any] = {"path": path, "problem": problem}
    if "locked" in problem or "busy" in problem:
        seconds = f"{BUSY_TIMEOUT_S:.0f}"
        return MemoryFileError(
            "{path} is held by another program for more than {seconds} s; close it and try again",
            path=path,
            seconds=seconds,
        )
    if "not a database" in problem or "malformed" in problem:
        return MemoryFileError(
            "{path} is not a readable memory file ({problem}); it was left as it is, move it away to start afresh",
            **about,
        )
    if "full" in problem:
        return MemoryFileError("{path} cannot grow ({problem}); make room and try again", **about)
    return MemoryFileError("{path} cannot be used ({problem})", **about)


def _make_private(path: str) -> None:
    """Create the file before SQLite sees it, so that we choose its mode, which the side files inherit."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        if not os.path.isfile(path):
            raise MemoryFileError("{path} is not a plain file; move it away to start afresh", path=path) from None


def _refuse_strangers(path: str) -> None:
    """Refuse a file of another program, looking through a read-only connection: even closing an ordinary one could fold
    a foreign WAL into its file.

    Where a crash left a journal behind, SQLite must roll it back before anybody can read; any reader would do that.
    """
    import sqlite3

    try:
        _look(path, "ro")
    except sqlite3.OperationalError as problem:
        if "readonly" not in str(problem):
            raise
        _look(path, "rw")
    if os.stat(path).st_mode & 0o077:
        os.chmod(path, 0o600)


def _look(path: str, mode: str) -> None:
    import sqlite3

    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    with closing(sqlite3.connect(f"file:{quoted}?mode={mode}", uri=True, timeout=BUSY_TIMEOUT_S)) as connection:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise MemoryFileError(
                "{path} was written by a newer nebula (memory version {version}, this one knows {known}); "
                "update nebula, the file was left as it is",
                path=path,
                version=version,
                known=VERSION,
            )
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables and version == 0:
            return
        for table, expected in COLUMNS.items():
            found = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
            if not found.issuperset(expected):
                raise MemoryFileError(
                    "{path} is a database, but not a memory of nebula (table '{table}' is missing or different); "
                    "it was left as it is, move it away or set database_path to another file",
                    path=path,
                    table=table,
                )


def _use_wal(connection: sqlite3.Connection) -> None:
    """Two processes that meet on a new file may get "locked" at once: SQLite does not wait for this switch."""
    import sqlite3

    give_up = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as problem:
            if "locked" not in str(problem) or time.monotonic() > give_up:
                raise
            time.sleep(0.01)


def _bring_up_to_date(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA user_version").fetchone()[0] == VERSION:
        return
    from nebula.files.database import transaction

    with transaction(connection):
        for statement in TABLES.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version={VERSION}")
