"""Files, links and folders brought from one exact state to another: content, mode, target.

What a command left behind is applied with it, and undo, redo and restore go the same way back. Each step is recorded
before it is done, like any write. The caller holds the locks of the paths.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress

from nebula.files.beneath import FILE_FLAGS, FOLDER_FLAGS
from nebula.value import value
from nebula.workspace.errors import Stale, WorkspaceError
from nebula.workspace.guard.jail import translate
from nebula.workspace.guard.paths import NormalPath
from nebula.workspace.journal.changes import ChangeKind, RecordedChange
from nebula.workspace.journal.objects import KEPT_BYTES
from nebula.workspace.journal.states import EntryState, content_name, parse_state, same_state
from nebula.workspace.writing.request import WriteRequest
from nebula.workspace.writing.writer import FileWriter

_OPEN_TO_US = 0o700


@value
class Move:
    """One path on its way from what stands there now to what shall stand there; None: nothing."""

    path: NormalPath
    current: str | None
    target: str | None
    read: Callable[[], bytes] = bytes
    """The content of a file, or the target of a link, that shall stand there."""
    perm: int | None = None
    """The mode of a new file, where `target` says nothing of it."""

    @property
    def _kinds(self) -> tuple[str | None, str | None]:
        return tuple(None if each is None else parse_state(each).kind for each in (self.current, self.target))  # type: ignore[return-value]

    @property
    def removes(self) -> bool:
        """What is there has to go first: also a link that gets another target."""
        now, then = self._kinds
        return now is not None and (now != then or now == "link")


@value
class MoveFailed:
    path: str
    error: WorkspaceError


class EntryMover:
    """Carries moves out under one group and kind."""

    def __init__(self, writer: FileWriter, group: str, kind: ChangeKind) -> None:
        self._writer = writer
        self._group = group
        self._kind: ChangeKind = kind

    def carry_out(self, moves: Iterable[Move], *, failed: list[MoveFailed] | None = None) -> list[Move]:
        """What goes, deepest first; then what comes, folders before what is in them. Those that were done.

        With `failed` a move that cannot be done is put there, and the others go on; a failing disk still ends it.
        """
        moves = list(moves)
        done: dict[str, Move] = {}
        left_out: set[str] = set()

        def attempt(move: Move, step: Callable[[Move], bool]) -> None:
            try:
                if move.path.text not in left_out and step(move):
                    done[move.path.text] = move
            except WorkspaceError as error:
                if failed is None or error.status >= 500:
                    raise
                left_out.add(move.path.text)
                done.pop(move.path.text, None)
                failed.append(MoveFailed(move.path.text, error))

        for move in sorted(moves, key=_depth, reverse=True):
            if move.removes:
                attempt(move, self._remove)
        coming = [move for move in sorted(moves, key=_depth) if move.target is not None]
        for move in coming:
            attempt(move, self._bring)
        for move in reversed(coming):
            attempt(move, self._close_folder)
        return list(done.values())

    def _remove(self, move: Move) -> bool:
        assert move.current is not None  # noqa: S101 - `removes` says so
        state = parse_state(move.current)
        if state.kind == "file":
            self._writer.remove_locked(move.path, state.content, self._group, self._kind, exact=True)
            return True
        with self._writer.folder_of(move.path, make=False) as (folder, _):
            try:
                return self._remove_other(move, state, folder)
            except OSError as error:
                raise translate(error, move.path.text) from None

    def _remove_other(self, move: Move, state: EntryState, folder: int) -> bool:
        if not same_state(self._writer.state(move.path), move.current):
            raise _changed(move)
        calls, name = self._writer.calls, move.path.name
        if state.kind == "link":
            self._writer.objects.put(os.fsencode(os.readlink(name, dir_fd=folder)), durable=True)
        elif not _is_empty(name, folder):
            return False  # somebody else's things are in it: it stays
        with self._recorded(move, move.current, None):
            calls.unlink(name, folder) if state.kind == "link" else calls.rmdir(name, folder)
            calls.fsync_dir(folder)
        return True

    def _bring(self, move: Move) -> bool:
        assert move.target is not None  # noqa: S101 - only those come
        state = parse_state(move.target)
        current = None if move.removes else move.current
        if state.kind == "file":
            self._bring_file(move, state, current)
            return True
        if current is not None and state.kind == "folder":
            return self._change_mode(move, state, FOLDER_FLAGS)
        with self._writer.folder_of(move.path, make=True) as (folder, made):
            try:
                self._make(move, state, folder, made)
            except FileExistsError:
                if state.kind == "folder" and (self._writer.state(move.path) or "").startswith("folder:"):
                    return False  # it stayed, because it was not empty
                raise _changed(move) from None
            except OSError as error:
                raise translate(error, move.path.text) from None
        return True

    def _bring_file(self, move: Move, state: EntryState, current: str | None) -> None:
        same_content = current is not None and content_name(current) == state.content
        if same_content and state.mode is not None:
            self._change_mode(move, state, FILE_FLAGS)
            return
        content = move.read()
        request = WriteRequest(
            path=move.path,
            content=content,
            mode="create" if current is None else "overwrite",
            expected=content_name(current),
            max_bytes=KEPT_BYTES,
            group=self._group,
            kind=self._kind,
            perm=move.perm if state.mode is None else state.mode,
            exact=state.mode is not None,
        )
        self._writer.write_locked(request)

    def _make(self, move: Move, state: EntryState, folder: int, made: Sequence[str]) -> None:
        calls, name = self._writer.calls, move.path.name
        target = move.read() if state.kind == "link" else b""
        if state.kind == "link":
            self._writer.objects.put(target, durable=True)
        with self._recorded(move, None, move.target, made):
            if state.kind == "link":
                calls.symlink(os.fsdecode(target), name, folder)
            else:
                calls.mkdir(name, folder, _OPEN_TO_US)
                self._set_mode(name, folder, (state.mode or 0o755) | _OPEN_TO_US, FOLDER_FLAGS)
            calls.fsync_dir(folder)

    def _change_mode(self, move: Move, state: EntryState, flags: int) -> bool:
        if not same_state(self._writer.state(move.path), move.current):
            raise _changed(move)
        if state.mode is None or same_state(move.current, move.target):
            return False
        with self._writer.folder_of(move.path, make=False) as (folder, _):
            try:
                mode = state.mode | (_OPEN_TO_US if state.kind == "folder" else 0)
                with self._recorded(move, move.current, move.target):
                    self._set_mode(move.path.name, folder, mode, flags)
            except OSError as error:
                raise translate(error, move.path.text) from None
        return True

    def _close_folder(self, move: Move) -> bool:
        """A folder that even we may not use gets its mode last, when everything is in it."""
        state = parse_state(move.target or "")
        if state.kind != "folder" or state.mode is None or state.mode & _OPEN_TO_US == _OPEN_TO_US:
            return False
        with suppress(OSError), self._writer.folder_of(move.path, make=False) as (folder, _):
            self._set_mode(move.path.name, folder, state.mode, FOLDER_FLAGS)
        return False

    def _set_mode(self, name: str, folder: int, mode: int, flags: int) -> None:
        fd = os.open(name, flags, dir_fd=folder)
        try:
            self._writer.calls.fchmod(fd, mode)
        finally:
            os.close(fd)

    def _recorded(
        self, move: Move, before: str | None, after: str | None, made: Sequence[str] = ()
    ) -> AbstractContextManager[None]:
        """Record a change that is about to happen in the block."""
        change = RecordedChange(self._group, self._kind, move.path.text, before, after, tuple(made))
        return self._writer.taken_back_on_failure(self._writer.log.append(change), change)


def _depth(move: Move) -> tuple[int, str]:
    return len(move.path.parts), move.path.text


def _changed(move: Move) -> Stale:
    return Stale("{path}: changed since; nothing was touched.", path=move.path.text)


def _is_empty(name: str, folder: int) -> bool:
    fd = os.open(name, FOLDER_FLAGS, dir_fd=folder)
    try:
        return not os.listdir(fd)
    finally:
        os.close(fd)
