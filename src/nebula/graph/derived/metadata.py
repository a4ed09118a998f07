"""`metadata/tags.yaml` and `metadata/index.yaml` (seed §6.1, §6.2): derived, for people and other programs.

A change only leaves a mark; the files are written anew once changes have stopped and at the end, in a large folder
after ten minutes at the earliest. A mark that is still there at the next start means the writer was interrupted.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterable, Iterator

from nebula.graph.derived.node_cache import NodeCache
from nebula.graph.disk.data_folder import DataFolder
from nebula.graph.disk.node_files import INDEX as NODE_INDEX
from nebula.graph.errors import BadFile
from nebula.graph.formats.yaml_comments import with_comments, without_comments
from nebula.graph.formats.yaml_text import identifier, moment, scalar
from nebula.graph.ids import now

INDEX = "metadata/index.yaml"
TAGS = "metadata/tags.yaml"
_MARK = "metadata-is-old"
_UPDATED = re.compile(r"\Aupdated: [^\n]*\n")
_FEW = 2000
_LARGE_INDEX = 160 * 1024
"""Bytes of some 2,000 lines: writing the files takes 0.1 s of CPU then."""
_LONG_AGO = 600.0


class Metadata:
    def __init__(self, disk: DataFolder, cache: NodeCache) -> None:
        self._disk = disk
        self._cache = cache
        self._is_unmarked = False

    def _mark_path(self) -> str:
        return os.path.join(self._disk.derived, _MARK)

    def mark_old(self) -> None:
        """The files have to be written anew. Where a full home takes no mark, this process alone knows of it."""
        try:
            with open(self._mark_path(), "a", encoding="ascii"):
                pass
        except OSError:
            self._is_unmarked = True

    def is_old(self) -> bool:
        return self._is_unmarked or os.path.exists(self._mark_path())

    def is_worth_waiting_for(self) -> bool:
        """False for a large folder whose files were written lately: writing them takes longer than a turn is worth."""
        found = self._disk.signature(NODE_INDEX)
        if found is None or found.size <= _LARGE_INDEX:
            return True
        try:
            age = time.time() - os.stat(self._mark_path()).st_mtime
        except FileNotFoundError:
            return False  # another process has done it meanwhile
        is_known = self._cache.count_roughly() > 0 and self._cache.count_unread() <= _FEW
        return is_known and age > _LONG_AGO

    def rewrite(self) -> bool:
        """Write both files from what the nodes say; return True if that changed them. Take the lock at the end."""
        self._cache.refresh()
        self._cache.read_all()
        with self._disk.exclusive():
            # Nodes that came in while the lock was not held are few.
            self._cache.refresh()
            self._cache.read_all()
            try:
                changed = [self._write(INDEX, self._index()), self._write(TAGS, self._tags())]
            except BadFile:  # it stays old, and `check` says why
                return False
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._mark_path())
            self._is_unmarked = False
            return any(changed)

    def _write(self, path: str, lines: Iterable[str]) -> bool:
        text, old = "".join(lines), self._text_of(path)
        if not _differ(old, text):
            return False
        self._disk.replace(path, with_comments(text, old).encode("utf-8"))
        return True

    def _text_of(self, path: str) -> str:
        """Return what stands there; nothing in the place of what is no file."""
        try:
            return (self._disk.read(path) or b"").decode("utf-8", "replace")
        except BadFile:
            return ""

    def stale(self) -> list[str]:
        """Return the files that do not say what the nodes say; one that is not there at all is nobody's problem."""
        self._cache.refresh()
        self._cache.scan()
        self._cache.read_all()
        return [
            path
            for path, lines in ((INDEX, self._index()), (TAGS, self._tags()))
            if self._disk.signature(path) and _differ(self._text_of(path), "".join(lines))
        ]

    def _index(self) -> Iterator[str]:
        rows = self._cache.ask(
            "SELECT id, timestamp, tags, summary FROM files WHERE state = 1 AND shadowed = 0 ORDER BY moment, path"
        )
        yield f"updated: {now()}\nnodes:\n" if rows else f"updated: {now()}\nnodes: {{}}\n"
        for node_id, timestamp, tags, summary in rows:
            yield _index_lines(node_id, timestamp, tags.split("\n"), summary)

    def _tags(self) -> Iterator[str]:
        rows = self._cache.ask(
            "SELECT tags.tag, tags.label, files.id FROM tags JOIN files ON files.doc = tags.doc"
            " WHERE files.shadowed = 0 ORDER BY tags.tag, files.moment, files.path"
        )
        yield f"updated: {now()}\ntags:\n" if rows else f"updated: {now()}\ntags: {{}}\n"
        current = None
        for tag, label, node_id in rows:
            if tag != current:
                current = tag
                yield f"  {scalar(label)}:\n"
            yield f"    - {identifier(node_id)}\n"


def _differ(old: str, new: str) -> bool:
    return _entries(without_comments(old)) != _entries(new)


def _entries(text: str) -> list[str]:
    """Return what a file says apart from when and in which order."""
    return sorted(re.split(r"\n(?=  \S)", _UPDATED.sub("", text.replace("\r\n", "\n")).rstrip("\n")))


def _index_lines(node_id: str, timestamp: str, tags: Iterable[str], summary: str) -> str:
    return (
        f"  {identifier(node_id)}:\n"
        f"    timestamp: {moment(timestamp)}\n"
        f"    keywords: {scalar(','.join(tags))}\n"
        f"    summary: {scalar(summary)}\n"
    )
