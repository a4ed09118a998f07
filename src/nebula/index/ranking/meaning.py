"""How near chunks are in meaning to a question, by vectors that are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nebula.index.constants import NEAREST
from nebula.index.contract import Candidate, Store
from nebula.index.embedders.contract import Vector
from nebula.index.vectors import cosine, unit


class Meaning:
    """One question, as one model sees it."""

    def __init__(self, store: Store, model: str, question: Vector, cache: VectorCache) -> None:
        self._store = store
        self._model = model
        self._question = unit(question)
        self._cache = cache

    def similarity(self, candidates: Sequence[Candidate]) -> dict[bytes, float]:
        """Digest → nearness, stretched to 0 … 1: the cosines of many models crowd together."""
        vectors = self._store.vectors(self._model, list({each.digest for each in candidates}))
        near = {digest: cosine(self._question, packed) for digest, packed in vectors.items()}
        low, high = min(near.values(), default=0.0), max(near.values(), default=0.0)
        return {digest: (each - low) / (high - low) if high > low else 0.0 for digest, each in near.items()}

    def add_nearest(self, places: dict[int, list[int]]) -> None:
        for segment, place in self._cache.nearest(self._store, self._model, list(self._question), NEAREST):
            known = places.setdefault(segment, [])
            if place not in known:
                known.append(place)


class VectorCache:
    """All vectors as one matrix, if numpy is there (extra `vectors`); otherwise only what shares words is compared."""

    def __init__(self) -> None:
        self._key: tuple[str, int, int] | None = None
        self._places: list[tuple[int, int]] = []
        self._matrix: Any = None

    def nearest(self, store: Store, model: str, question: Sequence[float], count: int) -> list[tuple[int, int]]:
        try:
            import numpy
        except ImportError:
            return []
        key = (model, store.shape().generation, store.models().get(model, 0))
        if key != self._key:
            self._load(numpy, store, model)
            self._key = key
        if not self._places or self._matrix.shape[1] != len(question):
            return []
        scores = self._matrix @ numpy.asarray(question, numpy.float32)
        best = numpy.argsort(-scores, kind="stable")[:count]
        return [self._places[int(each)] for each in best]

    def _load(self, numpy: Any, store: Store, model: str) -> None:
        rows = list(store.all_vectors(model))
        self._places = [(segment, place) for segment, place, _, _ in rows]
        if rows:
            numbers = numpy.frombuffer(b"".join(data for *_, data in rows), numpy.int8).reshape(len(rows), -1)
            scales = numpy.array([scale for _, _, scale, _ in rows], numpy.float32)
            self._matrix = numbers.astype(numpy.float32) * scales[:, None]
