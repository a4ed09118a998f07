"""Makes several file writes one durable step at the price of one disk flush.

A step (a node's file and its flow's file, say) is first written to the journal and flushed there; then the
files themselves are replaced without waiting for the disk. From that moment the step survives both a kill and a
power cut: `DataFolder.recover` finishes what the journal holds and the files lack. A checkpoint flushes the files in
the background and empties the journal. The journal is preallocated, so its flush moves no file system metadata
and costs less than flushing one new file. It has two halves: a checkpoint carries the steps that came in
meanwhile over to the other half, and so never makes a writer wait for more than a moment.

A step too large for that (a node with a long answer) is written to a file of its own beside the journal, which records
the name of it.

Additions to a long flow are journalled as such (`Extend`) and reach the flow's file with the next checkpoint;
whoever reads the flow before that adds them to what the file says.
"""

from __future__ import annotations

import errno
import json
import os
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from nebula.files.syscalls import REAL
from nebula.graph.disk.files import STATE, Files
from nebula.graph.disk.lock import StoreLock
from nebula.graph.disk.numbered_paths import KINDS, is_path
from nebula.graph.errors import BadFile
from nebula.graph.values import Connection

CAPACITY = 1024 * 1024
"""Of each half."""
_INLINE = CAPACITY // 4
"""Larger steps lie aside."""
_MAX_ASIDE = 320 * 1024 * 1024
_MAX_TABLE = 8 * 1024 * 1024
"""Of what a step does, without the contents of files: a stranger's must not fill the memory when it is read."""
_ASIDE = re.compile(rb"(step-[0-9a-f]{16}) (\d+)\n", re.ASCII)
_FILE_HEADER = struct.Struct("<8sQ")
_RECORD_HEADER = struct.Struct("<4sQIII")
_MARK = struct.Struct("<qq")
_FILE_MAGIC = b"graphjn2"
_RECORD_MAGIC = b"step"
_HEADER_ROOM = 4096
_FILE_SIZE = _HEADER_ROOM + 2 * CAPACITY


class Put(NamedTuple):
    """Replace the file at a path of the store; `before` is the checksum of what stood there (-1: nothing)."""

    path: str
    data: bytes
    before: int


class Remove(NamedTuple):
    path: str
    before: int


class Extend(NamedTuple):
    """Add nodes and connections to the flow at a path, at the time `updated`."""

    path: str
    nodes: tuple[str, ...]
    connections: tuple[Connection, ...]
    updated: str


Operation = Put | Remove | Extend


class JournalStep(NamedTuple):
    boot: str
    operations: tuple[Operation, ...]


