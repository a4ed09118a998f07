"""The ranking of a search: which chunks may be meant, and in which order they stand."""

from __future__ import annotations

import heapq

from nebula.index.constants import CANDIDATES, DUPLICATE_PENALTY, FILE_CANDIDATES
from nebula.index.ranking.history import shares_in_the_past
from nebula.index.ranking.kinds import asked_for
from nebula.index.ranking.meaning import Meaning
from nebula.index.ranking.parts import Measured, Parts, measure_candidates
from nebula.index.ranking.scoring import Scored, best_places
from nebula.index.stores.rows import EVERYTHING, Candidate, Scope
from nebula.index.stores.store import Store
from nebula.index.terms.question import question_terms


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
        return Measured([], [], set(), {}, {})
    scored = Scored(store, terms)
    if not scope.is_everything:
        scored.keep_only(store.places_of(scope))
    places = best_places(scored.chunks, CANDIDATES)
    _add_best_of_files(store, scored, places)
    if meaning is not None:
        meaning.add_nearest(places, scope)
    candidates = store.candidates(places)
    if not scope.is_everything:
        candidates = list(filter(scope.has, candidates))
    measured = measure_candidates(scored, candidates, store.code_lines(), asked_for(question))
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
    if len(seen) < len(ranked):
        result.sort(key=_order)
    return result
