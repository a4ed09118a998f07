"""`metadata/tags.yaml` and `metadata/index.yaml` (seed §6.1, §6.2): derived, for people and other programs.

A new node is appended to the index; everything else only leaves a mark, and the files are written anew once
changes have stopped. A mark that is still there at the next start means the writer was interrupted.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterable, Iterator

from nebula.files.beneath import FILE_FLAGS
from nebula.graph.derived.node_index import NodeIndex
from nebula.graph.disk.data_folder import DataFolder
from nebula.graph.disk.node_files import FOLDER as NODES
from nebula.graph.disk.node_files import INDEX as NODE_INDEX
from nebula.graph.errors import BadFile
from nebula.graph.formats import tsv
from nebula.graph.formats.yaml_comments import with_comments, without_comments
from nebula.graph.formats.yaml_text import identifier, moment, scalar
from nebula.graph.ids import now
from nebula.graph.values import Node

INDEX = "metadata/index.yaml"
TAGS = "metadata/tags.yaml"
_MARK = "metadata-is-old"
_WIDTH = 32
_START = re.compile(rb"updated: \S{32}\nnodes:\n")
_UPDATED = re.compile(r"\Aupdated: [^\n]*\n")
_TAIL = 64 * 1024
_FEW = 2000
_MANY = 20_000
_LONG_AGO = 600.0


class Metadata:
    def __init__(self, disk: DataFolder, node_index: NodeIndex) -> None:
        self._disk = disk
        self._node_index = node_index
        self._handle = -1
        self._inode = 0
        self._size = 0

    def add(self, node: Node, moment: str, *, is_first: bool) -> None:
        """A node made at this moment: its lines go to the end of the index, if that is as a writer leaves it. Call with
        the lock held."""
        stamp = _stamp(moment)
        try:
            if is_first and not self._disk.exists(INDEX):
                self._disk.replace(INDEX, f"updated: {stamp}\nnodes:\n".encode())
                self._disk.replace(TAGS, f"updated: {stamp}\ntags: {{}}\n".encode())
            can_append = self._is_as_left() or self._open()
        except BadFile:  # a link or a pipe in its place: `check` reports it
            can_append = False
        if can_append:
            lines = _index_lines(node.id, node.timestamp, node.tags, node.summary).encode("utf-8")
            os.pwrite(self._handle, stamp.encode("ascii"), len(b"updated: "))
            os.pwrite(self._handle, lines, self._size)
            self._size += len(lines)
        if node.tags or not can_append:
            self.mark_old()

    def _is_as_left(self) -> bool:
        found = self._disk.status(INDEX) if self._handle >= 0 else None
        return found is not None and (found.st_ino, found.st_size) == (self._inode, self._size)

    def _open(self) -> bool:
        self.close()
        try:
            self._handle = self._disk.open(INDEX, FILE_FLAGS | os.O_RDWR)
        except FileNotFoundError:
            return False
        found = os.fstat(self._handle)
        self._inode, self._size = found.st_ino, found.st_size
        if _START.match(os.pread(self._handle, 64, 0)) and os.pread(self._handle, 1, self._size - 1) == b"\n":
            return True
        self.close()
        return False

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def has_lately(self, node_id: str) -> bool:
        """True when the node is among the last ones of the index: tells whether its writer got that far."""
        try:
            data = self._disk.read(INDEX) or b""
        except BadFile:
            return False
        return node_id.encode("utf-8") in data[-_TAIL:]

    def _mark_path(self) -> str:
        return os.path.join(self._disk.derived, _MARK)

    def mark_old(self, removed: Iterable[str] = ()) -> None:
        """The files have to be written anew; lines of `removed` node files can then leave the node index, too."""
        lines = "".join(f"{each}\n" for each in removed)
        if lines or not self.is_old():
            with open(self._mark_path(), "a", encoding="ascii") as file:
                file.write(lines)

    def is_old(self) -> bool:
        return os.path.exists(self._mark_path())

    def is_worth_waiting_for(self) -> bool:
        """False when writing the files anew takes long enough to be left to a process that stays."""
        rows, unread = self._node_index.count_roughly(), self._node_index.count_unread()
        if unread > _FEW:
            return False
        try:
            age = time.time() - os.stat(self._mark_path()).st_mtime
        except FileNotFoundError:
            return False  # another process has done it meanwhile
        return rows <= _MANY or age > _LONG_AGO

    def rewrite(self) -> bool:
        """Writes both files from what the nodes say; True when that changed them. Takes the lock at the end."""
        self._node_index.refresh()
        self._node_index.read_all()
        with self._disk.exclusive():
            # Nodes that came in while the lock was not held are few.
            self._node_index.refresh()
            self._node_index.read_all()
            try:
                changed = [self._write(INDEX, self._index()), self._write(TAGS, self._tags())]
            except BadFile:  # it stays old, and `check` says why
                return False
            self._forget_removed()
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._mark_path())
            return any(changed)

    def _forget_removed(self) -> None:
        with contextlib.suppress(FileNotFoundError), open(self._mark_path(), encoding="ascii") as file:
            removed = {path for path in file.read().split() if not self._disk.exists(f"{NODES}/{path}")}
            data = self._disk.read(NODE_INDEX) if removed else None
            if data is not None:
                self._disk.replace(NODE_INDEX, tsv.without(data, removed))

    def _write(self, path: str, lines: Iterable[str]) -> bool:
        text, old = "".join(lines), self._text_of(path)
        if not _differ(old, text):
            return False
        self._disk.replace(path, with_comments(text, old).encode("utf-8"))
        return True

    def _text_of(self, path: str) -> str:
        """What stands there; nothing in the place of what is no file."""
        try:
            return (self._disk.read(path) or b"").decode("utf-8", "replace")
        except BadFile:
            return ""

    def stale(self) -> list[str]:
        """The files that do not say what the nodes say; one that is not there at all is nobody's problem."""
        self._node_index.refresh()
        self._node_index.scan()
        self._node_index.read_all()
        return [
            path
            for path, lines in ((INDEX, self._index()), (TAGS, self._tags()))
            if self._disk.signature(path) and _differ(self._text_of(path), "".join(lines))
        ]

    def _index(self) -> Iterator[str]:
        rows = self._node_index.ask(
            "SELECT id, timestamp, tags, summary FROM files WHERE state = 1 AND shadowed = 0 ORDER BY moment, path"
        )
        yield f"updated: {_stamp()}\nnodes:\n" if rows else f"updated: {_stamp()}\nnodes: {{}}\n"
        for node_id, timestamp, tags, summary in rows:
            yield _index_lines(node_id, timestamp, tags.split("\n"), summary)

    def _tags(self) -> Iterator[str]:
        rows = self._node_index.ask(
            "SELECT tags.tag, tags.label, files.id FROM tags JOIN files ON files.doc = tags.doc"
            " WHERE files.shadowed = 0 ORDER BY tags.tag, files.moment, files.path"
        )
        yield f"updated: {_stamp()}\ntags:\n" if rows else f"updated: {_stamp()}\ntags: {{}}\n"
        current = None
        for tag, label, node_id in rows:
            if tag != current:
                current = tag
                yield f"  {scalar(label)}:\n"
            yield f"    - {identifier(node_id)}\n"


def _differ(old: str, new: str) -> bool:
    return _entries(without_comments(old)) != _entries(new)


def _entries(text: str) -> list[str]:
    """What a file says apart from when and in which order."""
    return sorted(re.split(r"\n(?=  \S)", _UPDATED.sub("", text.replace("\r\n", "\n")).rstrip("\n")))


def _index_lines(node_id: str, timestamp: str, tags: Iterable[str], summary: str) -> str:
    return (
        f"  {identifier(node_id)}:\n"
        f"    timestamp: {moment(timestamp)}\n"
        f"    keywords: {scalar(','.join(tags))}\n"
        f"    summary: {scalar(summary)}\n"
    )


def _stamp(moment: str = "") -> str:
    """Always as wide as the last one, so that it can be overwritten in place."""
    return (moment or now()).ljust(_WIDTH)[:_WIDTH]