class Mark(NamedTuple):
    """Where the journal stands; a new epoch, in the other half, begins with each checkpoint."""

    epoch: int
    tail: int

    def __bytes__(self) -> bytes:
        return _MARK.pack(*self)


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
    """The file. `append` and `drop` need the store's lock; looking does not, a record counts when it is whole. Whoever
    takes the lock calls `look`: while it is held, nobody else can have written."""

    def __init__(self, files: Files, lock: StoreLock) -> None:
        self._files = files
        self._lock = lock
        self._handle = -1
        self._boot = ""
        self._last = 0
        self.foreign = 0
        """Grows whenever another process was seen to have recorded something."""
        self._begin(-1)

    def append(self, operations: Sequence[Operation]) -> bool:
        """Records a step, on the disk on return. False when there is no room before a checkpoint."""
        self._look(create=True)
        step = JournalStep(self._boot, tuple(operations))
        record = self._record(step)
        if self._tail + len(record) > self._start() + CAPACITY:
            return False
        self._last = self._tail
        try:
            os.pwrite(self._handle, record, self._tail)
            os.fdatasync(self._handle)
        except OSError:
            self.retract()
            raise
        self._tail += len(record)
        self._note(step)
        return True

    def retract(self) -> None:
        """Takes back the step recorded last, which could not be carried out. A checkpoint must follow: readers may
        have seen the step, and only a new epoch makes them look again."""
        os.pwrite(self._handle, bytes(_RECORD_HEADER.size), self._last)
        os.fdatasync(self._handle)
        self._begin(-1)
        self.look()

    def mark(self) -> Mark:
        """Changes whenever a step is recorded or a checkpoint taken, by any process."""
        self._look()
        return Mark(self._epoch, self._tail)

    def outline(self) -> list[JournalStep]:
        """The steps since the last checkpoint, oldest first, without the contents of files."""
        self._look()
        return self._steps

    def extended(self) -> dict[str, list[Extend]]:
        """The additions since the last checkpoint by path, oldest first."""
        self._look()
        return self._extended

    def steps(self) -> list[JournalStep]:
        """The steps since the last checkpoint with contents."""
        self._look()
        if self._handle < 0:
            return []
        data = self._read_half()
        return [step for step, _ in self._records(data, 0, 0)]

    def is_full(self) -> bool:
        """True when it is time for a checkpoint."""
        return self._tail - self._start() > CAPACITY // 2

    def drop(self, count: int) -> None:
        """Forgets the oldest steps: their files have been flushed. The rest goes to the other half, and the header
        says so only when it is there; records of an older epoch mean nothing."""
        self._look(create=True)
        kept = self.steps()[count:]
        self._begin(self._epoch + 1)
        for step in kept:
            record = self._record(step)
            os.pwrite(self._handle, record, self._tail)
            self._tail += len(record)
            self._note(step)
        if kept:
            os.fdatasync(self._handle)
        os.pwrite(self._handle, _FILE_HEADER.pack(_FILE_MAGIC, self._epoch), 0)
        if kept:
            os.fdatasync(self._handle)
        self._sweep()

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
            self._begin(-1)

    def _start(self) -> int:
        return _HEADER_ROOM + (self._epoch % 2) * CAPACITY

    def _begin(self, epoch: int) -> None:
        self._epoch = epoch
        self._tail = self._start()
        self._steps: list[JournalStep] = []
        self._extended: dict[str, list[Extend]] = {}
        self._aside: set[str] = set()

    def _record(self, step: JournalStep) -> bytes:
        payload = _encode(step)
        if len(payload) > _INLINE:
            payload = self._set_aside(payload)
        head = _RECORD_HEADER.pack(_RECORD_MAGIC, self._epoch, len(self._steps), len(payload), zlib.crc32(payload))
        return head + payload

    def _set_aside(self, payload: bytes) -> bytes:
        """Writes it to a file of its own, on the disk on return; returns what the journal says instead."""
        if len(payload) > _MAX_ASIDE or payload.find(b"\n", 0, _MAX_TABLE) < 0:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        name = f"step-{os.urandom(8).hex()}"
        self._files.replace(f"{STATE}/{name}", payload, durable=True)
        self._aside.add(name)
        return f"{name} {zlib.crc32(payload)}\n".encode("ascii")

    def _from_aside(self, payload: bytes) -> bytes | None:
        """The step that a record names, where it lies aside; None when it is not there as it was written."""
        found = _ASIDE.fullmatch(payload)
        if found is None:
            return payload
        name = found[1].decode("ascii")
        try:
            data, _ = self._files.load(f"{STATE}/{name}", _MAX_ASIDE)
        except (FileNotFoundError, BadFile):
            return None
        self._aside.add(name)
        return data if zlib.crc32(data) == int(found[2]) else None

    def _sweep(self) -> None:
        """Takes away the steps aside that no record of this epoch names, and what killed writers left unfinished."""
        state = self._files.state
        for name in os.listdir(state.fd):
            if name.startswith(("step-", ".new-", "new-")) and name not in self._aside:
                state.remove(name)

    def _note(self, step: JournalStep) -> None:
        """Contents are kept in the file only: a process that lives long would gather megabytes."""
        ops = tuple(Put(op.path, b"", op.before) if isinstance(op, Put) else op for op in step.operations)
        self._steps.append(JournalStep(step.boot, ops))
        for op in ops:
            if isinstance(op, Extend):
                self._extended.setdefault(op.path, []).append(op)

    def _look(self, *, create: bool = False) -> None:
        if self._handle < 0 or not self._lock.depth:
            self.look(create=create)

    def look(self, *, create: bool = False) -> None:
        """Follows what other processes recorded since we last looked."""
        if self._handle < 0 and not self._open(create):
            return
        epoch = self._stored_epoch()
        if epoch != self._epoch:
            self._begin(epoch)
            self.foreign += 1
        if self._is_record_at_tail():
            self.foreign += 1
            data = self._read_half()
            start = self._start()
            for step, end in self._records(data, self._tail - start, len(self._steps)):
                self._note(step)
                self._tail = start + end

    def _is_record_at_tail(self) -> bool:
        """True for a record of this epoch; the half still holds those of an older one, which mean nothing."""
        head = os.pread(self._handle, _RECORD_HEADER.size, self._tail)
        return len(head) == _RECORD_HEADER.size and _RECORD_HEADER.unpack(head)[:2] == (_RECORD_MAGIC, self._epoch)

    def _read_half(self) -> bytes:
        return os.pread(self._handle, CAPACITY, self._start())

    def _open(self, create: bool) -> bool:
        try:
            self._handle = self._files.open_state("journal", create=create)
        except (FileNotFoundError, BadFile):
            if create:
                raise
            return False
        self._boot = boot_id()
        if os.fstat(self._handle).st_size < _FILE_SIZE or self._stored_epoch() < 0:
            if not create:
                self.close()
                return False
            try:
                self._format()
            except OSError:
                self.close()
                raise
        return True

    def _format(self) -> None:
        os.ftruncate(self._handle, 0)
        # Real zeros: a hole or an unwritten extent would cost metadata at each flush.
        REAL.write(self._handle, bytes(_FILE_SIZE))
        epoch = int.from_bytes(os.urandom(6), "big")
        os.pwrite(self._handle, _FILE_HEADER.pack(_FILE_MAGIC, epoch), 0)
        os.fsync(self._handle)
        os.fsync(self._files.state.fd)  # a journal whose name is lost holds nothing

    def _stored_epoch(self) -> int:
        magic, epoch = _FILE_HEADER.unpack(os.pread(self._handle, _FILE_HEADER.size, 0))
        return int(epoch) if magic == _FILE_MAGIC else -1

    def _records(self, data: bytes, tail: int, count: int) -> Iterator[tuple[JournalStep, int]]:
        """The whole records of this epoch from `tail` on, the first having number `count`, each with the place behind
        it."""
        while tail + _RECORD_HEADER.size <= len(data):
            magic, stamp, number, size, crc = _RECORD_HEADER.unpack_from(data, tail)
            start = tail + _RECORD_HEADER.size
            tail = start + size
            if (magic, stamp, number) != (_RECORD_MAGIC, self._epoch, count) or tail > len(data):
                return
            payload = self._from_aside(data[start:tail]) if zlib.crc32(data[start:tail]) == crc else None
            step = _decode(payload) if payload is not None else None
            if step is None:
                return
            count += 1
            yield step, tail


