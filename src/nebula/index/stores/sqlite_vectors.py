"""Vectors in SQLite, keyed by model and by what was embedded: edits, renames and branches find them again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager

from nebula.index.contract import Unembedded
from nebula.index.vectors import Packed


class SqliteVectors:
    db: sqlite3.Connection

    def writing(self) -> AbstractContextManager[sqlite3.Connection]:
        raise NotImplementedError

    def meta(self, key: str) -> str:
        raise NotImplementedError

    def models(self) -> dict[str, int]:
        """Name → chunks that have a vector of it."""
        return dict(
            self.db.execute(
                "SELECT m.name, (SELECT count(*) FROM chunk c JOIN vector v ON v.model = m.id AND v.digest = c.digest)"
                " FROM model m"
            ).fetchall()
        )

    def unembedded(self, model: str, limit: int) -> list[Unembedded]:
        rows = self.db.execute(
            "SELECT c.digest, f.path, f.blob, c.first, c.last, c.symbol FROM chunk c JOIN file f ON f.id = c.file"
            " WHERE NOT EXISTS (SELECT 1 FROM vector v WHERE v.digest = c.digest"
            " AND v.model = (SELECT id FROM model WHERE name = ?)) GROUP BY c.digest LIMIT ?",
            (model, limit),
        )
        return [Unembedded(*row) for row in rows]

    def add_vectors(self, model: str, vectors: Sequence[tuple[bytes, Packed]]) -> None:
        with self.writing() as db:
            db.execute("INSERT OR IGNORE INTO model (name) VALUES (?)", (model,))
            (number,) = db.execute("SELECT id FROM model WHERE name = ?", (model,)).fetchone()
            db.executemany(
                "INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?)",
                [(number, digest, scale, data) for digest, (scale, data) in vectors],
            )
            db.execute(
                "INSERT INTO meta VALUES ('embedded_total', ?) ON CONFLICT (key) DO UPDATE"
                " SET value = CAST(value AS INTEGER) + ?",
                (str(len(vectors)), len(vectors)),
            )

    def vectors(self, model: str, digests: Sequence[bytes]) -> dict[bytes, Packed]:
        number = self._number(model)
        found = {}
        for digest in digests:
            row = self.db.execute(
                "SELECT scale, data FROM vector WHERE model = ? AND digest = ?", (number, digest)
            ).fetchone()
            if row is not None:
                found[digest] = row
        return found

    def all_vectors(self, model: str) -> Iterator[tuple[int, int, float, bytes]]:
        """(segment, place, scale, data) of every chunk that has one."""
        return self.db.execute(
            "SELECT c.segment, c.place, v.scale, v.data FROM chunk c"
            " JOIN vector v ON v.digest = c.digest AND v.model = ?",
            (self._number(model),),
        )

    def _number(self, model: str) -> int:
        row = self.db.execute("SELECT id FROM model WHERE name = ?", (model,)).fetchone()
        return int(row[0]) if row else -1

    def drop_model(self, model: str) -> None:
        with self.writing() as db:
            db.execute("DELETE FROM vector WHERE model = (SELECT id FROM model WHERE name = ?)", (model,))
            db.execute("DELETE FROM model WHERE name = ?", (model,))
