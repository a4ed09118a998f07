"""Keeps the cache in step with the node files, and answers from it.

Two stages: first which file holds which id (from the index and the folder listings, seconds for a million), then
what the files say (needed by search only). What changed shows in the length of the index and the times of the
folders; a file edited in place shows by its own size and time when it is looked at.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from nebula.graph.disk import files
from nebula.graph.disk.data_folder import DataFolder
from nebula.graph.disk.node_files import FOLDER, NodeFiles
from nebula.graph.values import Problem
from nebula.language import Sentence

if TYPE_CHECKING:
    from nebula.graph.derived.database import NodeDatabase

T = TypeVar("T")

FILE = "graph.db"
_BATCH = 512
_PATIENCE = 20
"""Longer looks take at most one part in this many of the time."""
_FEW = 2000
"""Files a single question may wait for."""
_LARGE_INDEX = 1 << 20
_STAT_COST = 5e-6
_PORTION = 250
_REST = 0.02
_BEARABLE = 0.1
"""Seconds that a single question may wait for a look at every file, now and then."""
_QUICK = 0.003
"""Seconds that looking may take each time it is asked for."""
_CORRUPT, _NOT_A_DATABASE = 11, 26
_REFUSED = (1, 18)
"""Codes of SQLite (imported only when it is needed): the question makes no sense, or it is too long."""
_Seen = tuple[dict[str, int], files.Signature | None]


class NodeIndex:
    """Safe to use from several threads; each of the two connections has a lock of its own."""

    def __init__(self, disk: DataFolder, nodes: NodeFiles, build_later: Callable[[], None]) -> None:
        self._disk = disk
        self._nodes = nodes
        self._build_later = build_later
        self._built = False
        self._writing = threading.RLock()
        self._asking = threading.RLock()
        self._opening = threading.Lock()
        self._is_kept = True
        """False once the database could not be kept in the user's home: then it lives in memory."""
        self._discarded = False
        self._writer: NodeDatabase | None = None
        self._reader: NodeDatabase | None = None
        self._seen: _Seen | None = None
        self._look_at = 0.0
        self._scan_at = 0.0
        self._scan_cost = 0.0

    def locate(self, node_id: str) -> list[str]:
        """Paths of the files with that id, the one that counts first; empty when there is none."""
        if not self._is_built():
            found = self._paths_in_index(node_id)
            if found:
                self._build_later()
                return found
        self._refresh_if_due()
        found = self._paths(node_id)
        if not found and self.refresh():
            found = self._paths(node_id)
        if not found and 0 < self.count_unread() <= _FEW:
            # The index may name another id for the file than the file itself.
            self.read_all()
            found = self._paths(node_id)
        if not found:
            # A file that could not be read, mended in place since the last look at all files.
            found = [path for path in self._paths_in_index(node_id) if self._disk.exists(f"{FOLDER}/{path}")]
        return found

    def is_taken(self, node_id: str) -> bool:
        """Return whether a file has that id. The index says so without any cache: every turn asks before its node is
        made."""
        if self._has_large_index():
            return bool(self.locate(node_id))
        return bool(self._nodes.index_file.find(node_id))

    def ids_beginning(self, beginning: str) -> list[str]:
        """The ids that begin so, in order; an id that is just this one alone."""
        if self.locate(beginning):
            return [beginning]
        self.refresh()
        high = beginning + "\U0010ffff"
        query = "SELECT DISTINCT id FROM files WHERE id >= ? AND id < ? AND state != 2"
        return sorted({row[0] for row in self.ask(query, beginning, high)})

    def neighbours(self, ids: Iterable[str]) -> set[str]:
        """The ids next to each in alphabetical order: those that share most with it."""
        self._refresh_if_due()
        found: set[str] = set()
        for each in ids:
            found.update(row[0] for row in self.ask("SELECT max(id) FROM files WHERE id < ?", each) if row[0])
            found.update(row[0] for row in self.ask("SELECT min(id) FROM files WHERE id > ?", each) if row[0])
        return found

    def _is_built(self) -> bool:
        """False for a large folder whose cache does not exist yet: filling it takes longer than one node is worth."""
        if not self._built:
            self._built = not self._has_large_index() or bool(self.ask("SELECT 1 FROM state WHERE key = 'index'"))
        return self._built

    def _has_large_index(self) -> bool:
        found = self._nodes.index_file.signature()
        return found is not None and found.size > _LARGE_INDEX

    def _paths_in_index(self, node_id: str) -> list[str]:
        """The same straight from the index file; whatever it does not know has to wait for the cache."""
        from nebula.graph.derived.discover import priority

        rows = [(line.path, line.timestamp, 0) for line in self._nodes.index_file.find(node_id)]
        return [row[0] for row in sorted(rows, key=priority, reverse=True)]

    def _paths(self, node_id: str) -> list[str]:
        from nebula.graph.derived.discover import priority

        rows = self.ask("SELECT path, timestamp, state FROM files WHERE id = ?", node_id)
        return [row[0] for row in sorted(rows, key=priority, reverse=True)]

    def ask(self, query: str, *values: object) -> list[Any]:
        """Rows of the database as it stands."""

        def rows() -> list[Any]:
            with self._asking:
                with self._opening:
                    if self._reader is None:
                        self._reader = self._open()
                return self._reader.connection.execute(query, values).fetchall()

        return self._guarded(rows)

    def _guarded(self, action: Callable[[], T]) -> T:
        """Runs something on the database. A damaged one is thrown away and made anew; where that does not help, or
        none can be kept, it lives in memory. A question that SQLite refuses is the question's fault, and raised."""
        import sqlite3

        from nebula.files.database import ForeignDatabase

        while True:
            try:
                return action()
            except (sqlite3.DatabaseError, ForeignDatabase) as error:
                if not self._is_kept or isinstance(error, sqlite3.ProgrammingError) or _code_of(error) in _REFUSED:
                    raise
                self._start_over(error)

    def _start_over(self, error: Exception) -> None:
        import sqlite3

        from nebula.graph.derived.database import NodeDatabase

        with self._writing, self._asking:
            self.close()
            is_damage = _code_of(error) in (_CORRUPT, _NOT_A_DATABASE)
            if isinstance(error, sqlite3.DatabaseError) and is_damage and not self._discarded:
                self._discarded = True
                with contextlib.suppress(OSError):  # then it cannot be opened either
                    NodeDatabase(self._path()).discard()
            else:
                self._is_kept = False
        self.refresh()
        if self.count_unread() <= _FEW:
            self.read_all()

    def _path(self) -> str:
        return os.path.join(self._disk.derived, FILE)

    def _open(self) -> NodeDatabase:
        from nebula.graph.derived.database import NodeDatabase

        first = self._writer or self._reader
        if first is None:
            return NodeDatabase(self._path() if self._is_kept else None)
        # In memory both connections are one.
        return first if first.path is None else NodeDatabase(first.path)

    def _database(self) -> NodeDatabase:
        with self._opening:
            if self._writer is None:
                self._writer = self._open()
            return self._writer

    def refresh(self, should_stop: Callable[[], bool] = lambda: False) -> bool:
        """Takes in what changed in the index and the folders; True when something did. Stopped halfway it takes in
        nothing."""
        return self._guarded(lambda: self._take_in(should_stop))

    def _take_in(self, should_stop: Callable[[], bool]) -> bool:
        with self._writing:
            started = time.monotonic()
            current = self._disk.folder_times(FOLDER), self._nodes.index_file.signature()
            cost = time.monotonic() - started
            changed = current != self._seen
            if changed:
                from nebula.graph.derived.discover import Discovery

                with self._database().transaction() as db:
                    if not Discovery(self._disk, db).run(current[0], should_stop):
                        db.execute("ROLLBACK")
                        return False
                self._seen = current if _is_settled(current) else None
            self._look_at = time.monotonic() + (cost * _PATIENCE if cost > _QUICK else 0.0)
            return changed

    def _refresh_if_due(self) -> None:
        """Looks at the folders as often as that is cheap, and at the length of the index always."""
        index = self._seen[1] if self._seen else None
        if time.monotonic() >= self._look_at or self._nodes.index_file.signature() != index:
            self.refresh()

    def count(self) -> int:
        """Nodes there are, those that cannot be read left out where that is known."""
        self._refresh_if_due()
        return int(self.ask("SELECT count(*) FROM files WHERE state != 2 AND shadowed = 0")[0][0])

    def count_roughly(self) -> int:
        """Files there are, and perhaps some that were; at no cost."""
        return int(self.ask("SELECT coalesce(max(doc), 0) FROM files")[0][0])

    def count_unread(self) -> int:
        return int(self.ask("SELECT count(*) FROM files WHERE state = 0")[0][0])

    def count_unreadable(self) -> int:
        return int(self.ask("SELECT count(*) FROM files WHERE state = 2")[0][0])

    def read_all(self, until: float = math.inf) -> int:
        """Reads every file that was not read yet, the newest first; on return search finds everything, unless the
        moment `until` came first. Returns how many are left."""
        while self.read_some():
            if time.monotonic() >= until:
                return self.count_unread()
        return 0

    def read_some(self, limit: int = _BATCH) -> int:
        from nebula.graph.derived.fill import read_some

        def read() -> int:
            with self._writing:
                return read_some(self._database(), self._disk, self._nodes, limit)

        return self._guarded(read)

    def reread(self, paths: Iterable[str]) -> None:
        """Takes in files that are known to have changed."""
        from nebula.graph.derived.discover import Discovery

        wanted = list(paths)

        def replace() -> None:
            with self._writing, self._database().transaction() as db:
                Discovery(self._disk, db).replace(wanted)

        self._guarded(replace)

    def changed(self, rows: Iterable[tuple[str, int, int, int]]) -> list[str]:
        """Return, of rows (path, mtime_ns, size, inode), the paths whose files are not like that any more."""
        listed = list(rows)
        found = self._disk.signatures(f"{FOLDER}/{path}" for path, *_ in listed)
        return [path for (path, *known), now in zip(listed, found, strict=True) if now != tuple(known)]

    def scan(self, *, gently: bool = False) -> None:
        """Looks at every file for edits in place, which leave no other trace. Gently: in small portions with pauses,
        so that a question asked meanwhile hardly waits."""
        started = time.monotonic()
        rested = 0.0
        last = 0
        query = "SELECT path, mtime_ns, size, inode, doc FROM files WHERE doc > ? AND state != 0 ORDER BY doc LIMIT ?"
        while rows := self.ask(query, last, _PORTION):
            last = rows[-1][4]
            changed = self.changed(row[:4] for row in rows)
            if changed:
                self.reread(changed)
            if gently:
                time.sleep(_REST)
                rested += _REST
        ended = time.monotonic()
        self._scan_cost = ended - started - rested
        self._scan_at = ended + (self._scan_cost * _PATIENCE if self._scan_cost > _QUICK else 0.0)

    def catch_up(self, patience: float = math.inf) -> tuple[int, bool]:
        """Makes ready for a question about contents, within so many seconds as far as that goes. Returns how many files
        are left unread, and whether a scan for edits in place is still due: it is too long to wait for, and should be
        done in the background."""
        started = time.monotonic()
        self._refresh_if_due()
        late = started >= self._scan_at
        if late:
            cost = self._scan_cost or self.count_roughly() * _STAT_COST
            late = cost > _BEARABLE
            if not late:
                self.scan()
        return self.read_all(started + patience), late

    # For the check

    def all_files(self) -> dict[str, tuple[str, str] | None]:
        """Path to (id, timestamp) of every node file; None for one that cannot be read."""
        rows = self.ask("SELECT path, id, timestamp, state FROM files")
        return {path: (node_id, timestamp) if state == 1 else None for path, node_id, timestamp, state in rows}

    def clashes(self) -> list[tuple[str, str, str]]:
        """Files that lost their id to another, as (path, id, path of the one that counts)."""
        rows = self.ask("SELECT path, id FROM files WHERE shadowed = 1 ORDER BY path")
        return [(path, node_id, self._paths(node_id)[0]) for path, node_id in rows]

    def problems(self) -> list[Problem]:
        """Files that cannot be read, and ids that more than one file claims."""
        from nebula.graph.derived.fill import load_sentence

        rows = self.ask("SELECT path, problem FROM files WHERE state = 2 ORDER BY path")
        found = [Problem("unreadable", f"{FOLDER}/{path}", load_sentence(message)) for path, message in rows]
        for path, node_id, winner in self.clashes():
            what = Sentence("has the id {node_id} of {path}, which counts", node_id=node_id, path=f"{FOLDER}/{winner}")
            found.append(Problem("clash", f"{FOLDER}/{path}", what))
        return found

    def close(self) -> None:
        with self._writing, self._asking:
            for cache in (self._writer, self._reader):
                if cache:
                    cache.close()
            self._writer = self._reader = None
            self._seen = None
            self._built = False


def _code_of(error: Exception) -> int:
    """Return SQLite's own code of an error; one that we raised ourselves says that the file is not as it should be."""
    return int(getattr(error, "sqlite_errorcode", _CORRUPT)) & 0xFF


def _is_settled(seen: _Seen) -> bool:
    times, index = seen
    return all(map(files.is_settled, times.values())) and (index is None or files.is_settled(index.mtime_ns))
