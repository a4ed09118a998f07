"""All vectors of a model in memory, for a search by meaning alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any


class VectorMatrix:
    """Needs numpy (extra `vectors`); without it only chunks that share a word with the question are compared."""

    def __init__(self) -> None:
        self._key: object = None
        self._places: list[tuple[int, int]] = []
        self._matrix: Any = None

    def nearest(
        self,
        key: object,
        load: Callable[[], Iterable[tuple[int, int, float, bytes]]],
        question: Sequence[float],
        count: int,
    ) -> list[tuple[int, int]]:
        """(segment, place) of the chunks nearest to the question. Vectors are loaded when `key` changed."""
        try:
            import numpy
        except ImportError:
            return []
        if key != self._key:
            self._load(numpy, list(load()))
            self._key = key
        if not self._places or self._matrix.shape[1] != len(question):
            return []
        scores = self._matrix @ numpy.asarray(question, numpy.float32)
        best = numpy.argsort(-scores, kind="stable")[:count]
        return [self._places[int(each)] for each in best]

    def _load(self, numpy: Any, rows: list[tuple[int, int, float, bytes]]) -> None:
        self._places = [(segment, place) for segment, place, _, _ in rows]
        if rows:
            numbers = numpy.frombuffer(b"".join(data for *_, data in rows), numpy.int8).reshape(len(rows), -1)
            scales = numpy.array([scale for _, _, scale, _ in rows], numpy.float32)
            self._matrix = numbers.astype(numpy.float32) * scales[:, None]
