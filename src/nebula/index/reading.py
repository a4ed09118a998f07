"""A file of the project as the index reads it: the reader that every room uses, and git's name for the content."""

from __future__ import annotations

import hashlib
import os
import stat
import time

from nebula.files.reading import UnreadableFile, read_below
from nebula.index.chunks.encoding import NotText, as_utf8
from nebula.index.chunks.lines import Lines, has_only_overlong_lines
from nebula.index.constants import MAX_CHUNK_BYTES, MAX_FILE_BYTES, SETTLED_NS
from nebula.index.records import Source
from nebula.index.values import Skipped


class Root:
    """The project's folder, held open."""

    def __init__(self, path: str, hash_name: str = "sha1") -> None:
        self.path = os.path.realpath(path)
        self.hash_name = hash_name
        self._fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def close(self) -> None:
        os.close(self._fd)

    def stat(self, path: str) -> tuple[int, int] | None:
        """(size, mtime) of a regular file; None where there is none. A link is none."""
        try:
            found = os.stat(path, dir_fd=self._fd, follow_symlinks=False)
        except (OSError, ValueError):
            return None
        return (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None

    def read(self, path: str, size: int, mtime_ns: int) -> Source | Skipped:
        """The file, with the size and time it had before it was read."""
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
        return Source(path, text, self.blob_id(data), size, settled(mtime_ns))

    def lines(self, path: str, blob: str) -> Lines | None:
        """Of a file that still has this content."""
        source = self.read(path, 0, 0)
        return Lines(source.data) if isinstance(source, Source) and source.blob == blob else None

    def blob_id(self, data: bytes) -> str:
        return hashlib.new(self.hash_name, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def settled(mtime_ns: int) -> int:
    """The time, or 0 if it is so recent that another write could leave the same one: the file is then read again."""
    return mtime_ns if time.time_ns() - mtime_ns > SETTLED_NS else 0
