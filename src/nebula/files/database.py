"""SQLite files of ours, opened the same careful way everywhere.

They lie only where we made them (the user's home), and even so their schema is not trusted to run anything, and one
that is not ours is not touched: a file carries our `application_id` and the version of its schema.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from nebula.errors import NebulaError


class ForeignDatabase(NebulaError):
    """A file that another program, or a newer nebula, made; it was left as it is."""


def connect(
    path: str, *, application_id: int, version: int, schema: Sequence[str] = (), timeout_s: float = 10.0
) -> sqlite3.Connection:
    """Return a connection in autocommit mode; a file that is not there is made by the statements of the `schema`.

    Raises ForeignDatabase, or sqlite3.DatabaseError for a file that is damaged or of an older version.
    """
    connection = sqlite3.connect(path, timeout=timeout_s, isolation_level=None, check_same_thread=False)
    try:
        distrust_schema(connection)
        _require_ours(connection, path, application_id, version)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        if _version_of(connection) != version:
            _make_tables(connection, version, schema)
    except BaseException:
        connection.close()
        raise
    return connection


def remove_database(path: str) -> None:
    """Remove a file of what can be derived again, with what SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(path + suffix)


@contextmanager
def transaction(connection: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """Do all of what happens inside, or none of it.

    A full disk ends a transaction by itself: taking it back once more would fail, and hide what really happened. One
    that could not be committed must not stay open, or every later one fails.
    """
    connection.execute(begin)
    try:
        yield
        if connection.in_transaction:
            connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            with suppress(sqlite3.Error):  # the first error is the one to report
                connection.execute("ROLLBACK")
        raise


def distrust_schema(connection: sqlite3.Connection) -> None:
    """Nothing that stands in the file's schema (a view, a trigger) may do more than read and write its tables."""
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")


def _make_tables(connection: sqlite3.Connection, version: int, schema: Sequence[str]) -> None:
    with transaction(connection):
        found = _version_of(connection)  # another process may have been faster
        if found == 0:
            for statement in schema:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {version}")
        elif found != version:
            raise sqlite3.DatabaseError("made by an older version")


def _version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _require_ours(connection: sqlite3.Connection, path: str, application_id: int, version: int) -> None:
    (found,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if found == 0 and tables == 0:
        connection.execute(f"PRAGMA application_id = {application_id}")
    elif found != application_id:
        raise ForeignDatabase("{path} is a database of another program; it was left as it is.", path=path)
    if _version_of(connection) > version:
        raise ForeignDatabase("{path} was made by a newer nebula; update this one, or remove the file.", path=path)