def _encode(step: JournalStep) -> bytes:
    table: list[object] = []
    for op in step.operations:
        if isinstance(op, Put):
            table.append(["put", op.path, op.before, len(op.data)])
        elif isinstance(op, Remove):
            table.append(["remove", op.path, op.before])
        else:
            edges = [[edge.source, edge.target, edge.branch] for edge in op.connections]
            table.append(["extend", op.path, op.nodes, edges, op.updated])
    head = json.dumps([step.boot, table]).encode("ascii") + b"\n"
    return head + b"".join(op.data for op in step.operations if isinstance(op, Put))


def _decode(payload: bytes) -> JournalStep | None:
    """None for what no journal of ours says: the folder may have come from a stranger."""
    end = payload.find(b"\n", 0, _MAX_TABLE)
    if end < 0:
        return None
    rest = memoryview(payload)[end + 1 :]
    try:
        boot, table = json.loads(payload[:end])
        operations: list[Operation] = []
        for row in table:
            operation, rest = _operation(row, rest)
            operations.append(operation)
    except (ValueError, TypeError, RecursionError):
        return None
    return JournalStep(str(boot), tuple(operations))


def _operation(row: Sequence[Any], rest: memoryview) -> tuple[Operation, memoryview]:
    """The operation of a row, and what is left of the contents. Raises ValueError or TypeError."""
    kind, path, *more = row
    if not is_ours(path):
        raise ValueError(path)
    if kind == "put":
        before, size = map(int, more)
        return Put(path, bytes(rest[:size]), before), rest[size:]
    if kind == "remove":
        return Remove(path, int(*more)), rest
    nodes, edges, updated = more
    connections = (Connection(str(source), str(target), branch and str(branch)) for source, target, branch in edges)
    return Extend(path, tuple(map(str, nodes)), tuple(connections), str(updated)), rest


def is_ours(path: str) -> bool:
    kind, _, rest = path.partition("/")
    return kind in KINDS and is_path(rest, KINDS[kind])
