"""The face of the code index."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence

from nebula.files.database import ForeignDatabase
from nebula.files.home import derived_folder
from nebula.index.chunks.lines import Lines
from nebula.index.constants import FRESH_ROUNDS, MAX_FILE_BYTES
from nebula.index.contract import Candidate, Store
from nebula.index.follow import Follower
from nebula.index.queue import Change, Queue
from nebula.index.ranking.search import rank
from nebula.index.reading import Root
from nebula.index.segments import Source
from nebula.index.stores.sqlite import SqliteStore, remove_database
from nebula.index.values import Hit, Report, Skipped, Status, joined

DATABASE_NAME = "index.db"


class Index:
    """Searches the files of a project, and keeps itself in step with them.

    Used by one thread at a time; several processes may have the same index open.
    """

    def __init__(self, root: str, store: Store, *, home: str | None = None, max_bytes: int = MAX_FILE_BYTES) -> None:
        self.root = Root(root, limit=max_bytes)
        self.store = store
        self.queue = Queue(root, home)
        self._follower = Follower(self.root, store)

    @classmethod
    def open(cls, root: str, *, home: str | None = None, max_bytes: int = MAX_FILE_BYTES) -> Index:
        """The index of a project, made if there is none. One that is damaged, or from another version, is made anew."""
        path = os.path.join(derived_folder(root, home), DATABASE_NAME)
        return cls(root, open_store(path), home=home, max_bytes=max_bytes)

    def close(self) -> None:
        self.store.close()
        self.root.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def sync(self) -> Report:
        """Brings the whole index in step with the files, whatever happened to them."""
        waiting = self.queue.entries()
        report = self._follower.sync()
        for entry in waiting:
            self.queue.remove(entry)
        return report

    def drain(self) -> Report:
        """Takes in what commits handed over, without a look at the other files."""
        report = Report()
        for entry in self.queue.entries():
            report = joined(report, self._take_in(self.queue.read(entry)))
            self.queue.remove(entry)
        return report

    def _take_in(self, changes: Sequence[Change]) -> Report:
        moves = [(change.moved_from, change.path) for change in changes if change.moved_from]
        return joined(self.rename(moves), self.ingest([change.path for change in changes if not change.moved_from]))

    def ingest(self, paths: Sequence[str]) -> Report:
        """Brings files, and all files below folders, in step; what is no longer there is taken out."""
        return self._follower.ingest(paths)

    def prune(self, paths: Sequence[str]) -> Report:
        """Takes files, and all files below folders, out of the index."""
        return self._follower.prune(paths)

    def rename(self, moves: Sequence[tuple[str, str]]) -> Report:
        """(from, to) of files that were moved; those that also changed are read again."""
        return self._follower.rename(moves)

    def search(self, question: str, limit: int = 10, *, path_prefix: str = "", language: str = "") -> list[Hit]:
        """The best chunks, each as its file is now. A file that changed is read again first, or left out."""
        hits: list[Hit] = []
        for _ in range(FRESH_ROUNDS):
            found = rank(self.store, question, limit, path_prefix=path_prefix, language=language)
            hits, stale = self._read(found)
            if not stale:
                break
            self.ingest(stale)
        return hits

    def _read(self, found: list[tuple[float, Candidate]]) -> tuple[list[Hit], list[str]]:
        commit = self.store.meta("commit")
        files: dict[str, Lines | None] = {}
        hits = []
        for score, each in found:
            if each.path not in files:
                source = self.root.read(each.path, 0, 0)
                same = isinstance(source, Source) and source.blob == each.blob
                files[each.path] = Lines(source.data) if isinstance(source, Source) and same else None
            lines = files[each.path]
            if lines is not None:
                text = lines.text(each.start, each.end)
                about = (each.symbol, commit if each.committed else "", each.blob, each.language)
                hits.append(Hit(each.path, f"L{each.start}-L{each.end}", text, round(score, 4), *about))
        return hits, [path for path, lines in files.items() if lines is None]

    def status(self) -> Status:
        shape = self.store.shape()
        skipped = tuple(Skipped(path, reason) for path, (reason, _, _) in sorted(self.store.skipped().items()))
        return Status(shape.files, shape.chunks, len(self.queue.entries()), 0, 0, skipped, self.store.meta("commit"))


def open_store(path: str) -> SqliteStore:
    try:
        return SqliteStore(path)
    except (sqlite3.DatabaseError, ForeignDatabase) as error:
        if isinstance(error, sqlite3.OperationalError):
            raise  # locked, full, read-only: not a reason to throw it away
    remove_database(path)
    return SqliteStore(path)
