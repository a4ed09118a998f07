"""The ranking of a search: words of the chunk, of its file, of its path; who refers to it; what kind of file it is."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from functools import lru_cache

from nebula.index.constants import (
    CANDIDATES,
    DECLARATION_PENALTY,
    DUPLICATE_PENALTY,
    FILE_CANDIDATES,
    FILE_WEIGHT,
    KIND_PENALTY,
    NAME_WEIGHT,
    OTHERS,
    OTHERS_WEIGHT,
    PATH_WEIGHT,
    RANK_WEIGHT,
    VECTOR_WEIGHT,
)
from nebula.index.ranking.kinds import CODE, DECLARATION, asked_for
from nebula.index.ranking.meaning import Meaning
from nebula.index.ranking.scoring import Scored, best_places, highest
from nebula.index.stores.rows import Candidate
from nebula.index.stores.store import Store
from nebula.index.terms.question import question_terms
from nebula.index.terms.words import parts_of

_REMEMBERED_NAMES = 20_000
_PENALTIES = {CODE: 0.0, DECLARATION: DECLARATION_PENALTY}


def rank(
    store: Store,
    question: str,
    limit: int,
    *,
    path_prefix: str = "",
    language: str = "",
    meaning: Meaning | None = None,
) -> list[tuple[float, Candidate]]:
    """The best chunks with their scores, the best first. `meaning` is what an embedder makes of the question."""
    terms = question_terms(question)
    if not terms and meaning is None:
        return []
    scored = Scored(store, terms)
    if path_prefix or language:
        scored.keep_only(store.places_of(path_prefix, language))
    places = best_places(scored.chunks, CANDIDATES)
    _add_best_of_files(store, scored, places)
    if meaning is not None:
        meaning.add_nearest(places, path_prefix, language)
    candidates = [
        each
        for each in store.candidates(places)
        if each.path.startswith(path_prefix) and language in ("", each.language)
    ]
    asked = asked_for(question)
    own = _own_scores(scored, candidates)
    own_top = max(own, default=0.0) or 1.0
    others = _other_scores(own, candidates)
    similar = meaning.similarity(candidates) if meaning is not None else {}
    file_top = highest(scored.files) or 1.0
    ranked = []
    for score, c in zip(own, candidates, strict=True):
        whole = FILE_WEIGHT * scored.files[c.segment][c.file_place] / file_top
        penalty = 0.0 if c.kind in asked else _PENALTIES.get(c.kind, KIND_PENALTY)
        near = VECTOR_WEIGHT * similar.get(c.digest, 0.0)
        words = (score + OTHERS_WEIGHT * others[c.file]) / own_top
        ranked.append((words + whole + near + RANK_WEIGHT * c.rank - penalty, c))
    ranked.sort(key=_order)
    return _without_copies(ranked)[:limit]


def _own_scores(scored: Scored, candidates: list[Candidate]) -> list[float]:
    """By the words of the chunk, of its path and of the names it defines."""
    return [
        scored.chunks[c.segment][c.place]
        + PATH_WEIGHT * scored.paths.get(c.file, 0.0)
        + NAME_WEIGHT * _name_score(c.symbol, scored.rarities)
        for c in candidates
    ]


def _name_score(symbol: str, rarities: Mapping[str, float]) -> float:
    """Return what the parts of the best name weigh that were asked for, times how large a share of it they are."""
    best = 0.0
    for parts in _names(symbol):
        asked = [rarities[part] for part in parts if part in rarities]
        if asked:
            best = max(best, sum(asked) * math.sqrt(len(asked) / len(parts)))
    return best


@lru_cache(_REMEMBERED_NAMES)
def _names(symbol: str) -> tuple[frozenset[str], ...]:
    """The parts of each name; of `Session.save` that of the method."""
    return tuple(frozenset(parts_of(name.rpartition(".")[2])) for name in symbol.split())


def _other_scores(own: list[float], candidates: list[Candidate]) -> dict[int, float]:
    """File → what its next best chunks score on average."""
    by_file: dict[int, list[float]] = {}
    for score, c in zip(own, candidates, strict=True):
        by_file.setdefault(c.file, []).append(score)
    return {file: sum(heapq.nlargest(OTHERS + 1, scores)[1:]) / OTHERS for file, scores in by_file.items()}


def _add_best_of_files(store: Store, scored: Scored, places: dict[int, list[int]]) -> None:
    """The best chunk of the files whose path says most, though their text may not have a word of the question."""
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
