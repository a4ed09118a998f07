"""The ranking of a search: which chunks may be meant, and in which order they stand."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence

from nebula.index import postings
from nebula.index.constants import CANDIDATES, DUPLICATE_PENALTY, FILE_CANDIDATES, NEAREST
from nebula.index.embedders.contract import Vector
from nebula.index.ranking.kinds import asked_for
from nebula.index.ranking.parts import Measured, Parts, measure_candidates
from nebula.index.ranking.scoring import Scored, best_places
from nebula.index.stores.rows import EVERYTHING, Candidate, Scope
from nebula.index.stores.store import Store
from nebula.index.terms.question import question_terms
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


def rank(
    store: Store, question: str, limit: int, scope: Scope = EVERYTHING, meaning: Meaning | None = None
) -> list[tuple[float, Candidate]]:
    """Return the best chunks with their scores, the best first. `meaning` is what an embedder makes of the question."""
    found = _measured(store, question, scope, meaning)
    ranked = list(zip(found.totals(), found.candidates, strict=True))
    ranked.sort(key=_order)
    return _without_copies(ranked)[:limit]


def measure(
    store: Store, question: str, scope: Scope = EVERYTHING, meaning: Meaning | None = None
) -> list[tuple[Candidate, Parts]]:
    """Return the chunks that may be meant, in no order, each with the parts of its score."""
    found = _measured(store, question, scope, meaning)
    return list(zip(found.candidates, found.parts(), strict=True))


def _measured(store: Store, question: str, scope: Scope, meaning: Meaning | None) -> Measured:
    terms = question_terms(question)
    if not terms and meaning is None:
        return Measured([], [], set(), {})
    scored = Scored(store, terms)
    if not scope.is_everything:
        scored.keep_only(store.places_of(scope))
    places = best_places(scored.chunks, CANDIDATES)
    _add_best_of_files(store, scored, places)
    if meaning is not None:
        meaning.add_nearest(places, scope)
    candidates = list(filter(scope.has, store.candidates(places)))
    measured = measure_candidates(scored, candidates, store.shape(), asked_for(question))
    history = shares_in_the_past(store, scored.rarities, {c.path for c in candidates})
    if history:
        for number in measured.best:  # it speaks of the file, not of every chunk
            if (share := history.get(candidates[number].path)) is not None:
                measured.add(number, "history", share)
    if meaning is not None:
        similar = meaning.similarity(candidates)
        for number, candidate in enumerate(candidates):
            measured.add(number, "meaning", similar.get(candidate.digest, 0.0))
    return measured


def _add_best_of_files(store: Store, scored: Scored, places: dict[int, list[int]]) -> None:
    """Add the best chunk of the files whose path says most, though their text may not have a word of the question."""
    files = heapq.nlargest(FILE_CANDIDATES, scored.paths, key=lambda file: (scored.paths[file], -file))
    for segment, first, count in store.chunks_of(files):
        row = scored.chunks[segment]
        best = max(range(first, first + count), key=lambda place: (row[place], -place), default=-1)
        if best >= 0 and best not in (known := places.setdefault(segment, [])):
            known.append(best)


def _order(each: tuple[float, Candidate]) -> tuple[float, str, int]:
    return -each[0], each[1].path, each[1].start


def _without_copies(ranked: list[tuple[float, Candidate]]) -> list[tuple[float, Candidate]]:
    seen: set[str] = set()
    result = []
    for score, candidate in ranked:
        if candidate.digest in seen:
            score -= DUPLICATE_PENALTY
        seen.add(candidate.digest)
        result.append((score, candidate))
    result.sort(key=_order)
    return result


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
