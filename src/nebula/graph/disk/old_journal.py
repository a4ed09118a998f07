"""The journal of earlier versions, `.state/journal`: read once, so that an update loses no turn.

It holds the steps whose files may not have reached the disk, and additions to flows that their files lack. Each record
is a header and a payload: a line of JSON that says what to do, and the contents of the files. A long payload lies in
a file of its own, which the record names.
"""

from __future__ import annotations

import json
import os
import re
import struct
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from nebula.graph.disk.files import STATE, Files
from nebula.graph.disk.step import Put, Remove, is_ours
from nebula.graph.errors import BadFile
from nebula.graph.values import Connection

FILE = f"{STATE}/journal"
_HALF = 1024 * 1024
_FIRST_HALF = 4096
_MAX_ASIDE = 320 * 1024 * 1024
_HEAD = struct.Struct("<8sQ")
_RECORD = struct.Struct("<4sQIII")
_ASIDE = re.compile(rb"(step-[0-9a-f]{16}) \d+\n", re.ASCII)


class Extend(NamedTuple):
    """Add nodes and connections to the flow at a path."""

    path: str
    nodes: tuple[str, ...]
    connections: tuple[Connection, ...]


class OldJournal:
    def __init__(self, files: Files) -> None:
        self._files = files

    def is_there(self) -> bool:
        return self._files.signature(FILE) is not None

    def read(self) -> list[Put | Remove | Extend]:
        """Return what it holds, oldest first; nothing of what is damaged, or no journal of ours."""
        try:
            data, _ = self._files.load(FILE, _FIRST_HALF + 2 * _HALF)
        except (FileNotFoundError, BadFile):
            return []
        if len(data) < _FIRST_HALF or data[:8] != b"graphjn2":
            return []
        epoch = _HEAD.unpack_from(data)[1]
        start = _FIRST_HALF + epoch % 2 * _HALF
        try:
            return [each for payload in self._payloads(data[start : start + _HALF], epoch) for each in _read(payload)]
        except (ValueError, TypeError, RecursionError):
            return []

    def _payloads(self, half: bytes, epoch: int) -> Iterator[bytes]:
        at = number = 0
        while at + _RECORD.size <= len(half):
            magic, stamp, count, size, crc = _RECORD.unpack_from(half, at)
            payload = half[at + _RECORD.size : at + _RECORD.size + size]
            if (magic, stamp, count) != (b"step", epoch, number) or zlib.crc32(payload) != crc:
                return
            aside = _ASIDE.fullmatch(payload)
            try:
                yield self._files.load(f"{STATE}/{aside[1].decode()}", _MAX_ASIDE)[0] if aside else payload
            except (FileNotFoundError, BadFile):
                return
            at, number = at + _RECORD.size + size, number + 1

    def remove(self) -> None:
        state = self._files.state
        for name in os.listdir(state.fd):
            if name.startswith("step-"):
                state.remove(name)
        state.remove("journal")


def _read(payload: bytes) -> Iterator[Put | Remove | Extend]:
    """Yield what a payload says. Raises ValueError or TypeError for what none of ours says."""
    line, _, rest = payload.partition(b"\n")
    _boot, rows = json.loads(line)
    for kind, path, *more in rows:
        if not is_ours(path):
            raise ValueError(path)
        if kind == "put":
            before, size = map(int, more)
            yield Put(path, rest[:size], before)
            rest = rest[size:]
        elif kind == "remove":
            yield Remove(path, int(*more))
        else:
            yield _read_extend(path, *more)


def _read_extend(path: str, nodes: list[Any], edges: list[Any], _updated: object) -> Extend:
    connections = (Connection(str(source), str(target), branch and str(branch)) for source, target, branch in edges)
    return Extend(path, tuple(map(str, nodes)), tuple(connections))
