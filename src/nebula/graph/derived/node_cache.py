"""Keeps the cache in step with the node files.

Two stages: first which file holds which id (from the index and the folder listings, seconds for a million), then
what the files say (needed by search only). What changed shows in the length of the index and the times of the
folders; a file edited in place shows by its own size and time when it is looked at.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from nebula.graph.derived.disposable_database import DisposableDatabase
from nebula.graph.disk import files, numbered_paths
from nebula.graph.disk.data_folder import DataFolder
from nebula.graph.disk.node_files import FOLDER, NodeFiles
from nebula.graph.ids import sort_key

T = TypeVar("T")

FILE = "graph.db"
UNREAD, READ, UNREADABLE = 0, 1, 2
"""The states of a node file in the cache."""
_BATCH = 512
_PATIENCE = 20
"""Longer looks take at most one part in this many of the time."""
FEW = 2000
"""Files a single question may wait for."""
_SLOW_TO_FILL = 256 << 10
"""Bytes of an index: the cache of its 3,000 nodes is filled in 50 milliseconds."""
_STAT_COST = 5e-6
_PORTION = 250
_BEARABLE = 0.1
"""Seconds that a single question may wait for a look at every file, now and then."""
_QUICK = 0.003
"""Seconds that looking may take each time it is asked for."""

_Seen = tuple[dict[str, int], files.Signature | None]


class NodeCache:
    """Safe to use from several threads."""

    def __init__(self, disk: DataFolder, nodes: NodeFiles, build_later: Callable[[], None]) -> None:
        self._disk = disk
        self._nodes = nodes
        self._build_later = build_later
        self._is_wanted = False
        """Whether somebody was told to build it; once, for who is told has to wait anew each time."""
        self._built = False
        self._database = DisposableDatabase(lambda: os.path.join(disk.derived, FILE), self._forget, self._refill)
        self._seen: _Seen | None = None
        self._look_at = 0.0
        self._writes = 0
        self._scan_at = 0.0
        self._scan_cost = 0.0

    def ask(self, query: str, *values: object) -> list[Any]:
        """Return the rows of the database as it stands."""
        return self._database.ask(query, *values)

    def paths_of(self, node_id: str) -> list[str]:
        """Return the files with that id, the one that counts first, from the database as it stands."""
        rows = self.ask("SELECT path, timestamp, state FROM files WHERE id = ?", node_id)
        return [row[0] for row in best_first(rows)]

    def is_built(self) -> bool:
        """False for a large folder whose cache does not exist yet: filling it takes longer than one node is worth."""
        if not self._built:
            found = self._nodes.index_file.signature()
            is_filled_soon = found is None or found.size <= _SLOW_TO_FILL
            self._built = is_filled_soon or (self._database.is_there and bool(self.ask("SELECT 1 FROM files LIMIT 1")))
        return self._built

    def want(self) -> None:
        if not self._is_wanted:
            self._is_wanted = True
            self._build_later()

    def refresh(self, should_stop: Callable[[], bool] = lambda: False) -> bool:
        """Take in what changed in the index and the folders; return True if something did. Stopped halfway it takes in
        nothing."""
        return self._database.guard(lambda: self._take_in(should_stop))

    def _take_in(self, should_stop: Callable[[], bool]) -> bool:
        if self._look() == self._seen:  # as mostly: whoever fills the database meanwhile need not be waited for
            return False
        with self._database.writing:
            current = self._look()
            if current == self._seen:
                return False
            from nebula.graph.derived.discover import take_in_folders

            if not take_in_folders(self._database.writer, self._disk, current[0], should_stop):
                return False
            self._seen = current if _is_settled(current) else None
            return True

    def _look(self) -> _Seen:
        started, writes = time.monotonic(), self._writes
        found = self._disk.folder_times(FOLDER), self._nodes.index_file.signature()
        ended = time.monotonic()
        pause = (ended - started) * _PATIENCE if ended - started > _QUICK else 0.0
        self._look_at = ended + pause if self._writes == writes else 0.0
        return found

    def look_soon(self) -> None:
        """Look at the folders when next asked, however long the last look took: something was written."""
        self._writes += 1
        self._look_at = 0.0

    def refresh_if_due(self) -> None:
        """Look at the folders as often as that is cheap, and at the length of the index always."""
        index = self._seen[1] if self._seen else None
        if time.monotonic() >= self._look_at or self._nodes.index_file.signature() != index:
            self.refresh()

    def count(self) -> int:
        """Count the nodes there are, those that cannot be read left out where that is known."""
        self.refresh_if_due()
        return int(self.ask("SELECT count(*) FROM files WHERE state != 2 AND shadowed = 0")[0][0])

    def count_roughly(self) -> int:
        """Count the files there are, and perhaps some that were, at no cost."""
        return int(self.ask("SELECT coalesce(max(doc), 0) FROM files")[0][0])

    def count_unread(self) -> int:
        return int(self.ask("SELECT count(*) FROM files WHERE state = 0")[0][0])

    def count_unreadable(self) -> int:
        return int(self.ask("SELECT count(*) FROM files WHERE state = 2")[0][0])

    def read_all(self, until: float = math.inf) -> int:
        """Read every file that was not read yet, the newest first; on return search finds everything, unless the
        moment `until` came first. Return how many are left."""
        while self.read_some():
            if time.monotonic() >= until:
                return self.count_unread()
        return 0

    def read_some(self, limit: int = _BATCH) -> int:
        from nebula.graph.derived.fill import read_some

        return self._database.change(lambda db: read_some(db, self._disk, self._nodes, limit))

    def reread(self, paths: Iterable[str]) -> None:
        """Take in files that are known to have changed."""
        from nebula.graph.derived.discover import take_in_anew

        wanted = list(paths)
        self._database.change(lambda db: take_in_anew(db, self._disk, wanted))

    def changed(self, rows: Iterable[tuple[str, int, int, int]]) -> list[str]:
        """Return, of rows (path, changed_ns, size, inode), the paths whose files are not like that any more."""
        listed = list(rows)
        found = self._disk.signatures(f"{FOLDER}/{path}" for path, *_ in listed)
        return [path for (path, *known), now in zip(listed, found, strict=True) if now != tuple(known)]

    def scan(self) -> None:
        """Look at every file for edits in place, which leave no other trace; in portions, between which others ask."""
        started = time.monotonic()
        last = 0
        query = "SELECT path, changed_ns, size, inode, doc FROM files WHERE doc > ? AND state != 0 ORDER BY doc LIMIT ?"
        while rows := self.ask(query, last, _PORTION):
            last = rows[-1][4]
            changed = self.changed(row[:4] for row in rows)
            if changed:
                self.reread(changed)
        ended = time.monotonic()
        self._scan_cost = ended - started
        self._scan_at = ended + (self._scan_cost * _PATIENCE if self._scan_cost > _QUICK else 0.0)

    def catch_up(self, patience: float = math.inf) -> tuple[int, bool]:
        """Make ready for a question about contents, within so many seconds as far as that goes. Return how many files
        are left unread, and whether a scan for edits in place is still due: it is too long to wait for, and should be
        done in the background."""
        started = time.monotonic()
        self.refresh_if_due()
        late = started >= self._scan_at
        if late:
            cost = self._scan_cost or self.count_roughly() * _STAT_COST
            late = cost > _BEARABLE
            if not late:
                self.scan()
        return self.read_all(started + patience), late

    def take_in_new(self) -> bool:
        """Make ready for a question about contents that must not wait: a few new files are read, not thousands that
        are new to this machine. Return False if nothing can be asked yet."""
        if not self.is_built():
            return False
        self.refresh_if_due()
        if 0 < self.count_unread() <= _BATCH:
            self.read_all()
        return True

    def close(self) -> None:
        self._database.close()

    def _forget(self) -> None:
        self._seen = None
        self._built = self._is_wanted = False

    def _refill(self) -> None:
        self.refresh()
        if self.count_unread() <= FEW:
            self.read_all()


def best_first(rows: Iterable[T]) -> list[T]:
    """Return rows (path, timestamp, state, …) of one id, the one that counts first: the readable, the newest, the one
    found last (seed §4.4)."""

    def rank(row: Any) -> tuple[object, ...]:
        path, timestamp, state = row[:3]
        return state != UNREADABLE, sort_key(timestamp), numbered_paths.order_key(path)

    return sorted(rows, key=rank, reverse=True)


def _is_settled(seen: _Seen) -> bool:
    times, index = seen
    return all(map(files.is_settled, times.values())) and (index is None or files.is_settled(index.changed_ns))
