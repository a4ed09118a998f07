"""`index.tsv`: relpath, uuid, timestamp; one line a file, in order of creation, only ever appended to.

The file is a map that can be rebuilt from the files it names. Lines that make no sense (the seed's own example
has `...`) are passed over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import starmap
from typing import NamedTuple

from nebula.graph.disk.files import write_all

HEADER = "relpath\tuuid\ttimestamp\n"
_TAIL = 512


class Line(NamedTuple):
    path: str
    id: str
    timestamp: str

    def text(self) -> str:
        return f"{self.path}\t{self.id}\t{self.timestamp}\n"


class Index:
    """An index file this process adds to. Its end is remembered for as long as nobody else touches the file, so that
    adding a line takes two calls to the system. Call with the store's lock held."""

    def __init__(self, path: str, suffix: str) -> None:
        self._path = path
        self._suffix = suffix
        self._handle = -1
        self._inode = 0
        self._size = -1
        self._last: Line | None = None
        self._checked = False
        """Found as it was left, a moment ago and under the same lock."""

    def last(self) -> Line | None:
        """The last line that makes sense."""
        self._checked = self._is_as_left()
        if not self._checked:
            self._last = last(self._path, self._suffix)
        return self._last

    def append(self, line: Line) -> None:
        """Adds a line in one write; one left unfinished by a crash is closed off first."""
        text = line.text().encode("utf-8")
        if not self._checked and not self._is_as_left():
            text = self._open() + text
        self._checked = False
        write_all(self._handle, text)
        self._size += len(text)
        self._last = line

    def _is_as_left(self) -> bool:
        if self._handle < 0:
            return False
        try:
            found = os.stat(self._path, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return (found.st_ino, found.st_size) == (self._inode, self._size)

    def _open(self) -> bytes:
        """Opens the file as it is now; returns what must come before the next line."""
        self.close()
        self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        found = os.fstat(self._handle)
        self._inode, self._size = found.st_ino, found.st_size
        if self._size == 0:
            return HEADER.encode("ascii")
        return b"" if os.pread(self._handle, 1, self._size - 1) == b"\n" else b"\n"

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


_ROWS = {
    suffix: re.compile(rf"^(\d{{1,9}}/\d{{1,9}}\.{suffix})\t([^\t\r\n]+)(?:\t([^\t\r\n]*))?", re.ASCII | re.MULTILINE)
    for suffix in ("xml", "yaml")
}


def parse(text: str, suffix: str) -> Iterator[Line]:
    """The lines that name a file of the store: `digits/digits.suffix` and an id, whatever follows."""
    return starmap(Line, _ROWS[suffix].findall(text))


def last(path: str, suffix: str) -> Line | None:
    """The last line that makes sense, found from the end of the file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        size = os.fstat(handle).st_size
        reach = _TAIL
        while True:
            start = max(0, size - reach)
            data = os.pread(handle, size - start, start)
            whole = data if start == 0 else data[data.find(b"\n") + 1 :]
            found = list(parse(whole.decode("utf-8", "replace"), suffix))
            if found:
                return found[-1]
            if start == 0:
                return None
            reach *= 16
    finally:
        os.close(handle)


def find(path: str, suffix: str, node_id: str) -> list[Line]:
    """The lines for an id, without reading the rest as lines: 80 megabytes take some 50 milliseconds."""
    import mmap

    found: list[Line] = []
    wanted = b"\t" + node_id.encode("utf-8", "replace")
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            place = data.find(wanted)
            while place >= 0:
                start, end = data.rfind(b"\n", 0, place) + 1, data.find(b"\n", place)
                row = data[start : end if end >= 0 else len(data)].decode("utf-8", "replace")
                found += [line for line in parse(row, suffix) if line.id == node_id]
                place = data.find(wanted, place + 1)
    except (FileNotFoundError, ValueError):  # there is none, or it is empty
        return []
    return found


def without(data: bytes, paths: set[str]) -> bytes:
    """The file's bytes without the lines of those paths; all other lines untouched."""
    gone = {path.encode("ascii") for path in paths}
    return b"".join(row for row in data.splitlines(keepends=True) if row.partition(b"\t")[0] not in gone)


def chunks(path: str, suffix: str, offset: int, size: int = 4 << 20) -> Iterator[tuple[list[Line], int]]:
    """The finished lines from a byte offset on, some megabytes at a time, each with the offset behind it."""
    with open(path, "rb") as file:
        file.seek(offset)
        while True:
            data = file.read(size)
            end = data.rfind(b"\n") + 1
            if not end:
                if len(data) < size:
                    return
                size *= 2
                file.seek(offset)
                continue
            offset += end
            file.seek(offset)
            yield list(parse(data[:end].decode("utf-8", "replace"), suffix)), offset


def has_lately(path: str, relative: str) -> bool:
    """True when a file is named in the last lines of the index."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 64 * _TAIL))
            return f"\n{relative}\t".encode("ascii") in b"\n" + file.read()
    except FileNotFoundError:
        return False


def count_odd(text: str, suffix: str) -> int:
    """Lines that are neither the header nor name a file: conflict markers, halves of lines."""
    rows = [row for row in text.removeprefix("\ufeff").split("\n") if row.strip() and row.rstrip("\r") + "\n" != HEADER]
    return len(rows) - sum(1 for _ in parse("\n".join(rows), suffix))
