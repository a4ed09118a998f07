"""A file of the project as the index reads it: the reader that every room uses, and git's name for the content.

Here is decided whether a file changed. Its content decides, by git's name for it (`Root.lines`). A look at all files
(`may_have_changed`) spares reading those whose stamp is the same; what is asked for by name is always read.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import threading
import time
from collections.abc import Iterable

from nebula.files.reading import UnreadableFile, read_below, read_or_empty
from nebula.git import find_repository, git_folders
from nebula.index.chunks.encoding import NotText, as_utf8
from nebula.index.chunks.lines import Lines, has_only_overlong_lines
from nebula.index.constants import MAX_CHUNK_BYTES, MAX_FILE_BYTES, SETTLED_NS
from nebula.index.errors import IndexStopped, OutsideRoot
from nebula.index.stores.rows import IndexedFile, Source, Stamp
from nebula.index.values import Skipped

NO_STAMP = Stamp(-1, 0, 0)
"""The stamp of no file."""
_MAX_CONFIG = 1_000_000
_SHA256 = re.compile(rb"^[ \t]*objectformat[ \t]*=[ \t]*\"?sha256\"?[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_HASH_LETTERS = {"sha1": 40, "sha256": 64}


class Root:
    """The project's folder, held open."""

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path)
        self.hash_name = object_format(self.path)
        self._fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.stop = threading.Event()
        """Once it is set no further file is read."""

    def close(self) -> None:
        os.close(self._fd)

    def look_at_repository(self) -> None:
        """Name contents as the repository does now: it may have been made, or made anew, since the last look."""
        self.hash_name = object_format(self.path)

    def inside(self, path: str) -> str:
        """Return a path as the index writes it: below the root, with "/" between names. Raises OutsideRoot."""
        full = os.path.normpath(os.path.join(self.path, path))
        inner = os.path.relpath(full, self.path)
        if inner == ".." or inner.startswith("../") or os.path.isabs(inner) or "\0" in path:
            raise OutsideRoot("{path}: outside the project.", path=path)
        return "" if inner == "." else inner

    def stat(self, path: str) -> Stamp | None:
        """Return the stamp of a regular file; None where there is none. A link is none."""
        try:
            found = os.stat(path, dir_fd=self._fd, follow_symlinks=False)
        except (OSError, ValueError):
            return None
        is_file = stat.S_ISREG(found.st_mode)
        return Stamp(found.st_size, found.st_mtime_ns, found.st_ctime_ns) if is_file else None

    def may_have_changed(self, known: IndexedFile, found: Stamp) -> bool:
        """Return whether a file has to be read to know, or its content is named as the repository no longer does."""
        return found != known.stamp or len(known.blob) != _HASH_LETTERS[self.hash_name]

    def read(self, path: str, stamp: Stamp) -> Source | Skipped:
        """Return the file, with the stamp it had before it was read. Raises IndexStopped."""
        self.check_stop()
        try:
            data = read_below(self._fd, path, MAX_FILE_BYTES, follow=False)
        except UnreadableFile as error:
            return Skipped(path, error.reason)
        if data is None:
            return Skipped(path, "it is gone")
        try:
            text = as_utf8(data)
        except NotText as problem:
            return Skipped(path, str(problem))
        if has_only_overlong_lines(text):
            return Skipped(path, f"a line is longer than {MAX_CHUNK_BYTES:,} bytes")
        return Source(path, text, _blob_id(data, self.hash_name), settled(stamp))

    def check_stop(self) -> None:
        """Raise IndexStopped where somebody asked to stop."""
        if self.stop.is_set():
            raise IndexStopped("The work on the index was stopped.")

    def lines_of(self, wanted: Iterable[tuple[str, str, int]]) -> dict[str, Lines | None]:
        """Return path → the lines of the file, None where it no longer has that content. `wanted`: (path, blob, last
        line) of the chunks to be read; what lies behind the last of them is left out."""
        last: dict[tuple[str, str], int] = {}
        for path, blob, line in wanted:
            last[path, blob] = max(line, last.get((path, blob), 0))
        return {path: self._lines(path, blob, most) for (path, blob), most in last.items()}

    def _lines(self, path: str, blob: str, most: int) -> Lines | None:
        source = self.read(path, NO_STAMP)
        return Lines(source.data, most) if isinstance(source, Source) and source.blob == blob else None


def _blob_id(data: bytes, hash_name: str) -> str:
    return hashlib.new(hash_name, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def settled(stamp: Stamp) -> Stamp:
    """Return the stamp, or one that fits no file if another write could leave the same: the file is then read again."""
    return stamp if time.time_ns() - max(stamp.mtime_ns, stamp.ctime_ns) > SETTLED_NS else NO_STAMP


def object_format(root: str) -> str:
    """Return the hash by which the repository that `root` lies in names contents, "sha256" or "sha1", from its
    configuration: every search asks, so git is not run."""
    place = find_repository(root)
    config = read_or_empty(git_folders(*place)[1], "config", _MAX_CONFIG) if place else b""
    return "sha256" if _SHA256.search(config) else "sha1"
