"""The rows of a store: what goes into it, and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nebula.value import value


class Stamp(NamedTuple):
    """The size and times of a file. While they stay the same, and are not too recent, its content is taken to, as well.

    Programs can set the time of writing (`rsync -t`, `cp -p`, `touch -d`); that of the last change they cannot.
    """

    size: int
    mtime_ns: int
    ctime_ns: int


@value
class Source:
    """A file as it was read."""

    path: str
    data: bytes
    """Its text in UTF-8, whatever encoding it was saved in; `blob` and `stamp` are those of the file itself."""
    blob: str
    stamp: Stamp


ChunkRow = tuple[int, int, str, str]
"""(first line, last line, symbol, digest). The digest is that of symbol and text, which an embedder sees, not of the
path. A plain tuple: processes hand each other tens of thousands."""


@value
class FileRow:
    path: str
    blob: str
    stamp: Stamp
    language: str
    is_generated: bool
    """Its content says so; its path may say so as well."""
    lines: int
    chunks: tuple[ChunkRow, ...]


@value
class Segment:
    files: tuple[FileRow, ...] = ()
    terms: tuple[tuple[str, bytes, bytes], ...] = ()
    """(term, postings in chunks, postings in files), by term."""

    @property
    def chunk_count(self) -> int:
        return sum(len(file.chunks) for file in self.files)


class IndexedFile(NamedTuple):
    """An indexed file, as far as it is needed to tell whether it changed. Thousands are made for each look."""

    blob: str
    stamp: tuple[int, int, int]
    """The numbers of a `Stamp`, which a plain tuple with them equals."""
    committed: bool = False


@value
class Shape:
    """How large the index is, for the rarity of terms, and which places of it are dead."""

    generation: int
    files: int
    chunks: int
    segments: Mapping[int, tuple[int, int]]
    """Segment → (chunks, files), dead ones included."""
    dead_chunks: Mapping[int, frozenset[int]]
    dead_files: Mapping[int, frozenset[int]]


CodeLines = Mapping[tuple[str, int], int]
"""(language, kind) → lines, of the files that are code or declare it."""


class Candidate(NamedTuple):
    """A chunk that may be a hit, with what ranks it. Hundreds are made for each search."""

    segment: int
    place: int
    file: int
    start: int
    end: int
    symbol: str
    digest: str
    path: str
    blob: str
    language: str
    kind: int
    rank: float
    file_place: int
    committed: bool


@value
class Scope:
    """The files that a search is limited to; "" fits all of them."""

    path_prefix: str = ""
    """As the index writes paths."""
    language: str = ""

    @classmethod
    def of(cls, path_prefix: str, language: str) -> Scope:
        """Read a beginning of paths as people write it: `./src` and `/src` are `src`, and `.` is everything."""
        rest = path_prefix.lstrip("/")
        while rest.startswith("./"):
            rest = rest[2:].lstrip("/")
        return cls("" if rest == "." else rest, language)

    @property
    def is_everything(self) -> bool:
        return not (self.path_prefix or self.language)

    @property
    def values(self) -> tuple[str, str, str, str]:
        """Return what a statement with `IN_SCOPE` asks for."""
        return self.path_prefix, self.path_prefix + "\U0010ffff", self.language, self.language

    def has(self, each: Candidate) -> bool:
        return each.path.startswith(self.path_prefix) and self.language in ("", each.language)


EVERYTHING = Scope()


@value
class Unembedded:
    """A text that has no vector yet: these lines of a file with this content."""

    digest: str
    path: str
    blob: str
    start: int
    end: int
    symbol: str
