"""A step that changes several files, written down before it begins, so that whoever comes next can finish it.

`.state/step` holds what all files of a step will be, from before the first of them is replaced until the last one is
and the indexes know of it; the rest of the time it is empty. It is for a process that is killed, and is not flushed:
each file of a step is on the disk before it takes its name, nodes before the flows that name them. So a power cut in
the middle of a step, which nobody was told of yet, leaves a node in no flow at worst, and never half a file.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from nebula.files.syscalls import REAL
from nebula.graph.disk.files import STATE, Files
from nebula.graph.disk.numbered_paths import KINDS, is_path
from nebula.graph.errors import BadFile

FILE = f"{STATE}/step"
_MAX_BYTES = 640 * 1024 * 1024
_MAX_TABLE = 8 * 1024 * 1024
"""Of what a step does, without the contents of files: a stranger's must not fill the memory when it is read."""


class Put(NamedTuple):
    """Replace the file at a path of the store; `before` is the checksum of what stood there (-1: nothing)."""

    path: str
    data: bytes
    before: int


class Remove(NamedTuple):
    path: str
    before: int


Operation = Put | Remove


def checksum(data: bytes | None) -> int:
    return -1 if data is None else zlib.crc32(data)


class StepFile:
    """Write and clear with the store's lock held."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def is_there(self) -> bool:
        found = self._files.signature(FILE)
        return found is not None and found.size > 0

    def write(self, operations: Sequence[Operation]) -> None:
        handle = self._files.open_state("step", create=True)
        try:
            REAL.write(handle, _encode(operations))
        except BaseException:
            os.ftruncate(handle, 0)
            raise
        finally:
            os.close(handle)

    def read(self) -> list[Operation]:
        """Return what is to be done; nothing where the step was not written to its end, and so not begun."""
        try:
            data, _ = self._files.load(FILE, _MAX_BYTES)
        except (FileNotFoundError, BadFile):
            return []
        return _decode(data)

    def clear(self) -> None:
        handle = self._files.open_state("step", create=True)
        try:
            os.ftruncate(handle, 0)
        finally:
            os.close(handle)

    def sweep(self) -> None:
        """Remove what killed writers left unfinished."""
        state = self._files.state
        for name in os.listdir(state.fd):
            if name.startswith(".new-"):
                state.remove(name)


def _encode(operations: Sequence[Operation]) -> bytes:
    table = [[*op[:1], op.before, len(op.data) if isinstance(op, Put) else -1] for op in operations]
    body = json.dumps(table).encode("ascii") + b"\n" + b"".join(op.data for op in operations if isinstance(op, Put))
    return b"%08x\n" % zlib.crc32(body) + body


def _decode(data: bytes) -> list[Operation]:
    """Return nothing for what no step of ours says: it may be cut short, or the folder may come from a stranger."""
    start = data.find(b"\n", 0, 16) + 1
    end = data.find(b"\n", start, start + _MAX_TABLE)
    rest = memoryview(data)[end + 1 :]
    operations: list[Operation] = []
    try:
        if end < 0 or int(data[:start], 16) != zlib.crc32(memoryview(data)[start:]):
            return []
        for row in json.loads(data[start:end]):
            operation, rest = _operation(row, rest)
            operations.append(operation)
    except (ValueError, TypeError, RecursionError):
        return []
    return operations


def _operation(row: Sequence[Any], rest: memoryview) -> tuple[Operation, memoryview]:
    """Return the operation of a row, and what is left of the contents. Raises ValueError or TypeError."""
    path, before, size = row
    if not is_ours(path):
        raise ValueError(path)
    if size < 0:
        return Remove(path, int(before)), rest
    return Put(path, bytes(rest[:size]), int(before)), rest[size:]


def is_ours(path: str) -> bool:
    kind, _, rest = path.partition("/")
    return kind in KINDS and is_path(rest, KINDS[kind])
