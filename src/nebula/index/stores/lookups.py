"""What the tables say of themselves, and what a search and the reference rank read from them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from nebula.index.ranking.kinds import CODE, DECLARATION
from nebula.index.stores.database import StoreDatabase
from nebula.index.stores.rows import Candidate, CodeLines, Scope, Shape

CANDIDATE_COLUMNS = (
    "c.segment, c.place, c.file, c.first, c.last, c.symbol, c.digest, f.path, f.blob, f.language, f.kind,"
    " f.rank, f.place, f.committed"
)
"""In the order of the fields of a Candidate."""
IN_FEW_PATHS = "(SELECT count(*) FROM (SELECT 1 FROM path_term WHERE term = value LIMIT ?) AS counted) <= ?"
"""Counted only as far as it matters: a common word of a large project is in a hundred thousand paths."""

IN_SCOPE = "path >= ? AND path < ? AND (language = ? OR ? = '')"
"""The files that a search is limited to; with the values of its `Scope`."""


class Lookups:
    def __init__(self, db: StoreDatabase) -> None:
        self.db = db
        self._shape: Shape | None = None
        self._code_lines: tuple[int, CodeLines] | None = None

    def close(self) -> None:
        self.db.close()

    def meta(self, key: str) -> str:
        row = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return row[0] if row else ""

    def set_meta(self, key: str, text: str) -> None:
        with self.db.writing():
            self._set_meta(key, text)

    def _set_meta(self, key: str, text: str) -> None:
        self.db.execute(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (key, text)
        )

    def shape(self) -> Shape:
        generation = int(self.meta("generation") or 0)
        if self._shape is None or self._shape.generation != generation:
            self._shape = self._load_shape(generation)
        return self._shape

    def _load_shape(self, generation: int) -> Shape:
        segments = {
            id: (chunks, files) for id, chunks, files in self.db.execute("SELECT id, chunks, files FROM segment")
        }
        chunks: dict[int, set[int]] = {}
        files: dict[int, set[int]] = {}
        for segment, place, first, count in self.db.execute("SELECT segment, place, first_chunk, chunks FROM dead"):
            files.setdefault(segment, set()).add(place)
            chunks.setdefault(segment, set()).update(range(first, first + count))
        return Shape(
            generation,
            sum(count for _, count in segments.values()) - sum(map(len, files.values())),
            sum(count for count, _ in segments.values()) - sum(map(len, chunks.values())),
            segments,
            {segment: frozenset(dead) for segment, dead in chunks.items()},
            {segment: frozenset(dead) for segment, dead in files.items()},
        )

    def code_lines(self) -> CodeLines:
        """Return what the code of the project is written in. All files are counted, so only a search asks, and once for
        each state of the index."""
        shape = self.shape()
        if self._code_lines is None or self._code_lines[0] != shape.generation:
            rows = self.db.execute(
                "SELECT language, kind, sum(lines) FROM file WHERE kind IN (?, ?) GROUP BY language, kind",
                (CODE, DECLARATION),
            )
            counted = {(language, kind): int(lines) for language, kind, lines in rows}
            self._code_lines = shape.generation, counted
        return self._code_lines[1]

    def add_to_meta(self, key: str, step: int) -> None:
        self.db.execute(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE"
            " SET value = CAST(CAST(meta.value AS INTEGER) + CAST(? AS INTEGER) AS TEXT)",
            (key, str(step), step),
        )

    def _next_generation(self, changed: int = 0) -> None:
        self._shape = None
        self.add_to_meta("generation", 1)
        self.add_to_meta("changed", changed)

    # --- search

    def postings(self, terms: Sequence[str]) -> dict[int, dict[str, tuple[bytes, bytes]]]:
        """Segment → term → (postings in chunks, postings in files)."""
        found: dict[int, dict[str, tuple[bytes, bytes]]] = {}
        for segment, term, in_chunks, in_files in self.db.execute(
            "SELECT segment, term, in_chunks, in_files FROM posting WHERE segment IN (SELECT id FROM segment)"
            " AND term IN (SELECT value FROM json_each(?))",
            (json.dumps(terms),),
        ).fetchall():
            found.setdefault(segment, {})[term] = in_chunks, in_files
        return found

    def path_terms(self, terms: Sequence[str], at_most: int) -> dict[str, list[tuple[int, int]]]:
        """Return term → (file, weight); a term in more than `at_most` paths is left out."""
        rows = self.db.execute(
            "SELECT term, file, weight FROM path_term"  # noqa: S608
            f" WHERE term IN (SELECT value FROM json_each(?) WHERE {IN_FEW_PATHS})",
            (json.dumps(terms), at_most + 1, at_most),
        )
        found: dict[str, list[tuple[int, int]]] = {}
        for term, file, weight in rows.fetchall():
            found.setdefault(term, []).append((file, weight))
        return found

    def places_of(self, scope: Scope) -> dict[int, set[int]]:
        """Return the chunks of the files in the scope, by segment."""
        found: dict[int, set[int]] = {}
        for segment, first, count in self.db.execute(
            f"SELECT segment, first_chunk, chunks FROM file WHERE {IN_SCOPE}",  # noqa: S608 - our own words
            scope.values,
        ):
            found.setdefault(segment, set()).update(range(first, first + count))
        return found

    def chunks_of(self, files: Sequence[int]) -> list[tuple[int, int, int]]:
        """Return (segment, first chunk, count of chunks) of each of these files."""
        return self.db.execute(
            "SELECT segment, first_chunk, chunks FROM file"
            " WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(?))",
            (json.dumps(files),),
        ).fetchall()

    def candidates(self, places: Mapping[int, Sequence[int]]) -> list[Candidate]:
        """Return the live chunks among these places, by segment."""
        return [
            Candidate._make(row)
            for segment, wanted in places.items()
            for row in self.db.execute(
                f"SELECT {CANDIDATE_COLUMNS} FROM chunk c"  # noqa: S608
                " JOIN file f ON f.id = c.file"
                " WHERE c.segment = ? AND c.place IN (SELECT CAST(value AS INTEGER) FROM json_each(?))",
                (segment, json.dumps(wanted)),
            )
        ]

    def ranked_files(self, limit: int, paths: Sequence[str]) -> list[tuple[int, str, float]]:
        """Return (file, path, rank) of these files, and of the code that is referred to most."""
        wanted = json.dumps(list(paths))
        named = "SELECT id, path, rank FROM file WHERE path IN (SELECT value FROM json_each(?))"
        best = "SELECT id, path, rank FROM file WHERE kind = 0 ORDER BY rank DESC, path LIMIT ?"
        return [*self.db.execute(named, (wanted,)).fetchall(), *self.db.execute(best, (limit,)).fetchall()]

    # --- references

    def file_places(self) -> dict[tuple[int, int], int]:
        """Return the files by (segment, place), all that are live."""
        return {(segment, place): id for id, segment, place in self.db.execute("SELECT id, segment, place FROM file")}

    def symbols(self) -> Iterable[tuple[int, str]]:
        """Return (file, symbol) of every chunk that has one."""
        return self.db.execute("SELECT file, symbol FROM chunk WHERE symbol != ''")

    def in_files(self, terms: Sequence[str]) -> Iterator[tuple[int, str, bytes]]:
        """Return (segment, term, postings in files)."""
        yield from self.db.execute(
            "SELECT segment, term, in_files FROM posting WHERE segment IN (SELECT id FROM segment)"
            " AND term IN (SELECT value FROM json_each(?))",
            (json.dumps(terms),),
        )
