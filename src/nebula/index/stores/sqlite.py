"""The index in one SQLite file. No service to start; readers never wait for the writer."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence

from nebula.files.database import connect
from nebula.index.constants import APPLICATION_ID, FORMAT
from nebula.index.contract import Candidate, FileState, Shape
from nebula.index.ranking.kinds import kind_of
from nebula.index.segments import FileRow, Segment
from nebula.index.stores.merging import merge, segments_to_merge
from nebula.index.stores.sqlite_schema import TABLES
from nebula.index.stores.sqlite_vectors import SqliteVectors
from nebula.index.terms.paths import path_terms
from nebula.index.values import Skipped


class SqliteStore(SqliteVectors):
    def __init__(self, path: str) -> None:
        self.path = path
        self.db = connect(path, application_id=APPLICATION_ID, version=FORMAT)
        for setting in ("journal_mode = WAL", "synchronous = NORMAL", "cache_size = -8000", "mmap_size = 268435456"):
            self.db.execute(f"PRAGMA {setting}")
        version = self.db.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            self._create()
        elif version != FORMAT:
            self.db.close()
            raise sqlite3.DatabaseError("an index of an older version")
        self._shape: Shape | None = None

    def _create(self) -> None:
        with self.writing():
            if self.db.execute("PRAGMA user_version").fetchone()[0] == 0:
                for statement in TABLES.split(";\n"):
                    self.db.execute(statement)
                self.db.execute(f"PRAGMA user_version = {FORMAT}")

    def close(self) -> None:
        self.db.close()

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield self.db
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")
        self._shape = None

    # --- what is there

    def meta(self, key: str) -> str:
        row = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return row[0] if row else ""

    def set_meta(self, key: str, text: str) -> None:
        with self.writing() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, text))

    def shape(self) -> Shape:
        generation = int(self.meta("generation") or 0)
        if self._shape is None or self._shape.generation != generation:
            self._shape = self._load_shape(generation)
        return self._shape

    def _load_shape(self, generation: int) -> Shape:
        segments = {id: (chunks, files) for id, chunks, files in self.db.execute("SELECT * FROM segment")}
        chunks: dict[int, set[int]] = {}
        files: dict[int, set[int]] = {}
        for segment, place, first, count in self.db.execute("SELECT * FROM dead"):
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

    def states(self, paths: Iterable[str] | None = None) -> dict[str, FileState]:
        if paths is None:
            rows = self.db.execute("SELECT path, blob, size, mtime_ns, committed FROM file")
        else:
            rows = self.db.execute(
                "SELECT path, blob, size, mtime_ns, committed FROM file WHERE path IN (SELECT value FROM json_each(?))",
                (json.dumps(list(paths)),),
            )
        return {path: FileState(blob, size, mtime, bool(committed)) for path, blob, size, mtime, committed in rows}

    def states_below(self, paths: Sequence[str]) -> dict[str, FileState]:
        found: dict[str, FileState] = {}
        for path in paths:
            low, high = (f"{path}/", f"{path}0") if path else ("", "\U0010ffff")
            for name, *state in self.db.execute(
                "SELECT path, blob, size, mtime_ns, committed FROM file WHERE path = ? OR path >= ? AND path < ?",
                (path, low, high),
            ):
                found[name] = FileState(*state)
        return found

    def skipped(self) -> dict[str, tuple[str, int, int]]:
        return {path: (reason, size, mtime) for path, reason, size, mtime in self.db.execute("SELECT * FROM skipped")}

    def lines(self) -> int:
        found: int = self.db.execute("SELECT coalesce(sum(lines), 0) FROM file").fetchone()[0]
        return found

    # --- changes

    def add(self, segment: Segment, skipped: Sequence[tuple[Skipped, int, int]] = (), gone: Sequence[str] = ()) -> None:
        with self.writing() as db:
            replaced = [file.path for file in segment.files] + [each.path for each, _, _ in skipped] + list(gone)
            changed = max(self._remove(replaced), len(segment.files))
            rows = [(each.path, each.reason, size, mtime) for each, size, mtime in skipped]
            db.executemany("INSERT INTO skipped VALUES (?, ?, ?, ?)", rows)
            if segment.files:
                self._insert(segment)
            self._next_generation(changed)

    def _insert(self, segment: Segment) -> None:
        db = self.db
        cursor = db.execute(
            "INSERT INTO segment (chunks, files) VALUES (?, ?)", (segment.chunk_count, len(segment.files))
        )
        number = cursor.lastrowid
        first = 0
        for place, file in enumerate(segment.files):
            self._insert_file(number or 0, place, first, file)
            first += len(file.chunks)
        db.executemany("INSERT INTO posting VALUES (?, ?, ?, ?)", ((number, *row) for row in segment.terms))

    def _insert_file(self, segment: int, place: int, first: int, file: FileRow) -> None:
        kind = kind_of(file.path, file.is_generated)
        stat = (file.path, file.blob, file.size, file.mtime_ns, file.language)
        cursor = self.db.execute(
            "INSERT INTO file (path, blob, size, mtime_ns, language, kind, generated, lines, segment, place,"
            " first_chunk, chunks) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*stat, kind, file.is_generated, file.lines, segment, place, first, len(file.chunks)),
        )
        number = cursor.lastrowid or 0
        self.db.executemany(
            "INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (segment, first + i, number, chunk.start, chunk.end, chunk.symbol, chunk.digest)
                for i, chunk in enumerate(file.chunks)
            ],
        )
        self._name(number, file.path)

    def _name(self, file: int, path: str) -> None:
        self.db.executemany(
            "INSERT INTO path_term VALUES (?, ?, ?)",
            [(term, file, weight) for term, weight in path_terms(path).items()],
        )

    def _remove(self, paths: Sequence[str]) -> int:
        wanted = (json.dumps(paths),)
        rows = self.db.execute(
            "SELECT id, segment, place, first_chunk, chunks FROM file WHERE path IN (SELECT value FROM json_each(?))",
            wanted,
        ).fetchall()
        for number, segment, place, first, count in rows:
            self.db.execute("DELETE FROM file WHERE id = ?", (number,))
            self.db.execute("DELETE FROM path_term WHERE file = ?", (number,))
            self.db.execute(
                "DELETE FROM chunk WHERE segment = ? AND place >= ? AND place < ?", (segment, first, first + count)
            )
            self.db.execute("INSERT INTO dead VALUES (?, ?, ?, ?)", (segment, place, first, count))
        self.db.execute("DELETE FROM skipped WHERE path IN (SELECT value FROM json_each(?))", wanted)
        return len(rows)

    def rename(self, moves: Sequence[tuple[str, str]]) -> int:
        with self.writing() as db:
            found = []
            for old, new in moves:
                row = db.execute("SELECT id, generated FROM file WHERE path = ?", (old,)).fetchone()
                if row is not None:
                    found.append((*row, new))
            for number, _, _ in found:  # out of the way first: two files may change places
                db.execute("UPDATE file SET path = '//' || id WHERE id = ?", (number,))
                db.execute("DELETE FROM path_term WHERE file = ?", (number,))
            self._remove([new for _, _, new in found])
            for number, generated, new in found:
                kind = kind_of(new, bool(generated))
                db.execute("UPDATE file SET path = ?, kind = ? WHERE id = ?", (new, kind, number))
                self._name(number, new)
            self._next_generation()
        return len(found)

    def touch(self, states: Mapping[str, FileState]) -> None:
        with self.writing() as db:
            db.executemany(
                "UPDATE file SET size = ?, mtime_ns = ?, committed = ? WHERE path = ?",
                [(state.size, state.mtime_ns, state.committed, path) for path, state in states.items()],
            )

    def set_ranks(self, ranks: Mapping[int, float]) -> None:
        with self.writing() as db:
            db.executemany("UPDATE file SET rank = ? WHERE id = ? AND rank != ?", [(r, f, r) for f, r in ranks.items()])
            db.execute("INSERT OR REPLACE INTO meta VALUES ('changed', '0')")

    def changed_since_rank(self) -> int:
        return int(self.meta("changed") or 0)

    def _next_generation(self, changed: int = 0) -> None:
        for key, step in (("generation", 1), ("changed", changed)):
            self.db.execute(
                "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + ?",
                (key, str(step), step),
            )

    # --- search

    def postings(self, terms: Sequence[str]) -> dict[int, dict[str, tuple[bytes, bytes]]]:
        found: dict[int, dict[str, tuple[bytes, bytes]]] = {segment: {} for segment in self.shape().segments}
        wanted = json.dumps(terms)
        for segment, by_term in found.items():
            for term, in_chunks, in_files in self.db.execute(
                "SELECT term, in_chunks, in_files FROM posting WHERE segment = ?"
                " AND term IN (SELECT value FROM json_each(?))",
                (segment, wanted),
            ):
                by_term[term] = in_chunks, in_files
        return found

    def path_terms(self, terms: Sequence[str], at_most: int) -> dict[str, list[tuple[int, int]]]:
        found = {}
        for term in terms:
            rows = self.db.execute(
                "SELECT file, weight FROM path_term WHERE term = ? LIMIT ?", (term, at_most + 1)
            ).fetchall()
            if rows and len(rows) <= at_most:
                found[term] = rows
        return found

    def places_of(self, path_prefix: str, language: str) -> dict[int, list[tuple[int, int]]]:
        found: dict[int, list[tuple[int, int]]] = {}
        for segment, first, count in self.db.execute(
            "SELECT segment, first_chunk, chunks FROM file WHERE path >= ? AND path < ? AND (? = '' OR language = ?)",
            (path_prefix, path_prefix + "\U0010ffff", language, language),
        ):
            found.setdefault(segment, []).append((first, count))
        return found

    def chunks_of(self, files: Sequence[int]) -> list[tuple[int, int, int]]:
        return self.db.execute(
            "SELECT segment, first_chunk, chunks FROM file WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(files),),
        ).fetchall()

    def candidates(self, places: Mapping[int, Sequence[int]]) -> list[Candidate]:
        return [
            Candidate._make(row)
            for segment, wanted in places.items()
            for row in self.db.execute(
                "SELECT c.segment, c.place, c.file, c.first, c.last, c.symbol, c.digest, f.path, f.blob, f.size,"
                " f.mtime_ns, f.language, f.kind, f.rank, f.place, f.committed FROM chunk c"
                " JOIN file f ON f.id = c.file WHERE c.segment = ? AND c.place IN (SELECT value FROM json_each(?))",
                (segment, json.dumps(wanted)),
            )
        ]

    def tidy(self) -> None:
        for segments in segments_to_merge(self.shape()):
            with self.writing() as db:
                merge(db, segments)
                self._next_generation()

    # --- references

    def file_places(self) -> dict[tuple[int, int], int]:
        return {(segment, place): id for id, segment, place in self.db.execute("SELECT id, segment, place FROM file")}

    def symbols(self) -> Iterable[tuple[int, str]]:
        return self.db.execute("SELECT file, symbol FROM chunk WHERE symbol != ''")

    def in_files(self, terms: Sequence[str]) -> Iterator[tuple[int, str, bytes]]:
        wanted = json.dumps(terms)
        for segment in self.shape().segments:
            yield from self.db.execute(
                "SELECT segment, term, in_files FROM posting WHERE segment = ?"
                " AND term IN (SELECT value FROM json_each(?))",
                (segment, wanted),
            )


def remove_database(path: str) -> None:
    for name in (path, f"{path}-wal", f"{path}-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
