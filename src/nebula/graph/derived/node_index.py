"""Which files hold which nodes: from the index of the node files, and from the cache where that is better."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from nebula.graph.derived.node_cache import FEW, NodeCache, best_first
from nebula.graph.disk.data_folder import DataFolder
from nebula.graph.disk.node_files import FOLDER, NodeFiles
from nebula.graph.errors import BadFile, NotFound
from nebula.graph.values import Beginning, Problem
from nebula.language import Sentence

_CHUNK = 500
_BEGINNING = b"<beginning>"


class NodeFileRow(NamedTuple):
    """What is known of a node's file."""

    path: str
    timestamp: str
    state: int
    beginning: str | None
    """None while it was not read."""


class NodeIndex:
    """Safe to use from several threads."""

    def __init__(self, disk: DataFolder, nodes: NodeFiles, cache: NodeCache) -> None:
        self._disk = disk
        self._nodes = nodes
        self._cache = cache

    def locate(self, node_id: str) -> list[str]:
        """Return paths of the files with that id, the one that counts first; empty when there is none."""
        if not self._cache.is_built():
            found = self._paths_in_index(node_id)
            if found:
                self._cache.want()
                return found
        self._cache.refresh_if_due()
        found = self._cache.paths_of(node_id)
        if not found and self._cache.refresh():
            found = self._cache.paths_of(node_id)
        if not found and 0 < self._cache.count_unread() <= FEW:
            # The index may name another id for the file than the file itself.
            self._cache.read_all()
            found = self._cache.paths_of(node_id)
        if not found:
            # A file that could not be read, mended in place since the last look at all files.
            found = self._paths_in_index(node_id)
        return found

    def find_all(self, node_ids: Sequence[str]) -> dict[str, list[NodeFileRow]]:
        """Return the files of many nodes, by id, the one that counts first; what is not in the index of a large folder
        whose cache does not exist yet is left out."""
        found: dict[str, list[NodeFileRow]] = {}
        for node_id, row in self._rows_of(node_ids):
            found.setdefault(node_id, []).append(row)
        return {node_id: best_first(rows) if len(rows) > 1 else rows for node_id, rows in found.items()}

    def _rows_of(self, node_ids: Sequence[str]) -> Iterator[tuple[str, NodeFileRow]]:
        if not self._cache.is_built():
            self._cache.want()
            for line in self._nodes.index_file.find_all(frozenset(node_ids)):
                yield line.id, NodeFileRow(line.path, line.timestamp, 0, None)
            return
        self._cache.refresh_if_due()
        for start in range(0, len(node_ids), _CHUNK):
            part = node_ids[start : start + _CHUNK]
            marks = ",".join("?" * len(part))
            columns = "id, path, timestamp, state, CASE state WHEN 1 THEN beginning END"
            for node_id, *row in self._cache.ask(f"SELECT {columns} FROM files WHERE id IN ({marks})", *part):  # noqa: S608
                yield node_id, NodeFileRow(*row)

    def find_beginnings(self, node_ids: Sequence[str]) -> dict[str, Beginning]:
        """Return how the conversations began whose first turns these are; those that are no nodes are left out.

        Nothing is waited for: what the cache does not know yet stands in the first turns themselves, which are few
        beside all the others. Of a flow of 50,000 turns in 1,250 conversations they are read in 20 ms, all of it in
        15 s.
        """
        found = {}
        for node_id, (row, *_) in self.find_all(node_ids).items():
            first_try = self._first_try(row.path) if row.beginning is None else row.beginning
            found[node_id] = Beginning(row.timestamp, first_try)
        return found

    def _first_try(self, path: str) -> str:
        try:
            return self._nodes.read(path).beginning if _BEGINNING in self._nodes.read_bytes(path) else ""
        except (NotFound, BadFile):
            return ""

    def is_taken(self, node_id: str) -> bool:
        """Return whether a file has that id. The index says so without any cache, of 100,000 nodes in 2 ms: every turn
        asks before its node is made."""
        return bool(self._nodes.index_file.find(node_id))

    def ids_beginning(self, beginning: str) -> list[str]:
        """Return the ids that begin so, in order; an id that is just this one alone."""
        if self.locate(beginning):
            return [beginning]
        self._cache.refresh()
        high = beginning + "\U0010ffff"
        query = "SELECT DISTINCT id FROM files WHERE id >= ? AND id < ? AND state != 2"
        return sorted({row[0] for row in self._cache.ask(query, beginning, high)})

    def neighbours(self, ids: Iterable[str]) -> set[str]:
        """Return the ids next to each in alphabetical order: those that share most with it."""
        self._cache.refresh_if_due()
        found: set[str] = set()
        for each in ids:
            found.update(row[0] for row in self._cache.ask("SELECT max(id) FROM files WHERE id < ?", each) if row[0])
            found.update(row[0] for row in self._cache.ask("SELECT min(id) FROM files WHERE id > ?", each) if row[0])
        return found

    def all_files(self) -> dict[str, tuple[str, str] | None]:
        """Return path to (id, timestamp) of every node file; None for one that cannot be read."""
        rows = self._cache.ask("SELECT path, id, timestamp, state FROM files")
        return {path: (node_id, timestamp) if state == 1 else None for path, node_id, timestamp, state in rows}

    def clashes(self) -> Iterator[tuple[str, Sentence]]:
        """Yield the files that lost their id to another, each with what is to be said of it."""
        sentence = "has the same id ({node_id}) as {path}, which is the one that counts"
        for path, node_id in self._cache.ask("SELECT path, id FROM files WHERE shadowed = 1 ORDER BY path"):
            yield path, Sentence(sentence, node_id=node_id, path=f"{FOLDER}/{self._cache.paths_of(node_id)[0]}")

    def problems(self) -> list[Problem]:
        """Return files that cannot be read, and ids that more than one file claims."""
        from nebula.graph.derived.fill import load_sentence

        rows = self._cache.ask("SELECT path, problem FROM files WHERE state = 2 ORDER BY path")
        found = [Problem("unreadable", f"{FOLDER}/{path}", load_sentence(message)) for path, message in rows]
        return found + [Problem("clash", f"{FOLDER}/{path}", what) for path, what in self.clashes()]

    def _paths_in_index(self, node_id: str) -> list[str]:
        """Return the same straight from the index file; whatever it does not know has to wait for the cache."""
        lines = self._nodes.index_file.find(node_id)
        there = [line for line in lines if self._disk.exists(f"{FOLDER}/{line.path}")]
        return [row.path for row in best_first([NodeFileRow(line.path, line.timestamp, 0, None) for line in there])]
