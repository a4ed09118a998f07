"""A step that changes several files, written down before the first of them is replaced, so that whoever comes next can
finish it.

All that a step writes lies flushed in the state folder, under names of its own, before anything is replaced; then
`.state/step` says which of them takes the place of which file. It is there for as long as a step is under way (empty
while the files are being written), and is for a process that is killed: it is not flushed itself. After all of them
have their places, each folder is flushed once. A power cut in the middle of a step, which nobody was told of yet, never
leaves half a file; and as file systems with a journal keep the order of renames, a node in no flow at worst.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from nebula.files.syscalls import REAL
from nebula.graph.disk.files import STATE, Files
from nebula.graph.disk.numbered_paths import KINDS, is_path
from nebula.graph.errors import BadFile

FILE = f"{STATE}/step"
_MAX_BYTES = 8 * 1024 * 1024
"""A stranger's must not fill the memory when it is read."""
_STAGED = re.compile(r"\.new-[0-9]{1,20}-[0-9]{1,20}", re.ASCII)


class Put(NamedTuple):
    """Replace the file at a path of the store; `before` is the checksum of what stood there (-1: nothing)."""

    path: str
    data: bytes
    before: int


class Remove(NamedTuple):
    path: str
    before: int


Operation = Put | Remove


class Move(NamedTuple):
    """One line of the step file: the staged file takes this path; where none is named, what stands there goes."""

    path: str
    before: int
    staged: str = ""


def checksum(data: bytes | None) -> int:
    return -1 if data is None else zlib.crc32(data)


class StepFile:
    """Use with the store's lock held."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def is_there(self) -> bool:
        return self._files.signature(FILE) is not None

    def write(self, moves: Sequence[Move]) -> None:
        """Say what is to be done; nothing yet, while files are being staged."""
        handle = self._files.open_state("step", create=True)
        try:
            REAL.write(handle, _encode(moves) if moves else b"")
        finally:
            os.close(handle)

    def read(self) -> list[Move]:
        """Return what is to be done; nothing where the step was not written to its end, and so not begun."""
        try:
            data, _ = self._files.load(FILE, _MAX_BYTES)
        except (FileNotFoundError, BadFile):
            return []
        return _decode(data)

    def clear(self) -> None:
        """Remove the step, and what was staged for it and did not come to its place."""
        state = self._files.state
        for name in os.listdir(state.fd):
            if _STAGED.fullmatch(name):
                state.remove(name)
        state.remove("step")

    def end(self) -> None:
        """Remove the step that is done; whoever comes next finds nothing left of one that cannot be removed."""
        with contextlib.suppress(OSError):
            self._files.state.remove("step")


def _encode(moves: Sequence[Move]) -> bytes:
    body = json.dumps(moves).encode("ascii")
    return b"%08x\n" % zlib.crc32(body) + body


def _decode(data: bytes) -> list[Move]:
    """Return nothing for what no step of ours says: it may be cut short, or the folder may come from a stranger."""
    head, _, body = data.partition(b"\n")
    try:
        if int(head, 16) != zlib.crc32(body):
            return []
        return [_read_move(row) for row in json.loads(body)]
    except (ValueError, TypeError, RecursionError):
        return []


def _read_move(row: Sequence[Any]) -> Move:
    """Return the move of a row. Raises ValueError or TypeError."""
    path, before, staged = row
    if not is_ours(path) or not (staged == "" or _STAGED.fullmatch(staged)):
        raise ValueError(row)
    return Move(path, int(before), staged)


def is_ours(path: str) -> bool:
    kind, _, rest = path.partition("/")
    return kind in KINDS and is_path(rest, KINDS[kind])
