"""The words of a question against the postings: a score for each chunk and each file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from nebula.index import postings
from nebula.index.constants import COMMON_PATH_TERM, MAX_POSTINGS, PATH_K1
from nebula.index.contract import Shape, Store
from nebula.index.postings import WEIGHTS

_SAMPLE = 4_000
"""Scores looked at to guess where the best begin."""

Scores = dict[int, list[float]]
"""Segment → a score for each of its places."""


class Scored:
    """Scores of chunks and files by their words, and of files by their paths."""

    def __init__(self, store: Store, terms: Mapping[str, float]) -> None:
        shape = store.shape()
        found = store.postings(list(terms))
        chunks = {segment: size for segment, (size, _) in shape.segments.items()}
        files = {segment: size for segment, (_, size) in shape.segments.items()}
        self.chunks = _score(found, terms, 0, shape.chunks, chunks, shape.dead_chunks)
        self.files = _score(found, terms, 1, shape.files, files, shape.dead_files)
        self.paths = _score_paths(store, terms, shape)

    def keep_only(self, places: Mapping[int, Sequence[tuple[int, int]]]) -> None:
        """Only chunks in these ranges keep their score."""
        for segment, row in self.chunks.items():
            kept = [0.0] * len(row)
            for first, count in places.get(segment, ()):
                kept[first : first + count] = row[first : first + count]
            self.chunks[segment] = kept


def _score(
    found: Mapping[int, Mapping[str, tuple[bytes, bytes]]],
    terms: Mapping[str, float],
    which: int,
    total: int,
    sizes: Mapping[int, int],
    dead: Mapping[int, frozenset[int]],
) -> Scores:
    scores = {segment: [0.0] * size for segment, size in sizes.items()}
    blocks = []
    for term, weight in terms.items():
        here = [(segment, by_term[term][which]) for segment, by_term in found.items() if term in by_term]
        frequency = sum(_living(data, dead.get(segment)) for segment, data in here)
        if frequency:
            rarity = weight * math.log(1 + (total - frequency + 0.5) / (frequency + 0.5))
            blocks += [
                (rarity * WEIGHTS[level], segment, places)
                for segment, data in here
                for level, places in postings.by_level(data)
            ]
    if sum(len(places) for _, _, places in blocks) > MAX_POSTINGS:
        blocks.sort(key=lambda block: -block[0])
    _accumulate(scores, blocks)
    for segment, places in dead.items():
        row = scores[segment]
        for place in places:
            row[place] = 0.0
    return scores


def _accumulate(scores: Scores, blocks: Sequence[tuple[float, int, Sequence[int]]]) -> None:
    room = MAX_POSTINGS
    for weight, segment, places in blocks:
        row = scores[segment]
        for place in places:
            row[place] += weight
        room -= len(places)
        if room <= 0:
            break


def _living(data: bytes, dead: frozenset[int] | None) -> int:
    return postings.count(data) - (len(dead.intersection(postings.places(data))) if dead else 0)


def _score_paths(store: Store, terms: Mapping[str, float], shape: Shape) -> dict[int, float]:
    scores: dict[int, float] = {}
    common = max(8, int(shape.files * COMMON_PATH_TERM))
    for term, files in store.path_terms(list(terms), common).items():
        rarity = terms[term] * math.log(1 + (shape.files - len(files) + 0.5) / (len(files) + 0.5))
        for file, weight in files:
            scores[file] = scores.get(file, 0.0) + rarity * weight / (weight + PATH_K1)
    return scores


def best_places(scores: Scores, limit: int) -> dict[int, list[int]]:
    """The places with the highest scores, at least `limit` of them where so many score at all."""
    threshold = _threshold(scores, limit)
    while True:
        found = []
        for segment, row in scores.items():
            found += [(score, segment, i) for i, score in enumerate(row) if score > threshold]
        if len(found) >= limit or threshold <= 0.0:
            break
        threshold = threshold / 2 if threshold > 0.01 else 0.0
    if len(found) > limit:
        found.sort(reverse=True)
        del found[limit:]
    places: dict[int, list[int]] = {}
    for _, segment, place in found:
        places.setdefault(segment, []).append(place)
    return places


def _threshold(scores: Scores, limit: int) -> float:
    """A score that rather more than `limit` places exceed, from a sample of them."""
    step = max(1, sum(map(len, scores.values())) // _SAMPLE)
    sample = sorted(score for row in scores.values() for score in row[::step] if score)
    wanted = limit * 3 // (step * 2) + 4
    return sample[-wanted] if wanted <= len(sample) else 0.0
