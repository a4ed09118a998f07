"""What the subjects of past commits say of files: who was changed for this before may have to be again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nebula.index import postings
from nebula.index.stores.store import Store


class PastWords:
    """How much of a question the subjects of the commits that changed a file have, rare words more than common ones.

    Whether they say a word counts, not how often: a file that is changed every week says everything often.
    """

    def __init__(self, store: Store, rarities: Mapping[str, float]) -> None:
        """`rarities`: the terms of the question, each with what it weighs."""
        self._store = store
        self._total = sum(rarities.values())
        self._scores: dict[int, float] = {}
        for term, data in store.changed_with(list(rarities)).items():
            rare = rarities[term]
            for place in postings.places(data):
                self._scores[place] = self._scores.get(place, 0.0) + rare

    def of(self, paths: Iterable[str]) -> dict[str, float]:
        """Path → the share of the question, of those files whose past has some of it."""
        if not self._scores:
            return {}
        places = self._store.changed_places(set(paths))
        return {path: self._scores[place] / self._total for path, place in places.items() if place in self._scores}
