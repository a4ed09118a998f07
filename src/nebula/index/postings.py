"""Postings: in which places (chunks or files of a segment) a term occurs, and how much each occurrence weighs.

The weight is the part of BM25 that depends on the place alone, kept as one of `LEVELS` levels. Places of one level
stand together, the heaviest first, so that a search adds one number to many places, and can stop early.

    count of levels (1 byte) | level (1 byte), count of places (2 bytes) … | places (2 bytes each) …
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from struct import Struct

from nebula.index.constants import BM25_B, BM25_K1, LEVELS

_SHIFT = 16
_MASK = (1 << _SHIFT) - 1
_TOP = LEVELS - 1
_ONE = Struct("<BBHH")
_LEVEL = Struct("<BH")
_SWAPS = sys.byteorder == "big"

WEIGHTS = [(level + 0.5) / LEVELS for level in range(LEVELS)]


def occurrence(level: int, place: int) -> int:
    """Return level and place as one number, as `encode` wants them: in order, the heaviest come first."""
    return (_TOP - level) << _SHIFT | place


def occurrences_by_count(length: int, average: int, most: int, place: int) -> list[int]:
    """Return the `occurrence` of a term by how often a place of `length` terms has it, for counts up to `most`."""
    norm = BM25_K1 * (1 - BM25_B + BM25_B * length / average)
    return [(_TOP - int(LEVELS * count / (count + norm))) << _SHIFT | place for count in range(most + 1)]


def encode(occurrences: list[int]) -> bytes:
    if len(occurrences) == 1:  # most terms of a project occur once
        return _ONE.pack(1, _TOP - (occurrences[0] >> _SHIFT), 1, occurrences[0] & _MASK)
    occurrences.sort()
    head = bytearray(1)
    start, end = 0, len(occurrences)
    while start < end:
        step = occurrences[start] >> _SHIFT
        past = bisect_left(occurrences, (step + 1) << _SHIFT, start)
        head += _LEVEL.pack(_TOP - step, past - start)
        start = past
    head[0] = len(head) // _LEVEL.size
    places = array("H", [each & _MASK for each in occurrences])
    if _SWAPS:
        places.byteswap()
    return bytes(head) + places.tobytes()


def count(data: bytes) -> int:
    """Return how many places there are."""
    return (len(data) - 1 - 3 * data[0]) // 2


def places(data: bytes) -> array[int]:
    """Return all places, the heaviest first."""
    found = array("H", data[1 + 3 * data[0] :])
    if _SWAPS:
        found.byteswap()
    return found


def levels(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield each level with its count of places, from the heaviest down."""
    return _LEVEL.iter_unpack(data[1 : 1 + _LEVEL.size * data[0]])


def by_level(data: bytes) -> Iterator[tuple[int, array[int]]]:
    """Yield each level with its places, from the heaviest down."""
    every = places(data)
    at = 0
    for level, size in levels(data):
        yield level, every[at : at + size]
        at += size


def moved(data: bytes, new_places: Mapping[int, int]) -> list[int]:
    """Return the occurrences at their new places, for `encode`; those without one are left out."""
    return [
        occurrence(level, new_places[place])
        for level, found in by_level(data)
        for place in found
        if place in new_places
    ]
