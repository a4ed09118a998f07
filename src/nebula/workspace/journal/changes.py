"""The list of changes, in order: one JSON line a change in `.nebula/journal/changes.jsonl`.

A line is written, and synced, before its change is made; a change that then fails is followed by a line that cancels
it, and if even that was lost, the file itself shows that nothing happened. Appending costs the same however long the
history is. A last line that a crash cut short is ignored.

A journal is bound to the directory in which it was made. One that came with a project (somebody committed it) is set
aside, so that a stranger's history is never undone into the user's files.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, Literal

from nebula.files.beneath import FILE_FLAGS
from nebula.files.descriptors import closed_after
from nebula.files.reading import read_all
from nebula.files.syscalls import Syscalls
from nebula.files.untrusted_json import parse_json
from nebula.value import value
from nebula.workspace.guard.jail import status_at
from nebula.workspace.journal.states import content_name
from nebula.workspace.records import timestamp

ChangeKind = Literal["write", "undo", "redo", "restore"]

CHANGES_FILE: Final = "changes.jsonl"
_FOREIGN: Final = "foreign-"
HEADER_ROOM: Final = 200
_APPEND_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TAIL = 1 << 16
"""How much of the journal's end is read first, where only its newest lines are needed."""
_KINDS = frozenset({"write", "undo", "redo", "restore"})


@value
class RecordedChange:
    group: str
    """Changes that are undone as one: those of a turn (its trace id), or a set that several turns wrote."""
    kind: ChangeKind
    path: str
    before: str | None
    """The state before, named as in `states`: of a regular file its sha256; None: nothing was there."""
    after: str | None
    """The state after; None: nothing is there."""
    made: tuple[str, ...] = ()
    """Directories that were created for it."""
    mode: int | None = None
    """Of a removed file: its permissions, to restore them with it."""
    seq: int = -1
    """Its number in the journal, which grows and never repeats."""
    ts: str = ""
    author: str = ""
    """The turn that wrote it, where that is not the group."""

    @property
    def turn(self) -> str:
        return self.author or self.group

    def record(self) -> dict[str, object]:
        return {
            "group": self.group,
            "kind": self.kind,
            "path": self.path,
            "before": self.before,
            "after": self.after,
            **({"made": self.made} if self.made else {}),
            **({"mode": self.mode} if self.mode is not None else {}),
            **({"author": self.author} if self.author else {}),
        }


@value
class TurnMark:
    """A record that a turn was undone as a whole, or redone."""

    group: str
    undone: bool
    by: str = ""
    """The session that did it."""

    def record(self) -> dict[str, object]:
        return {"kind": "mark", "group": self.group, "undone": self.undone, "by": self.by}


@value
class Abort:
    """A record that a change was not made after all."""

    of: int

    def record(self) -> dict[str, object]:
        return {"kind": "abort", "of": self.of}


@value
class KeptContent:
    """A record of a content that no change refers to: another program saved the file at the moment of a write."""

    sha256: str

    def record(self) -> dict[str, object]:
        return {"kind": "kept", "content": self.sha256}


