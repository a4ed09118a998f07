"""Makes several file writes one durable step at the price of one disk flush.

A step (a node's file and its flow's file, say) is first written to the journal and flushed there; then the
files themselves are replaced without waiting for the disk. From that moment the step survives both a kill and a
power cut: `recover` finishes what the journal holds and the files lack. A checkpoint flushes the files in
the background and empties the journal. The journal is preallocated, so its flush moves no file system metadata
and costs less than flushing one new file.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .files import write_all

CAPACITY = 1 << 20
_FILE_HEADER = struct.Struct("<8sQ")
_RECORD_HEADER = struct.Struct("<4sQIII")
_FILE_MAGIC = b"graphjn1"
_RECORD_MAGIC = b"step"


class Put(NamedTuple):
    """Replace the file at a path of the store; `before` is the checksum of what stood there (-1: nothing)."""

    path: str
    data: bytes
    before: int


class Remove(NamedTuple):
    path: str
    before: int


Operation = Put | Remove


@dataclass(frozen=True, slots=True)
class Step:
    boot: str
    operations: tuple[Operation, ...]


def checksum(data: bytes | None) -> int:
    return -1 if data is None else zlib.crc32(data)


def boot_id() -> str:
    """Tells one run of the machine from the next: within one run written files cannot be lost."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


class Journal:
    """The file. All methods but `fits` must be called with the store's lock held."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._handle = -1
        self._boot = ""
        self._epoch = 0
        self._count = 0
        self._tail = _FILE_HEADER.size

    @staticmethod
    def fits(operations: Sequence[Operation]) -> bool:
        """A quarter of the journal at most; larger steps are better flushed in place."""
        return sum(len(op.data) for op in operations if isinstance(op, Put)) <= CAPACITY // 4

    def append(self, operations: Sequence[Operation], *, durable: bool = True) -> bool:
        """Records a step, by default on the disk on return. False when there is no room before a checkpoint."""
        self._catch_up()
        payload = _encode(self._boot, operations)
        size = _RECORD_HEADER.size + len(payload)
        if self._tail + size > CAPACITY:
            return False
        head = _RECORD_HEADER.pack(_RECORD_MAGIC, self._epoch, self._count, len(payload), zlib.crc32(payload))
        os.pwrite(self._handle, head + payload, self._tail)
        if durable:
            os.fdatasync(self._handle)
        self._tail += size
        self._count += 1
        return True

    def steps(self) -> list[Step]:
        """All steps since the last checkpoint, oldest first."""
        if not os.path.exists(self._path):
            return []
        self._open()
        data = os.pread(self._handle, CAPACITY, 0)
        steps = []
        for start, end in self._records(data):
            steps.append(_decode(data[start:end]))
        return steps

    def mark(self) -> tuple[int, int]:
        """Where the journal stands: changes whenever a step is recorded or a checkpoint taken, by anyone."""
        self._catch_up()
        return self._epoch, self._tail

    def is_empty(self) -> bool:
        return not os.path.exists(self._path) or self.mark()[1] == _FILE_HEADER.size

    def clear(self) -> None:
        """Forgets all steps: their files have been flushed. Old records lose their meaning by the epoch."""
        self._catch_up()
        self._epoch += 1
        self._write_header()

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _open(self) -> None:
        if self._handle >= 0:
            return
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._handle = os.open(self._path, flags, 0o600)
        self._boot = boot_id()
        if os.fstat(self._handle).st_size < CAPACITY or self._stored_epoch() is None:
            os.ftruncate(self._handle, 0)
            # Real zeros: a hole or an unwritten extent would cost metadata at each flush.
            write_all(self._handle, bytes(CAPACITY))
            self._epoch = int.from_bytes(os.urandom(6), "big")
            self._write_header()
            os.fsync(self._handle)

    def _stored_epoch(self) -> int | None:
        magic, epoch = _FILE_HEADER.unpack(os.pread(self._handle, _FILE_HEADER.size, 0))
        return int(epoch) if magic == _FILE_MAGIC else None

    def _write_header(self) -> None:
        os.pwrite(self._handle, _FILE_HEADER.pack(_FILE_MAGIC, self._epoch), 0)
        self._count, self._tail = 0, _FILE_HEADER.size

    def _catch_up(self) -> None:
        """Follows what other processes recorded since we last looked."""
        self._open()
        epoch = self._stored_epoch()
        if epoch != self._epoch and epoch is not None:
            self._epoch, self._count, self._tail = epoch, 0, _FILE_HEADER.size
        head = os.pread(self._handle, _RECORD_HEADER.size, self._tail)
        if head[:4] == _RECORD_MAGIC:
            data = os.pread(self._handle, CAPACITY, 0)
            for _ in self._records(data, self._tail, self._count):
                pass

    def _records(self, data: bytes, tail: int = _FILE_HEADER.size, count: int = 0) -> list[tuple[int, int]]:
        """Places of the valid records from `tail` on; leaves the journal's own tail behind the last."""
        epoch = self._stored_epoch()
        places = []
        while tail + _RECORD_HEADER.size <= len(data):
            magic, stamp, number, size, sum_ = _RECORD_HEADER.unpack_from(data, tail)
            start = tail + _RECORD_HEADER.size
            payload = data[start : start + size]
            if (magic, stamp, number) != (_RECORD_MAGIC, epoch, count) or len(payload) < size:
                break
            if zlib.crc32(payload) != sum_:
                break
            tail, count = start + size, count + 1
            places.append((start, tail))
        self._epoch, self._tail, self._count = epoch or 0, tail, count
        return places


def _encode(boot: str, operations: Sequence[Operation]) -> bytes:
    table = [[op.path, len(op.data) if isinstance(op, Put) else -1, op.before] for op in operations]
    head = json.dumps([boot, table]).encode("ascii") + b"\n"
    return head + b"".join(op.data for op in operations if isinstance(op, Put))


def _decode(payload: bytes) -> Step:
    head, _, rest = payload.partition(b"\n")
    boot, table = json.loads(head)
    operations: list[Operation] = []
    for path, size, before in table:
        if size < 0:
            operations.append(Remove(path, before))
        else:
            operations.append(Put(path, rest[:size], before))
            rest = rest[size:]
    return Step(boot, tuple(operations))
