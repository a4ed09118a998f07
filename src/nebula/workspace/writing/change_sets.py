"""Change many paths as one: the changes of a command after a yes, an undo, a redo.

While a set is applied there is a marker in the journal, locked by the process that applies it. Whoever finds a marker
that nobody has locked undoes, from the end, what that process had done: a set is there as a whole or not at all,
together with the paths that are kept in no journal (`beside`).
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, get_args

from nebula.files.descriptors import closed_after
from nebula.files.reading import read_all
from nebula.files.untrusted_json import parse_json
from nebula.language import Sentence
from nebula.value import replace, value
from nebula.workspace.contract import NotApplied, PathChange
from nebula.workspace.errors import Stale, WorkspaceError
from nebula.workspace.guard.jail import translate
from nebula.workspace.guard.paths import normal_path
from nebula.workspace.journal.changes import Abort, ChangeKind, RecordedChange
from nebula.workspace.journal.states import content_name, parse_state, same_state
from nebula.workspace.state_folder import SET_MARKER as MARKER
from nebula.workspace.writing.beside import BesideWriter
from nebula.workspace.writing.entries import EntryMover
from nebula.workspace.writing.writer import FileWriter

_MARKER_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MARKER_BYTES: Final = 1000
_MOST_NAMED: Final = 20
"""Paths that one remark lists."""


@value
class TakenBack:
    """The result of undoing a set that was half applied when its process was killed."""

    paths: tuple[str, ...]
    left: tuple[str, ...] = ()
    """Changed by somebody else since, so they stay as they are."""

    def remarks(self) -> list[Sentence]:
        said = []
        if self.paths:
            taken = "Changes were only half applied when nebula was ended. They were taken back: {paths}"
            said.append(Sentence(taken, paths=_named(self.paths)))
        if self.left:
            left = "Half-applied changes that could not be taken back, because the files changed since: {paths}"
            said.append(Sentence(left, paths=_named(self.left)))
        return said


class ChangeSetWriter:
    def __init__(self, writer: FileWriter, beside: BesideWriter, group: str, kind: ChangeKind = "write") -> None:
        self._writer = writer
        self._beside = beside
        self._group = group
        self._kind: ChangeKind = kind
        self._back: ChangeKind = "redo" if kind == "undo" else "undo"
        """The kind under which the steps of undoing are recorded, to tell them from those of the set."""

    def apply(
        self, changes: Sequence[PathChange], beside: Sequence[PathChange] = ()
    ) -> tuple[list[PathChange], list[NotApplied]]:
        """Return the changes that were made, and those that could not be; the others are applied nevertheless. `beside`
        belongs to the set, but the journal does not keep it. If the disk fails, nothing of the set stays."""
        failed: list[NotApplied] = []
        with self._writer.locked([normal_path(change.path) for change in changes]), self.as_one():
            found = self._compare(changes, failed)
            done = EntryMover(self._writer, self._group, self._kind).carry_out(found, failed=failed)
            self._beside.apply(beside)
        return done, failed

    def take_back_half_applied(self) -> TakenBack | None:
        """Undo a set that was left half applied; None where there is none, or the process that applies it is alive."""
        try:
            fd = os.open(MARKER, _MARKER_FLAGS & ~os.O_CREAT, dir_fd=self._writer.journal_fd)
        except OSError:
            return None
        with closed_after(fd):
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not os.fstat(fd).st_nlink:
                    return None
                taken = self._take_back_of(fd)
                self._settle(fd)
            except BlockingIOError:
                return None
            except OSError as error:
                raise translate(error, ".nebula/journal") from None
        return taken

    def _compare(self, changes: Sequence[PathChange], failed: list[NotApplied]) -> list[PathChange]:
        """Return the changes that still have to be made, with the present state of each path."""
        found = []
        for change in changes:
            try:
                before = self._writer.state(normal_path(change.path))
                if change.still_there is not None and not change.still_there():
                    raise Stale("{path}: changed while the command ran or since.", path=change.path)
            except WorkspaceError as error:
                failed.append((change.path, error))
                continue
            if not same_state(before, change.after):
                found.append(replace(change, before=before, after=_drop_kept_mode(before, change.after)))
        return found

    def _take_back(self, start: int) -> TakenBack:
        """Undo the set from its end; a change that was never made is only cancelled in the journal. Contents that only
        the set needed are removed."""
        taken, left = map(set, self._beside.take_back())
        self._beside.clear()  # there may be no room left to record anything
        ours = self._changes_since(start, self._kind)
        for change in reversed(ours):
            try:
                if self._take_back_one(change):
                    taken.add(change.path)
                self._writer.log.append(Abort(change.seq))
            except WorkspaceError:
                left.add(change.path)
        self._writer.remove_folders(folder for change in ours for folder in change.made)
        back = self._changes_since(start, self._back)
        for change in back:
            self._writer.log.append(Abort(change.seq))
        self._forget_contents([*ours, *back])
        return TakenBack(_short(taken), _short(left))

    def _changes_since(self, start: int, kind: ChangeKind) -> list[RecordedChange]:
        changes = self._writer.log.changes()
        return [each for each in changes if each.seq >= start and each.group == self._group and each.kind == kind]

    def _forget_contents(self, changes: Iterable[RecordedChange]) -> None:
        """Remove the contents that only the set needed: on a full disk they would keep it full."""
        objects = self._writer.objects
        named = {content_name(state) for change in changes for state in (change.before, change.after)}
        needed = self._writer.log.contents()
        for name in (objects.written | named) - needed:
            if name is not None:
                objects.drop(name)
        objects.written.clear()

    def _take_back_one(self, change: RecordedChange) -> bool:
        """Undo one change; return False where it had not been made yet."""
        path = normal_path(change.path)
        current = self._writer.state(path)
        if same_state(current, change.before):
            return False
        both_folders = _is_folder(current) and _is_folder(change.after)  # it gets its mode after it is created
        if not both_folders and not same_state(current, change.after):
            raise Stale("{path}: changed since; nothing was touched.", path=path.text)
        content = self._writer.objects.get(content_name(change.before) or "") or b""
        back = PathChange(change.path, current, change.before, lambda: content, mode=change.mode)
        EntryMover(self._writer, self._group, self._back).carry_out([back])
        return True

    @contextmanager
    def as_one(self) -> Iterator[None]:
        """Hold the marker for the length of the block. If the block fails, the set is undone; if even that fails, the
        marker stays, and the next start tries again."""
        try:
            with closed_after(self._held_marker(self._writer.journal_fd)) as fd:
                start = self._write_marker(fd)
                self._writer.objects.written.clear()
                try:
                    yield
                except BaseException:
                    self._take_back(start)
                    self._settle(fd)
                    raise
                self._settle(fd)
        except OSError as error:
            raise translate(error, ".nebula/journal") from None

    def _write_marker(self, fd: int) -> int:
        """Return the position in the journal at which the set begins."""
        start, calls = self._writer.log.end(), self._writer.calls
        os.ftruncate(fd, 0)
        try:
            self._beside.clear()  # creates its folder: once the disk is full there is no room for that
            calls.write(fd, json.dumps({"group": self._group, "start": start, "kind": self._kind}).encode())
            calls.fsync(fd)
            calls.fsync_dir(self._writer.journal_fd)
        except (OSError, WorkspaceError):
            self._settle(fd)
            raise
        return start

    def _settle(self, fd: int) -> None:
        os.ftruncate(fd, 0)  # from here on the set is complete, or undone
        self._beside.clear()
        with suppress(FileNotFoundError):
            self._writer.calls.unlink(MARKER, self._writer.journal_fd)

    def _held_marker(self, folder: int) -> int:
        while True:
            fd = os.open(MARKER, _MARKER_FLAGS, 0o600, dir_fd=folder)
            fcntl.flock(fd, fcntl.LOCK_EX)
            if os.fstat(fd).st_nlink:
                self._take_back_of(fd)  # of another process that was killed: its set is undone first
                return fd
            os.close(fd)

    def _take_back_of(self, fd: int) -> TakenBack | None:
        marker = _read_marker(fd)
        if marker is None:
            return None
        start, group, kind = marker
        return ChangeSetWriter(self._writer, self._beside, group, kind)._take_back(start)


def _named(paths: tuple[str, ...]) -> str:
    more = f" … +{len(paths) - _MOST_NAMED}" if len(paths) > _MOST_NAMED else ""
    return ", ".join(paths[:_MOST_NAMED]) + more


def _is_folder(state: str | None) -> bool:
    return state is not None and parse_state(state).kind == "folder"


def _drop_kept_mode(before: str | None, after: str | None) -> str | None:
    """Return `after`; of a file that keeps its mode only the content, as for any write."""
    if before is None or after is None:
        return after
    now, then = parse_state(before), parse_state(after)
    keeps = now.kind == then.kind == "file" and now.mode == then.mode and (then.mode or 0) & 0o222
    return then.content if keeps else after


def _read_marker(fd: int) -> tuple[int, str, ChangeKind] | None:
    """Return the beginning, the group and the kind of a set; None where none was applied, or the marker is not ours."""
    try:
        found = parse_json(read_all(fd, _MARKER_BYTES))
        said = found.get("kind")
        kind: ChangeKind = next((each for each in get_args(ChangeKind) if each == said), "write")
        return int(found["start"]), str(found["group"]), kind
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _short(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths in order; all paths in one repository become one, however many they are."""
    return tuple(sorted({re.sub(r"(^|.*/)\.git/.*", r"\1.git", path, flags=re.DOTALL) for path in paths}))
