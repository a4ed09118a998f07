"""Vectors in a table, keyed by model and by what was embedded: edits, renames and branches find them again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from nebula.index.stores.lookups import Lookups
from nebula.index.stores.rows import Scope, Unembedded
from nebula.index.vectors import Packed


class Vectors(Lookups):
    _matrix: _VectorMatrix | None = None

    def models(self) -> dict[str, int]:
        """Name → how many chunks have a vector of it."""
        rows = self.db.execute(
            "SELECT m.name, (SELECT count(*) FROM chunk c JOIN vector v ON v.model = m.id AND v.digest = c.digest)"
            " FROM model m"
        )
        return dict(rows)

    def unembedded(self, model: str, limit: int) -> list[Unembedded]:
        rows = self.db.execute(
            "SELECT c.digest, f.path, f.blob, c.first, c.last, c.symbol FROM chunk c JOIN file f ON f.id = c.file"
            " WHERE NOT EXISTS (SELECT 1 FROM vector v WHERE v.digest = c.digest AND v.model = ?) LIMIT ?",
            (self.model_number(model), limit),
        )
        return [Unembedded(*row) for row in rows]

    def add_vectors(self, model: str, vectors: Sequence[tuple[str, Packed]]) -> None:
        with self.db.writing():
            self.db.execute("INSERT INTO model (name) VALUES (?) ON CONFLICT DO NOTHING", (model,))
            number = self.model_number(model)
            self.db.executemany(
                "INSERT INTO vector (model, digest, scale, data) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [(number, digest, scale, data) for digest, (scale, data) in vectors],
            )
            self.add_to_meta("embedded_total", len(vectors))

    def vectors(self, model: str, digests: Sequence[str]) -> dict[str, Packed]:
        rows = self.db.execute(
            "SELECT digest, scale, data FROM vector WHERE model = ? AND digest IN (SELECT value FROM json_each(?))",
            (self.model_number(model), json.dumps(digests)),
        )
        return {digest: (scale, data) for digest, scale, data in rows}

    def nearest(self, model: str, question: Sequence[float], count: int, scope: Scope) -> list[tuple[int, int]]:
        """Return (segment, place) of the chunks nearest in meaning; none where the means to search them are missing."""
        if self._matrix is None:
            self._matrix = _VectorMatrix()
        key = (model, self.shape().generation, self.models().get(model, 0))
        every = self._matrix.nearest(key, lambda: self._all_vectors(model), question)
        if not scope.is_everything:
            fitting = self.places_of(scope)
            every = ((segment, place) for segment, place in every if place in fitting.get(segment, ()))
        return list(islice(every, count))

    def _all_vectors(self, model: str) -> Iterator[tuple[int, int, float, bytes]]:
        yield from self.db.execute(
            "SELECT c.segment, c.place, v.scale, v.data FROM chunk c"
            " JOIN vector v ON v.digest = c.digest AND v.model = ?",
            (self.model_number(model),),
        )

    def model_number(self, model: str) -> int:
        row = self.db.execute("SELECT id FROM model WHERE name = ?", (model,)).fetchone()
        return int(row[0]) if row else -1


class _VectorMatrix:
    """All vectors of a model in memory, for a search by meaning alone.

    Needs numpy (extra `vectors`); without it only chunks that share a word with the question are compared.
    """

    def __init__(self) -> None:
        self._key: object = None
        self._places: list[tuple[int, int]] = []
        self._matrix: Any = None

    def nearest(
        self,
        key: object,
        load: Callable[[], Iterable[tuple[int, int, float, bytes]]],
        question: Sequence[float],
    ) -> Iterator[tuple[int, int]]:
        """Yield (segment, place) of all chunks, the nearest to the question first. Loads vectors when `key` changed."""
        try:
            import numpy
        except ImportError:
            return
        if key != self._key:
            self._load(numpy, list(load()))
            self._key = key
        if not self._places or self._matrix.shape[1] != len(question):
            return
        scores = self._matrix @ numpy.asarray(question, numpy.float32)
        for each in numpy.argsort(-scores, kind="stable"):
            yield self._places[int(each)]

    def _load(self, numpy: Any, rows: list[tuple[int, int, float, bytes]]) -> None:
        self._places = [(segment, place) for segment, place, _, _ in rows]
        if rows:
            numbers = numpy.frombuffer(b"".join(data for *_, data in rows), numpy.int8).reshape(len(rows), -1)
            scales = numpy.array([scale for _, _, scale, _ in rows], numpy.float32)
            self._matrix = numbers.astype(numpy.float32) * scales[:, None]