class ChangeLog:
    def __init__(self, folder_fd: int, calls: Syscalls) -> None:
        self._folder_fd = folder_fd
        self._calls = calls
        with self._locked() as fd:
            self._ensure_ours(fd)

    def append(self, entry: RecordedChange | TurnMark | Abort | KeptContent) -> int:
        """Append a record, for a change before it is made; return its number."""
        record = {"ts": timestamp(), **entry.record()}
        with self._locked() as fd:
            end = os.fstat(fd).st_size
            torn = end > 0 and os.pread(fd, 1, end - 1) != b"\n"
            line = json.dumps({"seq": end + torn, **record}, ensure_ascii=False) + "\n"
            try:
                self._calls.write(fd, ("\n" * torn + line).encode())
                self._calls.fsync(fd)
            except OSError:
                os.ftruncate(fd, end)  # a record that was not confirmed must not be read later
                raise
            return end + torn

    def has_news_of_foreign(self) -> bool:
        """Return whether the journal of another folder was set aside here; True once, so that the user is told once."""
        found = [name for name in os.listdir(self._folder_fd) if name.startswith(_FOREIGN)]
        for name in found:
            self._calls.rename(name, self._folder_fd, f"told-{name}", self._folder_fd)
        return bool(found)

    def end(self) -> int:
        """Return the smallest number that the next record can get."""
        with self._locked() as fd:
            return os.fstat(fd).st_size

    def changes(self) -> list[RecordedChange]:
        return [entry for entry in self.read() if isinstance(entry, RecordedChange)]

    def changes_after(self, is_old: Callable[[RecordedChange], bool]) -> list[RecordedChange]:
        """Return the changes after the newest one for which `is_old` is true, oldest first. The journal is read from
        its end, and no further than needed."""
        size, length = _TAIL, self.end()
        while True:
            found = [each for each in self.read(max(0, length - size)) if isinstance(each, RecordedChange)]
            for place in range(len(found) - 1, -1, -1):
                if is_old(found[place]):
                    return found[place + 1 :]
            if size >= length:
                return found
            size *= 8

    def contents(self) -> set[str]:
        """Return the names of all contents to which the journal still refers."""
        kept = {str(record.get("content")) for _, record in self._records() if record.get("kind") == "kept"}
        states = (state for change in self.changes() for state in (change.before, change.after))
        return kept | {name for name in map(content_name, states) if name is not None}

    def read(self, start: int = 0) -> list[RecordedChange | TurnMark]:
        """Return all changes that were made, and marks, oldest first: those in whole lines from the byte `start` on.
        Lines that cannot be read are skipped."""
        return list(replay_records(self._records(start)).values())

    @contextmanager
    def _locked(self) -> Iterator[int]:
        while True:
            with closed_after(os.open(CHANGES_FILE, _APPEND_FLAGS, 0o600, dir_fd=self._folder_fd)) as fd:
                fcntl.flock(fd, fcntl.LOCK_EX)
                if self._is_current(fd):
                    yield fd
                    return

    def _is_current(self, fd: int) -> bool:
        """Return False if the file was set aside while we waited for its lock."""
        there = status_at(self._folder_fd, CHANGES_FILE)
        return there is not None and there.st_ino == os.fstat(fd).st_ino

    def _ensure_ours(self, fd: int) -> None:
        first = os.pread(fd, HEADER_ROOM, 0).partition(b"\n")[0]
        header = header_of(self._folder_fd)
        if first == header:
            return
        if first:
            name = f"{_FOREIGN}{os.urandom(4).hex()}.jsonl"
            self._calls.rename(CHANGES_FILE, self._folder_fd, name, self._folder_fd)
        with closed_after(os.open(CHANGES_FILE, _APPEND_FLAGS, 0o600, dir_fd=self._folder_fd)) as fd:
            self._calls.write(fd, header + b"\n")
            self._calls.fsync(fd)
        self._calls.fsync_dir(self._folder_fd)

    def _records(self, start: int = 0) -> Iterator[tuple[int, dict[str, object]]]:
        with closed_after(os.open(CHANGES_FILE, FILE_FLAGS, dir_fd=self._folder_fd)) as fd:
            os.lseek(fd, start, os.SEEK_SET)
            content = read_all(fd, os.fstat(fd).st_size)
        yield from read_records(content, start)


def header_of(folder_fd: int) -> bytes:
    """Return the first line, without its line break, of a journal made in this directory."""
    return json.dumps({"kind": "header", "home": os.fstat(folder_fd).st_ino}).encode()


def read_records(content: bytes, start: int = 0) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the records of the part of a journal that begins at `start`, each with its number."""
    for line in content.split(b"\n")[:-1]:
        try:
            record = parse_json(line)
        except ValueError:
            record = None  # cut short by a crash, or not written by us
        if isinstance(record, dict):
            yield start, record
        start += len(line) + 1


def replay_records(records: Iterable[tuple[int, dict[str, object]]]) -> dict[int, RecordedChange | TurnMark]:
    """Return changes and marks by number, oldest first, without changes that were cancelled at once."""
    changes: dict[int, RecordedChange | TurnMark] = {}
    for seq, record in records:
        if record.get("kind") == "abort":
            of = record.get("of")
            if isinstance(of, int):
                changes.pop(of, None)
        elif record.get("kind") == "mark":
            group, by = str(record.get("group", "")), str(record.get("by", ""))
            changes[seq] = TurnMark(group, record.get("undone") is True, by)
        elif (change := _parse(seq, record)) is not None:
            changes[seq] = change
    return changes


def _parse(seq: int, record: dict[str, object]) -> RecordedChange | None:
    kind, path = record.get("kind"), record.get("path")
    before, after = record.get("before"), record.get("after")
    made, mode = record.get("made", []), record.get("mode")
    if kind not in _KINDS or not isinstance(path, str) or not isinstance(made, list):
        return None
    if not all(value is None or isinstance(value, str) for value in (before, after)):
        return None
    return RecordedChange(
        group=str(record.get("group", "")),
        kind=kind,  # type: ignore[arg-type]
        path=path,
        before=before,  # type: ignore[arg-type]
        after=after,  # type: ignore[arg-type]
        made=tuple(map(str, made)),
        mode=mode if isinstance(mode, int) else None,
        seq=seq,
        ts=str(record.get("ts", "")),
        author=str(record.get("author", "")),
    )
