"""Bring files, links and folders from one exact state to another: content, mode, target.

This applies what a command left behind; undo, redo and restore use it in the other direction. Each step is recorded
before it is made, like any write. The caller holds the locks of the paths.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress

from nebula.files.beneath import FILE_FLAGS, FOLDER_FLAGS
from nebula.files.descriptors import closed_after
from nebula.workspace.contract import NotApplied, PathChange
from nebula.workspace.errors import Stale, WorkspaceError
from nebula.workspace.guard.jail import translate
from nebula.workspace.guard.paths import normal_path
from nebula.workspace.journal.changes import ChangeKind, RecordedChange
from nebula.workspace.journal.objects import KEPT_BYTES
from nebula.workspace.journal.states import EntryState, content_name, parse_state, same_state
from nebula.workspace.writing.request import WriteRequest
from nebula.workspace.writing.writer import FileWriter

_OPEN_TO_US = 0o700


class EntryMover:
    """Makes changes under one group and kind."""

    def __init__(self, writer: FileWriter, group: str, kind: ChangeKind) -> None:
        self._writer = writer
        self._group = group
        self._kind: ChangeKind = kind

    def carry_out(self, changes: Iterable[PathChange], *, failed: list[NotApplied] | None = None) -> list[PathChange]:
        """Make the changes and return those that were made: first removals, deepest first; then additions, folders
        before their files. With `failed`, a change that cannot be made is added to it and the others continue; a
        failing disk still ends it."""
        changes = list(changes)
        done: dict[str, PathChange] = {}
        left_out: set[str] = set()

        def attempt(change: PathChange, step: Callable[[PathChange], bool]) -> None:
            try:
                if change.path not in left_out and step(change):
                    done[change.path] = change
            except WorkspaceError as error:
                if failed is None or error.status >= 500:
                    raise
                left_out.add(change.path)
                done.pop(change.path, None)
                failed.append((change.path, error))

        for change in sorted(changes, key=_depth, reverse=True):
            if _goes_first(change):
                attempt(change, self._remove)
        coming = [change for change in sorted(changes, key=_depth) if change.after is not None]
        for change in coming:
            attempt(change, self._bring)
        for change in reversed(coming):
            attempt(change, self._close_folder)
        return list(done.values())

    def _remove(self, change: PathChange) -> bool:
        assert change.before is not None  # noqa: S101 - else nothing goes
        state, path = parse_state(change.before), normal_path(change.path)
        if state.kind == "file":
            self._writer.remove_locked(path, state.content, self._group, self._kind, exact=True, author=change.author)
            return True
        with self._writer.folder_of(path, make=False) as (folder, _):
            try:
                return self._remove_other(change, state, folder)
            except OSError as error:
                raise translate(error, change.path) from None

    def _remove_other(self, change: PathChange, state: EntryState, folder: int) -> bool:
        path = normal_path(change.path)
        if not same_state(self._writer.state(path), change.before):
            raise _changed(change)
        calls, name = self._writer.calls, path.name
        if state.kind == "link":
            self._writer.objects.put(os.fsencode(os.readlink(name, dir_fd=folder)), durable=True)
        elif not _is_empty(name, folder):
            return False  # somebody else's files are in it: it stays
        with self._recorded(change, change.before, None):
            calls.unlink(name, folder) if state.kind == "link" else calls.rmdir(name, folder)
            calls.fsync_dir(folder)
        return True

    def _bring(self, change: PathChange) -> bool:
        assert change.after is not None  # noqa: S101 - only those come
        state, path = parse_state(change.after), normal_path(change.path)
        current = None if _goes_first(change) else change.before
        if state.kind == "file":
            self._bring_file(change, state, current)
            return True
        if current is not None and state.kind == "folder":
            return self._change_mode(change, state, FOLDER_FLAGS)
        with self._writer.folder_of(path, make=True) as (folder, made):
            try:
                self._make(change, state, folder, made)
            except FileExistsError:
                if state.kind == "folder" and (self._writer.state(path) or "").startswith("folder:"):
                    return False  # it stayed, because it was not empty
                raise _changed(change) from None
            except OSError as error:
                raise translate(error, change.path) from None
        return True

    def _bring_file(self, change: PathChange, state: EntryState, current: str | None) -> None:
        same_content = current is not None and content_name(current) == state.content
        if same_content and state.mode is not None:
            self._change_mode(change, state, FILE_FLAGS)
            return
        content = change.read()
        request = WriteRequest(
            path=normal_path(change.path),
            content=content,
            mode="create" if current is None else "overwrite",
            expected=content_name(current),
            max_bytes=KEPT_BYTES,
            group=self._group,
            kind=self._kind,
            perm=change.mode if state.mode is None else state.mode,
            exact=state.mode is not None,
            author=change.author,
        )
        self._writer.write_locked(request)

    def _make(self, change: PathChange, state: EntryState, folder: int, made: Sequence[str]) -> None:
        calls, name = self._writer.calls, normal_path(change.path).name
        target = change.read() if state.kind == "link" else b""
        if state.kind == "link":
            self._writer.objects.put(target, durable=True)
        with self._recorded(change, None, change.after, made):
            if state.kind == "link":
                calls.symlink(os.fsdecode(target), name, folder)
            else:
                calls.mkdir(name, folder, _OPEN_TO_US)
                self._set_mode(name, folder, (state.mode or 0o755) | _OPEN_TO_US, FOLDER_FLAGS)
            calls.fsync_dir(folder)

    def _change_mode(self, change: PathChange, state: EntryState, flags: int) -> bool:
        path = normal_path(change.path)
        if not same_state(self._writer.state(path), change.before):
            raise _changed(change)
        if state.mode is None or same_state(change.before, change.after):
            return False
        with self._writer.folder_of(path, make=False) as (folder, _):
            try:
                mode = state.mode | (_OPEN_TO_US if state.kind == "folder" else 0)
                with self._recorded(change, change.before, change.after):
                    self._set_mode(path.name, folder, mode, flags)
            except OSError as error:
                raise translate(error, change.path) from None
        return True

    def _close_folder(self, change: PathChange) -> bool:
        """Set the mode of a folder that even we may not use last, when all its files are there."""
        state, path = parse_state(change.after or ""), normal_path(change.path)
        if state.kind != "folder" or state.mode is None or state.mode & _OPEN_TO_US == _OPEN_TO_US:
            return False
        with suppress(OSError), self._writer.folder_of(path, make=False) as (folder, _):
            self._set_mode(path.name, folder, state.mode, FOLDER_FLAGS)
        return False

    def _set_mode(self, name: str, folder: int, mode: int, flags: int) -> None:
        with closed_after(os.open(name, flags, dir_fd=folder)) as fd:
            self._writer.calls.fchmod(fd, mode)

    def _recorded(
        self, change: PathChange, before: str | None, after: str | None, made: Sequence[str] = ()
    ) -> AbstractContextManager[None]:
        """Record the change that the block is about to make."""
        recorded = RecordedChange(
            self._group, self._kind, change.path, before, after, tuple(made), author=change.author
        )
        return self._writer.taken_back_on_failure(self._writer.log.append(recorded), recorded)


def _goes_first(change: PathChange) -> bool:
    """Return whether what is there has to be removed first, as for a link that gets another target."""
    if change.before is None:
        return False
    now = parse_state(change.before).kind
    return now == "link" or change.after is None or now != parse_state(change.after).kind


def _depth(change: PathChange) -> tuple[int, str]:
    return change.path.count("/"), change.path


def _changed(change: PathChange) -> Stale:
    return Stale("{path}: changed since; nothing was touched.", path=change.path)


def _is_empty(name: str, folder: int) -> bool:
    with closed_after(os.open(name, FOLDER_FLAGS, dir_fd=folder)) as fd:
        return not os.listdir(fd)
