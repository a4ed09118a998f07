"""The index in PostgreSQL, for teams: many readers and writers, several projects, vectors searched by pgvector.

Each project has a schema of its own, so that the statements are those of SQLite, one project cannot slow another's
look-ups, and taking one away is one command. Needs the extra `postgres`.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from nebula.index.constants import FORMAT
from nebula.index.errors import IndexFailed
from nebula.index.stores.database import TABLES
from nebula.index.stores.lookups import CANDIDATE_COLUMNS, IN_FEW_PATHS, IN_SCOPE
from nebula.index.stores.rows import Candidate, Scope
from nebula.index.stores.store import Store
from nebula.index.vectors import Packed

if TYPE_CHECKING:
    import psycopg


_LIST = "FROM jsonb_array_elements_text(CAST(? AS jsonb)) AS list(value)"


class PostgresDatabase:
    """A connection that was lost is made again with the next question; only a transaction under way is given up."""

    def __init__(self, url: str, project: str) -> None:
        self._url = url
        self.schema = schema_name(project)
        self._lock = int.from_bytes(hashlib.sha256(self.schema.encode()).digest()[:8], "big", signed=True)
        self._is_inside = False
        self._connection = _connect(url)
        try:
            with _said_plainly():
                self._migrate()
        except BaseException:
            self._connection.close()
            raise

    def execute(self, statement: str, values: Sequence[Any] = ()) -> psycopg.Cursor[Any]:
        # binary: postings come as they are, not as hexadecimal text of twice the size
        return self._ask(lambda connection: connection.execute(_translated(statement), values or None, binary=True))

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        with _said_plainly(), self._connection.cursor() as cursor:
            cursor.executemany(_translated(statement), rows)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Writers of one project wait for each other; those of different projects do not."""
        with self._transaction("BEGIN"):
            self.execute("SELECT pg_advisory_xact_lock(?)", (self._lock,))
            yield

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        with self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"):
            yield

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        """Ask in as few questions as can be: for each the server has to wake up, which takes a while."""
        self.execute(begin)  # a lost connection shows here, where it can still be made again
        self._is_inside = True
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(IndexFailed):  # it is the reason that counts; without a connection all is undone
                self.execute("ROLLBACK")
            raise
        finally:
            self._is_inside = False

    def _ask(self, question: Callable[[psycopg.Connection[Any]], psycopg.Cursor[Any]]) -> psycopg.Cursor[Any]:
        import psycopg

        with _said_plainly():
            try:
                return question(self._connection)
            except psycopg.OperationalError:
                if self._is_inside or not self._connection.closed:
                    raise
            self._connection = _connect(self._url)
            self._connection.execute(f"SET search_path TO {self.schema}, public")
            return question(self._connection)

    def close(self) -> None:
        self._connection.close()

    def _migrate(self) -> None:
        """Make the tables; those of an older format are made anew, as what they hold can be derived again."""
        connection = self._connection
        connection.execute("SET client_min_messages = warning")
        with self.writing():
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {self.schema}")
            connection.execute(f"SET search_path TO {self.schema}, public")
            connection.execute("CREATE TABLE IF NOT EXISTS format (version BIGINT NOT NULL)")
            row = connection.execute("SELECT version FROM format").fetchone()
            if row is not None and row[0] == FORMAT:
                return
            if row is not None and row[0] > FORMAT:  # colleagues use it: it is not ours to throw away
                raise IndexFailed("The index in this database is from a newer version; update nebula.")
            connection.execute(f"DROP SCHEMA {self.schema} CASCADE")
            connection.execute(f"CREATE SCHEMA {self.schema}")
            connection.execute("CREATE TABLE format (version BIGINT NOT NULL)")
            connection.execute("INSERT INTO format VALUES (%s)", (FORMAT,))
            for statement in _tables().split(";\n"):
                connection.execute(statement)
            for column in ("in_chunks", "in_files"):  # numbers that do not compress: do not try
                connection.execute(f"ALTER TABLE posting ALTER {column} SET STORAGE EXTERNAL")
            connection.execute("ALTER TABLE vector ADD COLUMN near public.halfvec")


