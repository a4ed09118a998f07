"""A segment: some files, their chunks, and in which of them each term occurs. It is made once and never changed.

Places are counted within the segment, so a worker can make one without knowing what else is indexed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from hashlib import sha256
from itertools import chain

from nebula.index.chunks.cutting import cut
from nebula.index.chunks.lines import Lines
from nebula.index.chunks.suffixes import language_of
from nebula.index.constants import (
    CHUNK_AVERAGE,
    FILE_AVERAGE,
    MAX_WORDS_A_CHUNK,
    MINIFIED_LINE_BYTES,
    SEGMENT_CHUNKS,
    SYMBOL_WEIGHT,
)
from nebula.index.postings import encode, occurrences_by_count
from nebula.index.ranking.kinds import is_marked_generated
from nebula.index.stores.rows import ChunkRow, FileRow, Segment, Source
from nebula.index.terms.words import TERMS, words_of


class SegmentBuilder:
    def __init__(self) -> None:
        self._files: list[FileRow] = []
        self._chunk_count = 0
        self._in_chunks: defaultdict[str, list[int]] = defaultdict(list)
        self._in_files: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, source: Source) -> bool:
        """Take in a file; False, and nothing done, where the segment has no room left for its chunks."""
        lines = Lines(source.data)
        language = language_of(source.path)
        spans = cut(lines, source.data, language)
        if len(spans) > SEGMENT_CHUNKS:  # thousands of tiny definitions, made by a program
            spans = cut(lines, source.data, "")
        if self._chunk_count + len(spans) > SEGMENT_CHUNKS:
            return False
        chunks: list[ChunkRow] = []
        terms_of_file: list[tuple[str, ...]] = []
        for span in spans:
            text = lines.text(span.start, span.end)
            digest = sha256(f"{span.symbol}\n{text}".encode("utf-8", "replace")).hexdigest()[:32]
            words = words_of(text)[:MAX_WORDS_A_CHUNK] + words_of(span.symbol) * SYMBOL_WEIGHT
            terms = list(map(TERMS.__getitem__, words))
            counts = Counter(chain.from_iterable(terms))
            _collect(self._in_chunks, counts, CHUNK_AVERAGE, self._chunk_count + len(chunks))
            chunks.append((*span, digest))
            terms_of_file += terms
        if len(spans) != 1:
            counts = Counter(chain.from_iterable(terms_of_file))
        _collect(self._in_files, counts, FILE_AVERAGE, len(self._files))
        self._chunk_count += len(chunks)
        generated = is_marked_generated(source.data) or len(source.data) > MINIFIED_LINE_BYTES * max(1, len(lines))
        about = (source.path, source.blob, source.stamp, language)
        self._files.append(FileRow(*about, generated, len(lines), tuple(chunks)))
        return True

    def finished(self) -> Segment:
        in_chunks, in_files = self._in_chunks, self._in_files
        terms = [(term, encode(in_chunks[term]), encode(in_files[term])) for term in sorted(in_chunks)]
        return Segment(tuple(self._files), tuple(terms))


def _collect(postings: defaultdict[str, list[int]], counts: Counter[str], average: int, place: int) -> None:
    """Add the terms of a place, counted, to the postings; `average` is how many a usual place has.

    Most of the time of a first index goes here and into counting, so little of it is done term by term in Python.
    """
    by_count = occurrences_by_count(counts.total(), average, max(counts.values(), default=0), place)
    for term, count in counts.items():
        postings[term].append(by_count[count])
