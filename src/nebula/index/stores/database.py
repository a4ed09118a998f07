"""What the store needs of a database. SQLite and PostgreSQL run the same statements.

A statement is written for SQLite, with `?` for a value; a list is one JSON value:
`IN (SELECT value FROM json_each(?))`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol


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
