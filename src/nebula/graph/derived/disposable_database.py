"""The two connections to the cache of a graph: one that writes and one that answers, each with a lock of its own.

What the cache holds can be derived again. So a damaged one is thrown away and made anew, and where none can be kept in
the user's home it lives in memory, where both connections are one.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

_CORRUPT = 11
_DAMAGE = (_CORRUPT, 26)
_REFUSED = (1, 18)
"""Codes of SQLite (imported only when it is needed): the question makes no sense, or it is too long."""


class DisposableDatabase:
    """Safe to use from several threads. `find_path` returns where the file lies; when the cache begins anew, `forget`
    is called before anybody can ask it again, and then `refill`."""

    def __init__(self, find_path: Callable[[], str], forget: Callable[[], None], refill: Callable[[], None]) -> None:
        self._find_path = find_path
        self._forget = forget
        self._refill = refill
        self.writing = threading.RLock()
        """Whoever changes the database holds it."""
        self._asking = threading.RLock()
        self._opening = threading.Lock()
        self.is_kept = True
        """False once the database could not be kept in the user's home: then it lives in memory."""
        self.was_discarded = False
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None

    @property
    def is_there(self) -> bool:
        return not self.is_kept or os.path.exists(self._find_path())

    def ask(self, query: str, *values: object) -> list[Any]:
        """Return the rows of the database as it stands."""

        def rows() -> list[Any]:
            with self._asking:
                with self._opening:
                    if self._reader is None:
                        self._reader = self._open()
                connection = self._reader
                try:
                    return connection.execute(query, values).fetchall()
                except UnicodeEncodeError:
                    return connection.execute(query, tuple(map(_whole, values))).fetchall()

        return self.guard(rows)

    def change(self, action: Callable[[sqlite3.Connection], T]) -> T:
        """Run something that changes the database, one at a time."""

        def run() -> T:
            with self.writing:
                return action(self.writer)

        return self.guard(run)

    def guard(self, action: Callable[[], T]) -> T:
        """Run something on the database. A damaged one is thrown away and made anew; where that does not help, or
        none can be kept, it lives in memory. A question that SQLite refuses is the question's fault, and raised."""
        import sqlite3

        from nebula.files.database import ForeignDatabase, remove_database

        while True:
            try:
                return action()
            except (sqlite3.DatabaseError, ForeignDatabase) as error:
                if not self.is_kept or isinstance(error, sqlite3.ProgrammingError) or _code_of(error) in _REFUSED:
                    raise
                is_damage = isinstance(error, sqlite3.DatabaseError) and _code_of(error) in _DAMAGE
            with self.writing, self._asking:
                self.close()
                if is_damage and not self.was_discarded:
                    self.was_discarded = True
                    with contextlib.suppress(OSError):  # then it cannot be opened either
                        remove_database(self._find_path())
                else:
                    self.is_kept = False
            self._refill()

    @property
    def writer(self) -> sqlite3.Connection:
        with self._opening:
            if self._writer is None:
                self._writer = self._open()
            return self._writer

    def close(self) -> None:
        with self.writing, self._asking:
            for connection in (self._writer, self._reader):
                if connection is not None:
                    connection.close()
            self._writer = self._reader = None
            self._forget()

    def _open(self) -> sqlite3.Connection:
        from nebula.graph.derived.database import open_database

        first = self._writer or self._reader
        if first is not None and not self.is_kept:
            return first
        connection = open_database(self._find_path() if self.is_kept else ":memory:")
        weakref.finalize(self, connection.close).atexit = False  # whoever only reads need not close it
        return connection


def _whole(value: object) -> object:
    """Return text without halves of surrogate pairs, which stand in no file: what somebody looked for is not there."""
    return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace") if isinstance(value, str) else value


def _code_of(error: Exception) -> int:
    """Return SQLite's own code of an error; one that we raised ourselves says that the file is not as it should be."""
    return int(getattr(error, "sqlite_errorcode", _CORRUPT)) & 0xFF
