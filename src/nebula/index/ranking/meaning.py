"""How near chunks are in meaning to a question, by vectors that are there."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.index.constants import NEAREST
from nebula.index.embedders.contract import Vector
from nebula.index.stores.rows import Candidate, Scope
from nebula.index.stores.store import Store
from nebula.index.vectors import cosine, unit


class Meaning:
    """One question, as one model sees it."""

    def __init__(self, store: Store, model: str, question: Vector) -> None:
        self._store = store
        self._model = model
        self._question = unit(question)

    def similarity(self, candidates: Sequence[Candidate]) -> dict[str, float]:
        """Digest → nearness, stretched to 0 … 1: the cosines of many models crowd together."""
        vectors = self._store.vectors(self._model, list({each.digest for each in candidates}))
        near = {digest: cosine(self._question, packed) for digest, packed in vectors.items()}
        low, high = min(near.values(), default=0.0), max(near.values(), default=0.0)
        return {digest: (each - low) / (high - low) if high > low else 0.0 for digest, each in near.items()}

    def add_nearest(self, places: dict[int, list[int]], scope: Scope) -> None:
        """Add the chunks nearest in meaning, of the files in the scope, to the places by segment."""
        for segment, place in self._store.nearest(self._model, self._question, NEAREST, scope):
            known = places.setdefault(segment, [])
            if place not in known:
                known.append(place)
