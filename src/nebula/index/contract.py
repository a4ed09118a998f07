"""What a store of the index does. SQLite is the default; PostgreSQL serves teams. Both pass the same tests.

A store keeps files, their chunks and postings in segments that never change. Replacing a file adds it to a new
segment and marks its old place dead; a rename only moves the path. Each method that changes something is one
transaction: it is done wholly or, after a crash, not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from nebula.value import value

if TYPE_CHECKING:
    from nebula.index.records import Segment
    from nebula.index.stores.database import StoreDatabase
    from nebula.index.values import Skipped
    from nebula.index.vectors import Packed


class IndexedFile(NamedTuple):
    """What is known of an indexed file: enough to tell whether it changed. Thousands are made for each look."""

    blob: str
    size: int
    mtime_ns: int
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
    size: int
    mtime_ns: int
    language: str
    kind: int
    rank: float
    file_place: int
    committed: bool


@value
class Unembedded:
    """A text that has no vector yet: these lines of a file with this content."""

    digest: str
    path: str
    blob: str
    start: int
    end: int
    symbol: str


class Store(Protocol):
    @property
    def db(self) -> StoreDatabase:
        """For a transaction around several reads."""
        ...

    def shape(self) -> Shape: ...

    def states(self, paths: Iterable[str] | None = None) -> dict[str, IndexedFile]:
        """What is indexed, by path; of these paths, or of all."""
        ...

    def states_below(self, paths: Sequence[str]) -> dict[str, IndexedFile]:
        """What is indexed of these files and below these folders; "" is everything."""
        ...

    def add(self, segment: Segment, skipped: Sequence[tuple[Skipped, int, int]] = (), gone: Sequence[str] = ()) -> None:
        """New or changed files, files that cannot be indexed (with size and mtime), and paths that are no more."""
        ...

    def rename(self, moves: Sequence[tuple[str, str]]) -> int:
        """(from, to) of files whose content is the same. The way to `to` must be free, or be moved away, too."""
        ...

    def touch(self, states: Mapping[str, IndexedFile]) -> None:
        """New times for files whose content is the same."""
        ...

    def postings(self, terms: Sequence[str]) -> dict[int, dict[str, tuple[bytes, bytes]]]:
        """Segment → term → (postings in chunks, postings in files)."""
        ...

    def path_terms(self, terms: Sequence[str], at_most: int) -> dict[str, list[tuple[int, int]]]:
        """Term → (file, weight); a term in more than `at_most` paths is left out."""
        ...

    def places_of(self, path_prefix: str, language: str) -> dict[int, list[tuple[int, int]]]:
        """Segment → (first chunk, count of chunks) of the files that fit; "" fits all."""
        ...

    def chunks_of(self, files: Sequence[int]) -> list[tuple[int, int, int]]:
        """(segment, first chunk, count of chunks) of each of these files."""
        ...

    def candidates(self, places: Mapping[int, Sequence[int]]) -> list[Candidate]:
        """The live chunks among these places, by segment."""
        ...

    def lines(self) -> int:
        """Of all files together."""
        ...

    def meta(self, key: str) -> str: ...

    def set_meta(self, key: str, text: str) -> None: ...

    def skipped(self) -> dict[str, tuple[str, int, int]]:
        """Path → (reason, size, mtime)."""
        ...

    def tidy(self) -> None:
        """Merges small segments and writes those anew that are mostly dead, if there are too many."""
        ...

    def ranked_files(self, limit: int, paths: Sequence[str]) -> list[tuple[int, str, float]]:
        """(file, path, rank) of these files, and of the code that is referred to most."""
        ...

    # --- references between files

    def file_places(self) -> dict[tuple[int, int], int]:
        """(segment, place) → file, of all live files."""
        ...

    def symbols(self) -> Iterable[tuple[int, str]]:
        """(file, symbol) of every chunk that has one."""
        ...

    def in_files(self, terms: Sequence[str]) -> Iterable[tuple[int, str, bytes]]:
        """(segment, term, postings in files)."""
        ...

    def set_ranks(self, ranks: Mapping[int, float]) -> None: ...

    def changed_since_rank(self) -> int:
        """How many files were added, replaced or removed since `set_ranks`."""
        ...

    # --- vectors, by model and by what was embedded

    def models(self) -> dict[str, int]:
        """Name → how many chunks have a vector of it."""
        ...

    def unembedded(self, model: str, limit: int) -> list[Unembedded]: ...

    def add_vectors(self, model: str, vectors: Sequence[tuple[str, Packed]]) -> None: ...

    def vectors(self, model: str, digests: Sequence[str]) -> dict[str, Packed]: ...

    def nearest(self, model: str, question: Sequence[float], count: int) -> list[tuple[int, int]]:
        """(segment, place) of the chunks nearest in meaning; none where the means to search them are missing."""
        ...

    def close(self) -> None: ...