class PostgresStore(Store):
    """Vectors are also kept as pgvector's own, with an index for each model."""

    def add_vectors(self, model: str, vectors: Sequence[tuple[str, Packed]]) -> None:
        super().add_vectors(model, vectors)
        number = self.model_number(model)
        with self.db.writing():
            self.db.executemany(
                "UPDATE vector SET near = CAST(? AS public.halfvec) WHERE model = ? AND digest = ?",
                [(_as_text(packed), number, digest) for digest, packed in vectors],
            )
            for _, (_, data) in vectors[:1]:
                numbers = f"(near::public.halfvec({len(data)})) public.halfvec_cosine_ops"
                self.db.execute(
                    f"CREATE INDEX IF NOT EXISTS vector_near_{number} ON vector USING hnsw ({numbers})"
                    f" WHERE model = {number}"
                )

    def nearest(self, model: str, question: Sequence[float], count: int, scope: Scope) -> list[tuple[int, int]]:
        number, dims = self.model_number(model), len(question)
        order = f"ORDER BY near::public.halfvec({dims}) <=> CAST(? AS public.halfvec({dims})) LIMIT ?"
        wanted = ("[" + ",".join(f"{number:.5g}" for number in question) + "]", count)
        if scope.is_everything:
            return self.db.execute(
                f"SELECT c.segment, c.place FROM (SELECT digest FROM vector WHERE model = {number} {order}) v"  # noqa: S608 - only numbers of ours
                " JOIN chunk c ON c.digest = v.digest",
                wanted,
            ).fetchall()
        # the index of vectors knows no paths, so those that fit are compared one by one
        return self.db.execute(
            "WITH fitting AS MATERIALIZED (SELECT c.segment, c.place, v.near FROM file f"  # noqa: S608
            " JOIN chunk c ON c.segment = f.segment AND c.place >= f.first_chunk AND c.place < f.first_chunk + f.chunks"
            f" JOIN vector v ON v.model = {number} AND v.digest = c.digest WHERE {IN_SCOPE.replace('path', 'f.path')})"
            f" SELECT segment, place FROM fitting {order}",
            (*scope.values, *wanted),
        ).fetchall()

    def path_terms(self, terms: Sequence[str], at_most: int) -> dict[str, list[tuple[int, int]]]:
        """Return a row for each term: of thousands most of the time would be spent on taking them apart."""
        rows = self.db.execute(
            "SELECT term, array_agg(file), array_agg(weight) FROM path_term WHERE term = ANY(ARRAY("  # noqa: S608
            f"SELECT value FROM unnest(CAST(? AS TEXT[])) AS asked (value) WHERE {IN_FEW_PATHS})) GROUP BY term",
            (list(terms), at_most + 1, at_most),
        )
        return {term: list(zip(files, weights, strict=True)) for term, files, weights in rows.fetchall()}

    def candidates(self, places: Mapping[int, Sequence[int]]) -> list[Candidate]:
        """Return the live chunks at these places by one query for all segments: each query waits for the server."""
        wanted = [(segment, place) for segment, found in places.items() for place in found]
        rows = self.db.execute(
            f"SELECT {CANDIDATE_COLUMNS} FROM unnest(CAST(? AS BIGINT[]), CAST(? AS BIGINT[])) AS w (segment, place)"  # noqa: S608
            " JOIN chunk c ON c.segment = w.segment AND c.place = w.place JOIN file f ON f.id = c.file",
            ([segment for segment, _ in wanted], [place for _, place in wanted]),
        )
        return [Candidate._make(row) for row in rows.fetchall()]


def schema_name(project: str) -> str:
    """Return a name that needs no quotes and is different for each project."""
    plain = re.sub(r"[^a-z0-9]+", "_", project.lower()).strip("_")[:32]
    return f"nebula_{plain}_{hashlib.sha256(project.encode()).hexdigest()[:12]}"


def _connect(url: str) -> psycopg.Connection[Any]:
    try:
        import psycopg
    except ImportError:
        raise IndexFailed("PostgreSQL needs an extra package: `pip install 'psycopg[binary]'`.") from None
    try:
        return psycopg.connect(url, autocommit=True, connect_timeout=10)
    except psycopg.Error as error:
        raise IndexFailed("The index database cannot be reached: {reason}", reason=_first_line(error)) from None


@contextlib.contextmanager
def _said_plainly() -> Iterator[None]:
    import psycopg

    try:
        yield
    except psycopg.OperationalError as error:
        raise IndexFailed("The index database has gone away: {reason}", reason=_first_line(error)) from None
    except psycopg.Error as error:
        raise IndexFailed("The index database refuses: {reason}", reason=_first_line(error)) from None


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


@lru_cache(maxsize=200)
def _translated(statement: str) -> str:
    """Return a statement of the store as PostgreSQL writes it."""
    # an array is looked up in an index; of a list with an unknown length the planner would rather read the whole table
    texts = statement.replace("IN (SELECT value FROM json_each(?))", f"= ANY(ARRAY(SELECT value {_LIST}))")
    numbers = texts.replace(
        "IN (SELECT CAST(value AS INTEGER) FROM json_each(?))", f"= ANY(ARRAY(SELECT CAST(value AS BIGINT) {_LIST}))"
    )
    lists = numbers.replace("FROM json_each(?)", _LIST)
    return lists.replace("AS INTEGER", "AS BIGINT").replace("?", "%s")


def _tables() -> str:
    tables = TABLES.replace("INTEGER PRIMARY KEY", "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY")
    tables = tables.replace("INTEGER", "BIGINT").replace("BLOB", "BYTEA").replace("REAL", "DOUBLE PRECISION")
    return (
        tables.replace("path TEXT", 'path TEXT COLLATE "C"')
        .replace(") WITHOUT ROWID", ")")
        .replace(")\nWITHOUT ROWID", ")")
    )


def _as_text(packed: Packed) -> str:
    scale, data = packed
    return "[" + ",".join(f"{scale * number:.5g}" for number in array("b", data)) + "]"
