"""What the subjects of past commits say of files: who was changed for this before may have to be again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nebula.index import postings
from nebula.index.stores.store import Store


def shares_in_the_past(store: Store, rarities: Mapping[str, float], paths: Iterable[str]) -> dict[str, float]:
    """Return path → how much of a question the subjects of the commits that changed the file have, rare words more than
    common ones. `rarities`: the terms of the question, each with what it weighs.

    Whether they say a word counts, not how often: a file that is changed every week says everything often.
    """
    places = store.changed_places(paths)
    if not places:
        return {}
    scores = dict.fromkeys(places.values(), 0.0)
    wanted = frozenset(scores)
    for term, data in store.changed_with(list(rarities)).items():
        for place in wanted.intersection(postings.places(data)):
            scores[place] += rarities[term]
    total = sum(rarities.values())
    return {path: scores[place] / total for path, place in places.items() if scores[place]}
