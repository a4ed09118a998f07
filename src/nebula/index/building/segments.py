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
    CHUNK_B,
    CHUNK_K1,
    FILE_AVERAGE,
    FILE_B,
    FILE_K1,
    MAX_WORDS_A_CHUNK,
    MINIFIED_LINE_BYTES,
    SEGMENT_CHUNKS,
    SYMBOL_WEIGHT,
)
from nebula.index.postings import encode, levels_for, occurrence
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
        words: list[str] = []
        names: list[str] = []
        chunks = []
        for span in spans:
            text = lines.text(span.start, span.end)
            digest = sha256(f"{span.symbol}\n{text}".encode("utf-8", "replace")).hexdigest()[:32]
            chunks.append(ChunkRow(span.start, span.end, span.symbol, digest))
            here, named = words_of(text)[:MAX_WORDS_A_CHUNK], words_of(span.symbol)
            counts, length = _counted(here, named)
            levels = levels_for(CHUNK_K1, CHUNK_B, CHUNK_AVERAGE, length, max(counts.values(), default=0))
            _collect(self._in_chunks, counts, levels, self._chunk_count)
            self._chunk_count += 1
            words += here
            names += named
        if len(chunks) != 1:
            counts, length = _counted(words, names)
        levels = levels_for(FILE_K1, FILE_B, FILE_AVERAGE, length, max(counts.values(), default=0))
        _collect(self._in_files, counts, levels, len(self._files))
        generated = is_marked_generated(source.data) or len(source.data) > MINIFIED_LINE_BYTES * max(1, len(lines))
        about = (source.path, source.blob, source.stamp, language)
        self._files.append(FileRow(*about, generated, len(lines), tuple(chunks)))
        return True

    def finished(self) -> Segment:
        in_files = self._in_files
        terms = [(term, encode(found), encode(in_files[term])) for term, found in sorted(self._in_chunks.items())]
        return Segment(tuple(self._files), tuple(terms))


def _counted(words: list[str], names: list[str]) -> tuple[dict[str, int], int]:
    """Return each term with how often it counts, and how many there are.

    Most of the time of a first index goes here, so nothing in it is done word by word in Python.
    """
    counts = Counter(chain.from_iterable(map(TERMS.__getitem__, words + names * SYMBOL_WEIGHT)))
    return counts, counts.total()


def _collect(postings: defaultdict[str, list[int]], counts: dict[str, int], levels: list[int], place: int) -> None:
    by_count = [occurrence(level, place) for level in levels]
    for term, times in counts.items():
        postings[term].append(by_count[times])
