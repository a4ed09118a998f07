"""Many paths changed as one: what a command left in its layer, once somebody said yes to it.

While a set is applied a marker lies in the journal, locked by the process that applies. Whoever finds one that nobody
holds any more takes back, from the end, what that process had done: a set is there as a whole or not at all.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from nebula.files.beneath import FILE_FLAGS, FOLDER_FLAGS
from nebula.files.digest import digest
from nebula.files.reading import read_all
from nebula.value import value
from nebula.workspace.contract import PathChange
from nebula.workspace.errors import PathRefused, Stale, WorkspaceError
from nebula.workspace.guard.jail import Jail, translate
from nebula.workspace.guard.paths import NormalPath, normal_path
from nebula.workspace.journal.changes import Abort, RecordedChange
from nebula.workspace.journal.states import content_name, parse_state, same_state
from nebula.workspace.state_folder import SET_MARKER as MARKER
from nebula.workspace.writing.entries import EntryMover, Move, MoveFailed
from nebula.workspace.writing.writer import FileWriter

_MARKER_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MARKER_BYTES: Final = 1000


@value
class TakenBack:
    """Of a set that was half applied when its process was killed."""

    paths: tuple[str, ...]
    left: tuple[str, ...] = ()
    """Changed since by somebody else, so they stay as they are."""


class ChangeSetWriter:
    def __init__(self, writer: FileWriter, group: str) -> None:
        self._writer = writer
        self._group = group

    def apply(
        self, changes: Sequence[tuple[NormalPath, PathChange]], afterwards: Callable[[], None] | None = None
    ) -> tuple[list[Move], list[MoveFailed]]:
        """What was done, and what could not be; the others are applied all the same. Where the disk fails, or
        `afterwards`, which belongs to the set, nothing of it stays."""
        failed: list[MoveFailed] = []
        with self._writer.locked([path for path, _ in changes]), self._marked() as start:
            try:
                moves = self._moves(changes, failed)
                done = EntryMover(self._writer, self._group, "write").carry_out(moves, failed=failed)
                if afterwards is not None:
                    afterwards()
            except BaseException:
                self._take_back(start)
                raise
        return done, failed

    def take_back_half_applied(self) -> TakenBack | None:
        """None where nothing is left over, or whoever applies it lives."""
        try:
            fd = os.open(MARKER, FILE_FLAGS, dir_fd=self._writer.journal_fd)
        except OSError:
            return None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.fstat(fd).st_nlink:
                return None
            start, self._group = _read_marker(fd)
            taken = self._take_back(start) if self._group else TakenBack(())
            self._writer.calls.unlink(MARKER, self._writer.journal_fd)
        except BlockingIOError:
            return None
        except OSError as error:
            raise translate(error, ".nebula/journal") from None
        finally:
            os.close(fd)
        return taken

    def _moves(self, changes: Sequence[tuple[NormalPath, PathChange]], failed: list[MoveFailed]) -> list[Move]:
        moves = []
        for path, change in changes:
            try:
                current = self._writer.state(path)
                if change.still_there is not None and not change.still_there():
                    raise Stale("{path}: changed while the command ran or since.", path=path.text)
            except WorkspaceError as error:
                failed.append(MoveFailed(path.text, error))
                continue
            target = _target(current, change)
            if not same_state(current, target):
                moves.append(Move(path, current, target, change.read))
        return moves

    def _take_back(self, start: int) -> TakenBack:
        """From the end; what never happened is only struck out."""
        log = self._writer.log
        ours = [
            each for each in log.changes() if each.seq >= start and each.group == self._group and each.kind == "write"
        ]
        taken: set[str] = set()
        left: set[str] = set()
        for change in reversed(ours):
            try:
                if self._take_back_one(change):
                    taken.add(change.path)
                log.append(Abort(change.seq))
            except WorkspaceError:
                left.add(change.path)
        self._writer.remove_folders(folder for change in ours for folder in change.made)
        return TakenBack(tuple(sorted(taken)), tuple(sorted(left)))

    def _take_back_one(self, change: RecordedChange) -> bool:
        """False where it had not happened yet."""
        path = normal_path(change.path)
        current = self._writer.state(path)
        if same_state(current, change.before):
            return False
        both_folders = _is_folder(current) and _is_folder(change.after)  # it gets its mode after it is made
        if not both_folders and not same_state(current, change.after):
            raise Stale("{path}: changed since; nothing was touched.", path=path.text)
        content = self._writer.objects.get(content_name(change.before) or "") or b""
        EntryMover(self._writer, self._group, "undo").carry_out([Move(path, current, change.before, lambda: content)])
        return True

    @contextmanager
    def _marked(self) -> Iterator[int]:
        """The marker lies there for the length of the block, held by us; where in the journal the set begins."""
        folder = self._writer.journal_fd
        try:
            fd = self._held_marker(folder)
        except OSError as error:
            raise translate(error, ".nebula/journal") from None
        try:
            start = self._writer.log.end()
            os.ftruncate(fd, 0)
            self._writer.calls.write(fd, json.dumps({"group": self._group, "start": start}).encode())
            self._writer.calls.fsync(fd)
            self._writer.calls.fsync_dir(folder)
            yield start
        finally:
            with suppress(FileNotFoundError):
                self._writer.calls.unlink(MARKER, folder)
            os.close(fd)

    def _held_marker(self, folder: int) -> int:
        while True:
            fd = os.open(MARKER, _MARKER_FLAGS, 0o600, dir_fd=folder)
            fcntl.flock(fd, fcntl.LOCK_EX)
            if os.fstat(fd).st_nlink:
                if os.fstat(fd).st_size:
                    self._take_back_of(fd)
                return fd
            os.close(fd)

    def _take_back_of(self, fd: int) -> None:
        """Of another process that was killed: first things first."""
        start, group = _read_marker(fd)
        if group:
            ChangeSetWriter(self._writer, group)._take_back(start)


def _is_folder(state: str | None) -> bool:
    return state is not None and parse_state(state).kind == "folder"


def _target(current: str | None, change: PathChange) -> str | None:
    """The state it shall have. Of a file that keeps its mode only the content is recorded, as for any write."""
    if change.kind is None:
        return None
    if change.kind == "folder":
        return f"folder:{change.mode:o}"
    if change.kind == "link":
        return f"link:{digest(change.read())}"
    sha256 = change.sha256 or digest(change.read())
    if current is not None and change.mode & 0o222:
        now = parse_state(current)
        if now.kind == "file" and now.mode == change.mode:
            return sha256
    return f"{sha256}:{change.mode:o}"


def _read_marker(fd: int) -> tuple[int, str]:
    try:
        said = json.loads(read_all(fd, _MARKER_BYTES))
        return int(said["start"]), str(said["group"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return 0, ""  # killed before anything was applied, or never ours


class IgnoredWriter:
    """What git ignores: written plainly and whole, not durably and not journalled, so it cannot be taken back."""

    def __init__(self, jail: Jail, writer: FileWriter) -> None:
        self._jail = jail
        self._writer = writer

    def apply(self, changes: Sequence[tuple[NormalPath, PathChange]]) -> int:
        """How many were applied; one that cannot be, or that somebody else changed meanwhile, is passed over."""
        done = 0
        changes = [each for each in changes if each[1].still_there is None or each[1].still_there()]
        going = [each for each in changes if each[1].kind is None]
        for path, _ in sorted(going, key=lambda each: len(each[0].parts), reverse=True):
            with suppress(OSError, WorkspaceError):
                done += self._remove(path)
        for path, change in changes:
            if change.kind is not None:
                with suppress(OSError, WorkspaceError):
                    self._bring(path, change)
                    done += 1
        return done

    def _remove(self, path: NormalPath) -> int:
        folder = self._jail.open_parent(path)
        try:
            status = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
            is_folder = (status.st_mode & 0o170000) == 0o040000
            (os.rmdir if is_folder else os.unlink)(path.name, dir_fd=folder)
        finally:
            os.close(folder)
        return 1

    def _bring(self, path: NormalPath, change: PathChange) -> None:
        folder = self._jail.make_parent(path, [])
        try:
            if change.kind == "folder":
                with suppress(FileExistsError):
                    os.mkdir(path.name, change.mode | 0o700, dir_fd=folder)
                os.close(os.open(path.name, FOLDER_FLAGS, dir_fd=folder))
                return
            staged = f".nebula-tmp-{os.urandom(8).hex()}"
            if change.kind == "link":
                os.symlink(os.fsdecode(change.read()), staged, dir_fd=folder)
            else:
                fd = self._writer.calls.create(staged, folder, 0o600)
                try:
                    self._writer.calls.write(fd, change.read())
                    os.fchmod(fd, change.mode)
                finally:
                    os.close(fd)
            self._put(staged, path, folder)
        finally:
            os.close(folder)

    def _put(self, staged: str, path: NormalPath, folder: int) -> None:
        try:
            os.rename(staged, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            os.unlink(staged, dir_fd=folder)
            raise PathRefused("{path}: something else stands there.", path=path.text) from None
