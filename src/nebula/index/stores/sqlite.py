"""The index in one SQLite file. No service to start; readers never wait for the writer."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from nebula.files.database import ForeignDatabase, connect, remove_database, transaction
from nebula.index.constants import APPLICATION_ID, FORMAT
from nebula.index.errors import IndexFailed
from nebula.index.stores.database import TABLES
from nebula.index.stores.store import Store


class SqliteDatabase:
    """Raises sqlite3.DatabaseError for a file that is damaged or of another version, ForeignDatabase for another's."""

    def __init__(self, path: str) -> None:
        schema = TABLES.split(";\n")
        self._connection = connect(path, application_id=APPLICATION_ID, version=FORMAT, schema=schema)
        self._connection.execute("PRAGMA cache_size = -8000")
        self._connection.execute("PRAGMA mmap_size = 268435456")

    def execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(statement, rows)

    def writing(self) -> AbstractContextManager[None]:
        return transaction(self._connection)

    def reading(self) -> AbstractContextManager[None]:
        return transaction(self._connection, "BEGIN")

    def close(self) -> None:
        self._connection.close()


def open_sqlite(path: str) -> Store:
    """Return the store in this file. One that is damaged, or of another version, is made anew: it can be derived
    again."""
    try:
        return Store(SqliteDatabase(path))
    except (sqlite3.DatabaseError, ForeignDatabase) as error:
        if isinstance(error, sqlite3.OperationalError):  # not a reason to throw it away
            raise unusable(error, path) from None
    return renewed_sqlite(path)


def renewed_sqlite(path: str) -> Store:
    """Return an empty store in place of the one in this file."""
    remove_database(path)
    return Store(SqliteDatabase(path))


def unusable(error: sqlite3.Error, path: str) -> IndexFailed:
    """Locked, full, read-only, not a file."""
    return IndexFailed("The index file {path} cannot be used: {reason}", path=path, reason=error)


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Return whether it is the file that is wrong, and not what was asked of it."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
