"""The words of a question against the postings: a score for each chunk and each file."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from itertools import chain

from nebula.index import postings
from nebula.index.constants import COMMON_PATH_TERM, LARGE_CHUNKS, MAX_FILE_POSTINGS, MAX_PATHS, MAX_POSTINGS, PATH_K1
from nebula.index.postings import WEIGHTS
from nebula.index.stores.rows import Shape
from nebula.index.stores.store import Store

_SAMPLE = 4_000
"""Scores looked at to guess where the best begin."""
_NO_SCORE = 1e-300
"""Every score is above it, and what has none is below."""


class SparseRow(dict[int, float]):
    """Only the places that have a score; every other one has none."""

    def __missing__(self, place: int) -> float:
        return 0.0


Row = list[float] | SparseRow
"""A score for each place of a segment; in a very large index only for the places that have one."""
Scores = dict[int, Row]


class Scored:
    """Scores of chunks and files by their words, and of files by their paths."""

    def __init__(self, store: Store, terms: Mapping[str, float]) -> None:
        shape = store.shape()
        found = store.postings(list(terms))
        chunks = {segment: size for segment, (size, _) in shape.segments.items()}
        files = {segment: size for segment, (_, size) in shape.segments.items()}
        in_chunks = _rarities(found, terms, 0, shape.chunks, shape.dead_chunks)
        self.chunks = _score(in_chunks, MAX_POSTINGS, shape.chunks, chunks, shape.dead_chunks)
        in_files = _rarities(found, terms, 1, shape.files, shape.dead_files)
        self.files = _score(in_files, MAX_FILE_POSTINGS, shape.files, files, shape.dead_files)
        self.rarities = {term: rare for rare, term, _ in in_chunks}
        """Of each term that occurs: its weight in the question, times how rare it is."""
        self.paths = _score_paths(store, terms, shape)

    def keep_only(self, places: Mapping[int, Collection[int]]) -> None:
        """Let only the chunks at these places keep their score."""
        for segment, row in self.chunks.items():
            self.chunks[segment] = SparseRow({place: row[place] for place in places.get(segment, ())})


_Found = list[tuple[float, str, list[tuple[int, bytes]]]]
"""(rarity, term, its postings by segment), the rarest first."""


def _rarities(
    found: Mapping[int, Mapping[str, tuple[bytes, bytes]]],
    terms: Mapping[str, float],
    which: int,
    total: int,
    dead: Mapping[int, frozenset[int]],
) -> _Found:
    rarities = []
    for term, weight in terms.items():
        here = [(segment, by_term[term][which]) for segment, by_term in found.items() if term in by_term]
        frequency = sum(_living(data, dead.get(segment)) for segment, data in here)
        if frequency:
            rarities.append((weight * rarity(total, frequency), term, here))
    rarities.sort(key=lambda each: -each[0])
    return rarities


def _score(
    rarities: _Found, room: int, total: int, sizes: Mapping[int, int], dead: Mapping[int, frozenset[int]]
) -> Scores:
    scores: Scores = {segment: [0.0] * size if total < LARGE_CHUNKS else SparseRow() for segment, size in sizes.items()}
    for rare, _, here in rarities:
        size = sum(postings.count(data) for _, data in here)
        for segment, data in here:
            _accumulate(scores[segment], rare, data, min(1.0, room / size))
        room -= size
        if room <= 0:
            break
    for segment, places in dead.items():
        row = scores[segment]
        for place in places:
            row[place] = 0.0
    return scores


def _accumulate(row: Row, rare: float, data: bytes, share: float) -> None:
    """Add a term's weights; where not all of them can be looked at, the heaviest `share`."""
    room = postings.count(data) * share if share < 1 else math.inf
    if isinstance(row, list):
        _add_to_all(row, rare, data, room)
        return
    scored = row.get  # a third less time than to ask the row for what it lacks
    for level, places in postings.by_level(data):
        weight = rare * WEIGHTS[level]
        for place in places:
            row[place] = scored(place, 0.0) + weight
        room -= len(places)
        if room <= 0:
            break


def _add_to_all(row: list[float], rare: float, data: bytes, room: float) -> None:
    """Most of a search is spent here, on thousands of levels of which many have one place: no slice is made of that."""
    every = postings.places(data)
    at = 0
    for level, size in postings.levels(data):
        weight = rare * WEIGHTS[level]
        if size == 1:
            row[every[at]] += weight
            at += 1
        else:
            for place in every[at : at + size]:
                row[place] += weight
            at += size
        if at >= room:
            break


def _living(data: bytes, dead: frozenset[int] | None) -> int:
    return postings.count(data) - (len(dead.intersection(postings.places(data))) if dead else 0)


def _score_paths(store: Store, terms: Mapping[str, float], shape: Shape) -> dict[int, float]:
    scores: dict[int, float] = {}
    common = min(MAX_PATHS, max(8, int(shape.files * COMMON_PATH_TERM)))
    for term, files in store.path_terms(list(terms), common).items():
        rare = terms[term] * rarity(shape.files, len(files))
        for file, weight in files:
            scores[file] = scores.get(file, 0.0) + rare * weight / (weight + PATH_K1)
    return scores


def rarity(total: int, having: int) -> float:
    """Return how much it says that a place has a term which so many of all places have."""
    return math.log(1 + (total - having + 0.5) / (having + 0.5))


def best_places(scores: Scores, limit: int) -> dict[int, list[int]]:
    """Return the places with the highest scores, at least `limit` of them where so many score at all."""
    threshold = _threshold(scores, limit)
    while True:
        found = []
        for segment, row in scores.items():
            found += [(score, segment, place) for place, score in _at_least(row, threshold)]
        if len(found) >= limit or threshold <= _NO_SCORE:
            break
        threshold = threshold / 2 if threshold > 0.01 else _NO_SCORE
    if len(found) > limit:
        found.sort(reverse=True)
        del found[limit:]
    places: dict[int, list[int]] = {}
    for _, segment, place in found:
        places.setdefault(segment, []).append(place)
    return places


def _at_least(row: Row, threshold: float) -> Iterator[tuple[int, float]]:
    """Yield place and score of the best. They are few: to look for each of their places takes less than to count them
    all."""
    if not isinstance(row, list):
        yield from ((place, score) for place, score in row.items() if score >= threshold)
        return
    place = -1
    for score in [score for score in row if score >= threshold]:
        place = row.index(score, place + 1)
        yield place, score


def _threshold(scores: Scores, limit: int) -> float:
    """Return a score that rather more than `limit` places exceed, from a sample of them."""
    step = max(1, sum(map(len, scores.values())) // _SAMPLE)
    sample = sorted(filter(None, chain.from_iterable(_numbers(row)[::step] for row in scores.values())))
    wanted = limit * 3 // (step * 2) + 4
    return sample[-wanted] if wanted <= len(sample) else _NO_SCORE


def highest(scores: Scores) -> float:
    return max((max(_numbers(row), default=0.0) for row in scores.values()), default=0.0)


def _numbers(row: Row) -> list[float]:
    return row if isinstance(row, list) else list(row.values())
