"""The tables of the index, and what the store needs of a database. SQLite and PostgreSQL run the same statements.

A statement is written for SQLite, with `?` for a value; a list is one JSON value:
`IN (SELECT value FROM json_each(?))`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE segment (id INTEGER PRIMARY KEY, chunks INTEGER NOT NULL, files INTEGER NOT NULL);
CREATE TABLE file (
  id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, blob TEXT NOT NULL, size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, language TEXT NOT NULL, kind INTEGER NOT NULL,
  generated INTEGER NOT NULL, lines INTEGER NOT NULL,
  rank REAL NOT NULL DEFAULT 0, committed INTEGER NOT NULL DEFAULT 0,
  segment INTEGER NOT NULL, place INTEGER NOT NULL, first_chunk INTEGER NOT NULL, chunks INTEGER NOT NULL
);
CREATE UNIQUE INDEX file_place ON file (segment, place);
CREATE TABLE chunk (
  segment INTEGER NOT NULL, place INTEGER NOT NULL, file INTEGER NOT NULL, first INTEGER NOT NULL,
  last INTEGER NOT NULL, symbol TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (segment, place)
) WITHOUT ROWID;
CREATE TABLE posting (
  segment INTEGER NOT NULL, term TEXT NOT NULL, in_chunks BLOB NOT NULL, in_files BLOB NOT NULL,
  PRIMARY KEY (segment, term)
) WITHOUT ROWID;
CREATE TABLE path_term (
  term TEXT NOT NULL, file INTEGER NOT NULL, weight INTEGER NOT NULL, PRIMARY KEY (term, file)
) WITHOUT ROWID;
CREATE INDEX path_term_file ON path_term (file);
CREATE TABLE dead (
  segment INTEGER NOT NULL, place INTEGER NOT NULL, first_chunk INTEGER NOT NULL, chunks INTEGER NOT NULL,
  PRIMARY KEY (segment, place)
) WITHOUT ROWID;
CREATE TABLE past (ids BLOB NOT NULL, commits BLOB NOT NULL);
CREATE TABLE changed (place INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
CREATE TABLE change_term (term TEXT PRIMARY KEY, files BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE model (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE vector (model INTEGER NOT NULL, digest TEXT NOT NULL, scale REAL NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX vector_digest ON vector (model, digest);
CREATE TABLE skipped (
  path TEXT PRIMARY KEY, reason TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
  ctime_ns INTEGER NOT NULL
) WITHOUT ROWID;
"""
"""What a search needs of a file or chunk is found by key; nothing is loaded beforehand."""


class Rows(Protocol):
    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class StoreDatabase(Protocol):
    def execute(self, statement: str, values: Sequence[Any] = ()) -> Rows: ...

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> None: ...

    def writing(self) -> AbstractContextManager[None]:
        """Return one transaction that waits for other writers."""
        ...

    def reading(self) -> AbstractContextManager[None]:
        """Let all reads inside see one state."""
        ...

    def close(self) -> None: ...
