"""An `index.tsv` on the disk: a map from ids to files that can be rebuilt from the files it names.

One that cannot be read (a pipe or a link in its place, far too large) counts as empty: `check` reports it, and the
files themselves say the same.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from nebula.files.descriptors import closed_after
from nebula.files.syscalls import REAL
from nebula.graph.disk import numbered_paths
from nebula.graph.disk.files import Files, Signature
from nebula.graph.errors import BadFile
from nebula.graph.formats.tsv import HEADER, Line, parse, without
from nebula.graph.values import Node
from nebula.language import Sentence

_TAIL = 512
_PIECE = 4 << 20
MAX_BYTES = 512 << 20
"""The lines of a million nodes take a sixth of it."""


class IndexFile:
    """Add with the store's lock held."""

    def __init__(self, files: Files, path: str, suffix: str) -> None:
        self._files = files
        self._path = path
        self._suffix = suffix

    def signature(self) -> Signature | None:
        return self._files.signature(self._path)

    def free_path(self, step: int, taken: Sequence[str] | dict[str, Node] = ()) -> str:
        """Return where the next file goes: behind the last line and those `taken` (in order), past whatever is
        there."""
        last, folder = self.last(), self._path.rpartition("/")[0]
        behind = next(reversed(taken), last.path if last else None)
        number = 0 if behind is None else numbered_paths.number_of(behind, step) + 1
        while True:
            path = numbered_paths.path_of(number, step, self._suffix)
            if path not in taken and not self._files.exists(f"{folder}/{path}"):
                return path
            number += 1

    def append(self, path: str, entry_id: str, timestamp: str) -> None:
        """Add a line in one write; one left unfinished by a crash is closed off first."""
        try:
            self._unify_line_ends()
            handle = self._files.open_to_append(self._path)
        except BadFile:
            return
        with closed_after(handle):
            size = os.fstat(handle).st_size
            is_finished = size == 0 or os.pread(handle, 1, size - 1) == b"\n"
            before = HEADER if size == 0 else "" if is_finished else "\n"
            REAL.write(handle, (before + Line(path, entry_id, timestamp).text()).encode("utf-8"))

    def ensure(self, path: str, entry_id: str, timestamp: str) -> None:
        """Add a line unless one says already that this id is in this file."""
        if all(line.path != path for line in self.find(entry_id)):
            self.append(path, entry_id, timestamp)

    def remove(self, paths: Collection[str]) -> None:
        """Take out the lines of files that are gone."""
        if paths:
            with suppress(FileNotFoundError, BadFile):
                data, _ = self._files.load(self._path, MAX_BYTES)
                self._files.replace(self._path, without(data, set(paths)))

    def _unify_line_ends(self) -> None:
        """Give what git brought with the line ends of Windows those of the repository back, rather than both."""
        data = self._files.head(self._path, len(HEADER) + 1)
        if data.endswith(b"\r\n"):
            whole, _ = self._files.load(self._path, MAX_BYTES)
            self._files.replace(self._path, whole.replace(b"\r\n", b"\n"))

    def sync(self) -> None:
        """Flush the lines that were added: a power cut before that costs lines, which `check --repair` adds again."""
        handle = self._open_to_read()
        if handle >= 0:
            with closed_after(handle):
                REAL.fsync(handle)

    def open(self) -> int:
        """Return a descriptor. Raises FileNotFoundError, or BadFile for one that cannot be read."""
        handle = self._files.open(self._path)
        if os.fstat(handle).st_size > MAX_BYTES:
            os.close(handle)
            raise BadFile(self._path, Sentence("it is larger than {limit} bytes", limit=f"{MAX_BYTES:,}"))
        return handle

    def _open_to_read(self) -> int:
        """-1 where there is none that can be read."""
        try:
            return self.open()
        except (FileNotFoundError, BadFile):
            return -1

    def last(self) -> Line | None:
        """Return the last line that makes sense, found from the end of the file."""
        handle = self._open_to_read()
        if handle < 0:
            return None
        with closed_after(handle):
            size = os.fstat(handle).st_size
            reach = _TAIL
            while True:
                start = max(0, size - reach)
                data = os.pread(handle, size - start, start)
                whole = data if start == 0 else data[data.find(b"\n") + 1 :]
                found = list(parse(whole.decode("utf-8", "replace"), self._suffix))
                if found or start == 0 or reach * 16 > _PIECE:
                    return found[-1] if found else None
                reach *= 16

    def find(self, node_id: str) -> list[Line]:
        """Return the lines for an id, without reading the rest as lines: 80 megabytes take some 50 milliseconds."""
        import mmap

        handle = self._open_to_read()
        if handle < 0:
            return []
        found: list[Line] = []
        wanted = b"\t" + node_id.encode("utf-8", "replace")
        with closed_after(handle):
            if os.fstat(handle).st_size == 0:
                return []
            with mmap.mmap(handle, 0, access=mmap.ACCESS_READ) as data:
                place = data.find(wanted)
                while place >= 0:
                    start, end = data.rfind(b"\n", 0, place) + 1, data.find(b"\n", place)
                    row = data[start : end if end >= 0 else len(data)].decode("utf-8", "replace")
                    found += [line for line in parse(row, self._suffix) if line.id == node_id]
                    place = data.find(wanted, place + 1)
        return found

    def find_all(self, node_ids: Collection[str]) -> Iterator[Line]:
        """Yield the lines for any of these ids: one pass, for many are asked for at once. Only theirs are read as
        lines: 50,000 take 9 ms so, and 60 ms if all of them are."""
        wanted = {node_id.encode("utf-8", "replace") for node_id in node_ids}
        for data in self._pieces():
            rows = data.replace(b"\r", b"\t") if b"\r" in data else data
            for row in rows.split(b"\n"):
                parts = row.split(b"\t", 2)
                if len(parts) > 1 and parts[1] in wanted:
                    yield from parse(row.decode("utf-8", "replace"), self._suffix)

    def lines(self) -> Iterator[Line]:
        """Yield every finished line."""
        for data in self._pieces():
            yield from parse(data.decode("utf-8", "replace"), self._suffix)

    def _pieces(self) -> Iterator[bytes]:
        """Yield the finished lines, some megabytes at a time."""
        handle = self._open_to_read()
        if handle < 0:
            return
        with closed_after(handle):
            offset = 0
            while data := os.pread(handle, _PIECE, offset):
                end = data.rfind(b"\n") + 1
                if end == 0 and len(data) < _PIECE:
                    return
                offset += end or _PIECE  # no line of ours is that long
                yield data[:end]
