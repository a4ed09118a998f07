"""The store of the index: files, chunks and postings in the tables of a database. Both databases pass the same tests.

It keeps files, their chunks and postings in segments that never change. Replacing a file adds it to a new segment and
marks its old place dead; a rename only moves the path. Each method that changes something is one transaction: it is
done wholly or, after a crash, not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from nebula.index.ranking.kinds import kind_of
from nebula.index.stores.merging import merge, segments_to_merge
from nebula.index.stores.past import Past
from nebula.index.stores.rows import FileRow, IndexedFile, Segment, Stamp
from nebula.index.stores.vectors import Vectors
from nebula.index.terms.words import path_terms
from nebula.index.values import Skipped

_STATES = "SELECT path, blob, size, mtime_ns, ctime_ns, committed FROM file"


def _read_states(rows: Iterable[tuple[str, str, int, int, int, int]]) -> dict[str, IndexedFile]:
    return {
        path: IndexedFile(blob, (size, mtime_ns, ctime_ns), committed != 0)
        for path, blob, size, mtime_ns, ctime_ns, committed in rows
    }


class Store(Vectors, Past):
    # --- what is there

    def states(self, paths: Iterable[str] | None = None) -> dict[str, IndexedFile]:
        """Return what is indexed, by path; of these paths, or of all."""
        if paths is None:
            return _read_states(self.db.execute(_STATES))
        wanted = json.dumps(list(paths))
        below = " WHERE path IN (SELECT value FROM json_each(?))"
        return _read_states(self.db.execute(_STATES + below, (wanted,)))

    def states_below(self, paths: Sequence[str]) -> dict[str, IndexedFile]:
        """Return what is indexed of these files and below these directories; "" is everything."""
        found: dict[str, IndexedFile] = {}
        for path in paths:
            low, high = (f"{path}/", f"{path}0") if path else ("", "\U0010ffff")
            rows = self.db.execute(_STATES + " WHERE path = ? OR path >= ? AND path < ?", (path, low, high))
            found |= _read_states(rows)
        return found

    def skipped(self) -> dict[str, tuple[str, Stamp]]:
        """Return path → (reason, stamp)."""
        rows = self.db.execute("SELECT path, reason, size, mtime_ns, ctime_ns FROM skipped")
        return {path: (reason, Stamp(*stamp)) for path, reason, *stamp in rows}

    # --- changes

    def add(self, segment: Segment, skipped: Sequence[tuple[Skipped, Stamp]] = (), gone: Sequence[str] = ()) -> None:
        """Take in new or changed files and those that cannot be indexed, and take out the paths that are gone."""
        with self.db.writing():
            replaced = [file.path for file in segment.files] + [each.path for each, _ in skipped] + list(gone)
            changed = max(self._remove(replaced), len(segment.files))
            rows = [(each.path, each.reason, *stamp) for each, stamp in skipped]
            self.db.executemany("INSERT INTO skipped VALUES (?, ?, ?, ?, ?)", rows)
            if segment.files:
                self._insert(segment)
            self._next_generation(changed)

    def _insert(self, segment: Segment) -> None:
        sizes = (segment.chunk_count, len(segment.files))
        (number,) = self.db.execute("INSERT INTO segment (chunks, files) VALUES (?, ?) RETURNING id", sizes).fetchone()
        first = 0
        chunks: list[tuple[int | str, ...]] = []
        names = []
        for place, file in enumerate(segment.files):
            id = self._insert_file(number, place, first, file)
            names += [(term, id, weight) for term, weight in path_terms(file.path).items()]
            chunks += [(number, each, id, *chunk) for each, chunk in enumerate(file.chunks, first)]
            first += len(file.chunks)
        self.db.executemany("INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?)", chunks)
        self.db.executemany("INSERT INTO path_term VALUES (?, ?, ?)", sorted(names))
        self.db.executemany(f"INSERT INTO posting VALUES ({number}, ?, ?, ?)", segment.terms)  # noqa: S608 - our own number

    def _insert_file(self, segment: int, place: int, first: int, file: FileRow) -> int:
        kind = kind_of(file.path, file.is_generated)
        about = (file.path, file.blob, *file.stamp, file.language)
        row = self.db.execute(
            "INSERT INTO file (path, blob, size, mtime_ns, ctime_ns, language, kind, generated, lines, segment, place,"
            " first_chunk, chunks) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
            (*about, kind, int(file.is_generated), file.lines, segment, place, first, len(file.chunks)),
        ).fetchone()
        return int(row[0])

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
        """Rename files whose content is the same, each given as (from, to). The path `to` must be free, or be moved
        away, too."""
        with self.db.writing():
            found = []
            for old, new in moves:
                row = self.db.execute("SELECT id, generated FROM file WHERE path = ?", (old,)).fetchone()
                if row is not None:
                    found.append((*row, new))
            for number, _, _ in found:  # out of the way first: two files may change places
                self.db.execute("UPDATE file SET path = '//' || id WHERE id = ?", (number,))
                self.db.execute("DELETE FROM path_term WHERE file = ?", (number,))
            self._remove([new for _, _, new in found])
            for number, generated, new in found:
                kind = kind_of(new, bool(generated))
                self.db.execute("UPDATE file SET path = ?, kind = ? WHERE id = ?", (new, kind, number))
                terms = [(term, number, weight) for term, weight in path_terms(new).items()]
                self.db.executemany("INSERT INTO path_term VALUES (?, ?, ?)", terms)
            self._next_generation()
        return len(found)

    def touch(self, states: Mapping[str, IndexedFile]) -> None:
        """Keep new stamps of files whose content is the same."""
        with self.db.writing():
            self.db.executemany(
                "UPDATE file SET size = ?, mtime_ns = ?, ctime_ns = ?, committed = ? WHERE path = ?",
                [(*state.stamp, int(state.committed), path) for path, state in states.items()],
            )

    def set_ranks(self, ranks: Mapping[int, float]) -> None:
        with self.db.writing():
            self.db.executemany(
                "UPDATE file SET rank = ? WHERE id = ? AND rank != ?",
                [(rank, file, rank) for file, rank in ranks.items()],
            )
            self._set_meta("changed", "0")

    def changed_since_rank(self) -> int:
        """Return how many files were added, replaced or removed since `set_ranks`."""
        return int(self.meta("changed") or 0)

    def tidy(self) -> None:
        """Merge small segments and write those anew that are mostly dead, if there are too many."""
        for segments in segments_to_merge(self.shape()):
            with self.db.writing():
                merge(self.db, segments)
                self._next_generation()
