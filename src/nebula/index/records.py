"""A file as it was read, and a segment as it is kept."""

from __future__ import annotations

from nebula.value import value


@value
class Source:
    """A file as it was read."""

    path: str
    data: bytes
    blob: str
    size: int
    mtime_ns: int


@value
class ChunkRow:
    start: int
    end: int
    symbol: str
    digest: str
    """Of symbol and text: what an embedder would see, never the path."""


@value
class FileRow:
    path: str
    blob: str
    size: int
    mtime_ns: int
    language: str
    is_generated: bool
    """Its content says so; its path may say so as well."""
    lines: int
    chunks: tuple[ChunkRow, ...]


@value
class Segment:
    files: tuple[FileRow, ...]
    terms: tuple[tuple[str, bytes, bytes], ...]
    """(term, postings in chunks, postings in files), by term."""

    @property
    def chunk_count(self) -> int:
        return sum(len(file.chunks) for file in self.files)
