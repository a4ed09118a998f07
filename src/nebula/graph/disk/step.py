"""A step that changes several files, written down before the first of them is replaced, so that whoever comes next can
finish it.

All that a step writes lies flushed in the state folder, under names of its own, before anything is replaced; then
`.state/step` says which of them takes the place of which file, and how that one was: whoever finishes the step leaves
alone what was edited since, or came back after it was removed. It is for a process that is killed: it is not flushed
itself, and when a step is done its first byte says so, since making and removing a file at each step would cost as much
as flushing one. After all of them have their places, their folders are flushed, all at one moment: one after the other
they took a third of an append (`bench/graph.py`). A power cut in the middle of a step, which nobody was told of yet,
never leaves half a file; and as file systems with a journal keep the order of renames, a node in no flow at worst. One
without (btrfs) may keep the flow and lose the node: a connection to nowhere, which `check --repair` takes out.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from nebula.files.syscalls import REAL
from nebula.graph.disk.files import STATE, Files, Signature
from nebula.graph.disk.numbered_paths import KINDS, is_path
from nebula.graph.errors import BadFile

FILE = f"{STATE}/step"
_MAX_BYTES = 32 << 20
"""A stranger's must not fill the memory when it is read; a tag that 100,000 nodes have is renamed in a third of it."""
_DONE = b"-"
_STAGED = re.compile(r"\.new-[0-9]{1,20}-[0-9]{1,20}", re.ASCII)


class Put(NamedTuple):
    """Put a file at a path of the store, in the place of what stands there."""

    path: str
    data: bytes


class Remove(NamedTuple):
    path: str


Operation = Put | Remove


class Move(NamedTuple):
    """One line of the step file: the staged file takes this path; where none is named, what stands there goes. `before`
    tells how the file there was, None where there was none."""

    path: str
    before: Signature | None
    staged: str = ""


class StepFile:
    """Use with the store's lock held."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._handle = -1

    def is_there(self) -> bool:
        """True while a step is under way, and after one that was cut short."""
        return self._files.head(FILE, 1) not in (b"", _DONE)

    def write(self, moves: Sequence[Move] | None) -> None:
        """Say what is to be done: nothing yet, while files are being staged; None when the step is done."""
        if moves == [] or self._handle < 0:
            self._close()
            self._handle = self._files.open_state("step")
        os.lseek(self._handle, 0, os.SEEK_SET)
        REAL.write(self._handle, _DONE if moves is None else _encode(moves))
        if moves is None:
            self._close()

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
        self._close()
        state.remove("step")

    def _close(self) -> None:
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)


def _encode(moves: Sequence[Move]) -> bytes:
    body = json.dumps(moves).encode("ascii")
    return b"%08x\n%s\n" % (zlib.crc32(body), body)


def _decode(data: bytes) -> list[Move]:
    """Return nothing for what no step of ours says: it may be cut short, or the folder may come from a stranger."""
    head, _, rest = data.partition(b"\n")
    body = rest.partition(b"\n")[0]  # what comes after it is of a longer step before
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
    return Move(path, None if before is None else Signature(*map(int, before)), staged)


def is_ours(path: str) -> bool:
    kind, _, rest = path.partition("/")
    return kind in KINDS and is_path(rest, KINDS[kind])
