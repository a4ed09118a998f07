"""First stage of the cache: which file holds which id, from the folder listings, the index and the files."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator

from nebula.files.database import transaction
from nebula.graph.derived.node_cache import UNREAD, best_first
from nebula.graph.derived.search_terms import folded
from nebula.graph.disk import files, numbered_paths
from nebula.graph.disk.data_folder import DataFolder
from nebula.graph.disk.index_file import IndexFile
from nebula.graph.disk.node_files import FOLDER, INDEX
from nebula.graph.formats import tsv
from nebula.graph.formats.node_xml import load_head
from nebula.graph.ids import sort_key

_NAME = re.compile(r"\d{1,9}\.xml", re.ASCII)
_HEAD = 4096
_FEW = 100
"""New files that are looked into, one by one, rather than up in the index."""
_MANY = 5000
_INSERT = "INSERT OR IGNORE INTO files (doc, path, id, timestamp, moment) VALUES (?, ?, ?, ?, ?)"


def take_in_folders(
    db: sqlite3.Connection, disk: DataFolder, times: dict[str, int], should_stop: Callable[[], bool]
) -> bool:
    """Take in what changed in folders with these times; False, and nothing taken in, when it was stopped."""
    with transaction(db):
        done = Discovery(disk, db).run(times, should_stop)
        if not done:
            db.execute("ROLLBACK")
    return done


def take_in_anew(db: sqlite3.Connection, disk: DataFolder, paths: Iterable[str]) -> None:
    """Take in files that are known to have changed."""
    with transaction(db):
        Discovery(disk, db).replace(paths)


class Discovery:
    """One pass inside a transaction."""

    def __init__(self, disk: DataFolder, db: sqlite3.Connection) -> None:
        self._disk = disk
        self._index = IndexFile(disk, INDEX, "xml")
        self._db = db
        self._touched: set[str] | None = set()
        # Numbers are never used twice: terms of what had them before are still about.
        row = db.execute("SELECT value FROM state WHERE key = 'next doc'").fetchone()
        self._next_doc: int = row[0] if row else 1

    def run(self, times: dict[str, int], should_stop: Callable[[], bool]) -> bool:
        """False when it was stopped, and all of it must be rolled back."""
        done = self._take_folders(times, should_stop)
        if done:
            self._resolve()
        return done

    def replace(self, paths: Iterable[str]) -> None:
        """Forget what is known of files that changed and take them in afresh."""
        for path in paths:
            self._drop(path)
            if self._disk.exists(f"{FOLDER}/{path}"):
                self._insert([path])
        self._resolve()

    def settle(self, node_ids: set[str]) -> None:
        """Decides anew which file counts for these ids."""
        self._touched = node_ids
        self._resolve()

    def _insert(self, paths: list[str]) -> None:
        """Take files in, the oldest first: a search walks them by their numbers, from the last one down."""
        order = numbered_paths.order_key
        lines = [(sort_key(line.timestamp)[1], order(line.path), line) for line in self._lines(paths)]
        rows = [(doc, *line, moment) for doc, (moment, _, line) in enumerate(sorted(lines), self._next_doc)]
        self._db.executemany(_INSERT, rows)
        self._next_doc += len(rows)
        self._db.execute("INSERT OR REPLACE INTO state VALUES ('next doc', ?)", (self._next_doc,))
        if self._touched is not None:
            self._touched.update(line.id for *_, line in lines)
            if len(self._touched) > _MANY:
                self._touched = None

    def _lines(self, paths: list[str]) -> Iterator[tsv.Line]:
        """Yield what the index should say of files: of a few what the files themselves say, of many what it does say,
        until each is read."""
        named = {line.path: line for line in self._index.lines()} if len(paths) > _FEW else {}
        for path in paths:
            head = None if path in named else load_head(self._disk.head(f"{FOLDER}/{path}", _HEAD))
            yield named.get(path) or tsv.Line(path, *(head or ("", "")))

    def _take_folders(self, times: dict[str, int], should_stop: Callable[[], bool]) -> bool:
        known = dict(self._db.execute("SELECT name, changed_ns FROM folders"))
        new: list[str] = []
        for folder in known.keys() - times.keys():
            self._take_folder(folder, [])
            self._db.execute("DELETE FROM folders WHERE name = ?", (folder,))
        for folder, changed_ns in times.items():
            if known.get(folder) != changed_ns:
                new += self._take_folder(folder, self._disk.names(f"{FOLDER}/{folder}"))
                settled = changed_ns if files.is_settled(changed_ns) else -1
                self._db.execute("INSERT OR REPLACE INTO folders VALUES (?, ?)", (folder, settled))
                if should_stop():
                    return False
        self._insert(new)
        return True

    def _take_folder(self, folder: str, names: list[str]) -> set[str]:
        """Forget the files that are gone or changed; return those to be taken in."""
        rows = self._db.execute(
            "SELECT path, changed_ns, size, inode, state FROM files WHERE path >= ? AND path < ?",
            (f"{folder}/", f"{folder}0"),
        ).fetchall()
        there = {f"{folder}/{name}" for name in names if _NAME.fullmatch(name)}
        known = set()
        for path, *signature, state in rows:
            if path not in there or (state != UNREAD and self._differs(path, tuple(signature))):
                self._drop(path)
            else:
                known.add(path)
        return there - known

    def _differs(self, path: str, known: tuple[int, ...]) -> bool:
        return (self._disk.signature(f"{FOLDER}/{path}") or files.ABSENT) != known

    def _drop(self, path: str) -> None:
        row = self._db.execute("SELECT doc, id, tags FROM files WHERE path = ?", (path,)).fetchone()
        if row is None:
            return
        doc, node_id, tags = row
        forget_contents(self._db, doc, tags)
        self._db.execute("DELETE FROM files WHERE doc = ?", (doc,))
        if self._touched is not None:
            self._touched.add(node_id)

    def _resolve(self) -> None:
        """Decides which of several files with one id counts."""
        for node_id in self._clashing():
            rows = self._db.execute("SELECT path, timestamp, state FROM files WHERE id = ?", (node_id,)).fetchall()
            first, *rest = best_first(rows)
            self._db.execute("UPDATE files SET shadowed = 0 WHERE path = ? AND shadowed", (first[0],))
            for path, *_ in rest:
                self._db.execute("UPDATE files SET shadowed = 1 WHERE path = ? AND NOT shadowed", (path,))

    def _clashing(self) -> Iterator[str]:
        if self._touched is None:
            query = "SELECT id FROM files WHERE id != '' GROUP BY id HAVING count(*) > 1"
            yield from [row[0] for row in self._db.execute(query).fetchall()]
            return
        for node_id in self._touched - {""}:
            if self._db.execute("SELECT count(*) FROM files WHERE id = ?", (node_id,)).fetchone()[0]:
                yield node_id


def forget_contents(db: sqlite3.Connection, doc: int, tags: str) -> None:
    db.execute("DELETE FROM bodies WHERE doc = ?", (doc,))
    db.executemany("DELETE FROM tags WHERE tag = ? AND doc = ?", [(folded(tag), doc) for tag in tags.split("\n")])
