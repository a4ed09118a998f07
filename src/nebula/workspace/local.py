"""The workspace on this machine's disk. `open_workspace` opens one.

Reading and writing are two classes: one that was opened for reading has no writer, and cannot get one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Literal, Self, get_args, overload

from nebula.files.syscalls import REAL, Syscalls
from nebula.git import GitFailed, obeyed_paths
from nebula.value import replace
from nebula.workspace.contract import AppliedSet, NotApplied, PathChange, PathState, WriteMode, WriteResult
from nebula.workspace.errors import MalformedRequest, NotKept, Stale, WorkspaceError
from nebula.workspace.guard.jail import Jail
from nebula.workspace.guard.judge import Judge, Policy
from nebula.workspace.guard.paths import NormalPath, normal_path
from nebula.workspace.guard.repositories import RepositoryFinder
from nebula.workspace.reading import ReadingWorkspace, encode_text

if TYPE_CHECKING:
    from nebula.workspace.file_history import FileHistory
    from nebula.workspace.journal.changes import ChangeKind
    from nebula.workspace.writing.change_sets import ChangeSetWriter, TakenBack
    from nebula.workspace.writing.request import WriteRequest
    from nebula.workspace.writing.writer import FileWriter

_MODES = get_args(WriteMode)


@overload
def open_workspace(
    root: str, policy: Policy | None = None, *, read_only: Literal[False] = False, calls: Syscalls = REAL
) -> LocalWorkspace: ...


@overload
def open_workspace(
    root: str, policy: Policy | None = None, *, read_only: bool, calls: Syscalls = REAL
) -> ReadingWorkspace: ...


def open_workspace(
    root: str, policy: Policy | None = None, *, read_only: bool = False, calls: Syscalls = REAL
) -> ReadingWorkspace:
    """Return the guarded files below `root`. Opened read-only, it has no code that writes."""
    jail = Jail(root, calls=calls)
    judge = Judge(policy or Policy(), place=jail.place)
    if read_only:
        return ReadingWorkspace(jail, judge)
    return LocalWorkspace(jail, judge, writing=LateWriter(jail, calls))


class LateWriter:
    """Makes the writer, and `.nebula/`, on first use; all views of a workspace share it."""

    def __init__(self, jail: Jail, calls: Syscalls) -> None:
        self._jail = jail
        self._calls = calls
        self._guard = threading.Lock()
        self._writer: FileWriter | None = None

    def get(self) -> FileWriter:
        with self._guard:
            if self._writer is None or not self._writer.usable:
                from nebula.workspace.writing.writer import FileWriter

                self._writer = FileWriter(self._jail, self._calls)  # the old one closes when its last user has finished
            return self._writer

    def close(self) -> None:
        with self._guard:
            if self._writer is not None:
                self._writer.close()
            self._writer = None


class LocalWorkspace(ReadingWorkspace):
    """Files for reading and writing: atomic, durable, recorded in the journal."""

    def __init__(self, jail: Jail, judge: Judge, *, writing: LateWriter, turn: str = "") -> None:
        super().__init__(jail, judge, turn=turn)
        self._writing = writing

    @property
    def read_only(self) -> bool:
        return False

    @property
    def history(self) -> FileHistory:
        """Undo, redo, and earlier states of the files."""
        from nebula.workspace.file_history import FileHistory

        return FileHistory(self._writing.get(), self._set_writer)

    def close(self) -> None:
        self._writing.close()
        super().close()

    def check_write(self, path: str, mode: WriteMode, content: str | None = None) -> PathState:
        from nebula.workspace.writing.request import judge_write

        request = self._request(path, content or "", mode, None)
        found = self._writing.get().find(request.path)
        judge_write(request, found)
        limit = request.max_bytes
        if found.status is None:
            return PathState(request.path.text, "missing", max_bytes=limit)
        return PathState(request.path.text, "file", found.status.st_size, found.sha256, _decoded(found.content), limit)

    def write_file(
        self, path: str, content: str, mode: WriteMode = "create", *, expected: str | None = None
    ) -> WriteResult:
        writer, request = self._writing.get(), self._request(path, content, mode, expected)
        with writer.locked([request.path]):
            return writer.write_locked(request)

    def roll_back(self) -> tuple[str, ...]:
        if not self._turn:
            return ()  # without a turn nobody can tell whose changes these would be
        history = self.history
        try:
            plan = history.plan_undo(self._turn)
        except NotKept:
            return ()  # it changed nothing, or everything was restored
        return tuple(step.path for step in history.apply(plan))

    def may_change(self, path: str, repositories: RepositoryFinder) -> NormalPath:
        """Return the path in normal form if the policy allows a command's change there; raise otherwise."""
        place = normal_path(path)
        self._judge.writing(place, repositories)
        return place

    def repositories(self, together: Collection[str] = ()) -> RepositoryFinder:
        """Return an object that knows the bare repositories here, assuming that the paths of `together` are written,
        and the paths that git's settings name."""
        return RepositoryFinder(self._jail.exists, together, self._obeyed_by_git)

    def _obeyed_by_git(self) -> list[str]:
        root = os.path.realpath(self.root)
        try:
            found = [os.path.relpath(each, root) for each in obeyed_paths(root)]
        except GitFailed:
            return []
        return [each for each in found if each != "." and not each.startswith("..")]

    def may_change_repository(self, path: str) -> bool:
        """Return whether the policy allows a change at a path below `.git`: it does for one that is allowed by name."""
        try:
            return self._judge.allows_in_repository(normal_path(path))
        except WorkspaceError:
            return False

    def apply_changes(
        self, changes: Sequence[PathChange], ignored: Sequence[PathChange] = (), repository: Sequence[PathChange] = ()
    ) -> AppliedSet:
        """Apply a set as a whole, as changes of this turn. `ignored` (by git) and `repository` (git's own files, if
        that is allowed) are applied with it, and not kept in the journal."""
        allowed, refused = self._judged(changes)
        beside, others = self._judged(ignored)
        beside, changed = _split_changed(beside)
        git, touched = _split_changed([each for each in repository if self.may_change_repository(each.path)])
        if touched:  # half a commit is a broken repository
            git, changed = [], [*changed, *touched]
        done, failed = self._set_writer(self._turn).apply(allowed, [*beside, *git])
        return AppliedSet(tuple(done), (*refused, *others, *changed, *failed), len(beside) + len(git))

    def state(self, path: str) -> str | None:
        """Return the journal's name of the state of `path`, with its mode; None: nothing is there."""
        return self._writing.get().state(normal_path(path))

    def keep_content(self, content: bytes) -> None:
        """Keep a content in the journal for later use, although no file has it."""
        self._writing.get().keep(content)

    def take_back_half_applied(self) -> TakenBack | None:
        """Undo a set whose process was killed while it applied the set; None where there is none."""
        return self._set_writer(self._turn).take_back_half_applied()

    def _set_writer(self, group: str, kind: ChangeKind = "write") -> ChangeSetWriter:
        from nebula.workspace.writing.beside import BesideWriter
        from nebula.workspace.writing.change_sets import ChangeSetWriter

        writer = self._writing.get()
        return ChangeSetWriter(writer, BesideWriter(self._jail, writer), group, kind)

    def _judged(self, changes: Sequence[PathChange]) -> tuple[list[PathChange], list[NotApplied]]:
        """Return the changes that the policy allows, and the others with the reason."""
        allowed, refused = [], []
        repositories = self.repositories([change.path for change in changes if change.after is not None])
        for change in changes:
            try:
                allowed.append(replace(change, path=self.may_change(change.path, repositories).text))
            except WorkspaceError as error:
                refused.append((change.path, error))
        return allowed, refused

    def _request(self, path: str, content: str, mode: WriteMode, expected: str | None) -> WriteRequest:
        from nebula.workspace.writing.request import WriteRequest

        if mode not in _MODES:
            raise MalformedRequest("The mode must be one of {modes}.", modes=", ".join(_MODES))
        if expected is not None and not isinstance(expected, str):
            raise MalformedRequest("The expected content is named by its sha256.")
        place = self._jail.place(path)
        data = encode_text(content)
        self._judge.writing(place, self.repositories())
        return WriteRequest(place, data, mode, expected, self._judge.policy.max_bytes, self._turn)

    def for_turn(self, trace_id: str) -> Self:
        return type(self)(self._jail, self._judge, writing=self._writing, turn=trace_id)

    def allowing(self, *paths: str) -> Self:
        return type(self)(self._jail, self._judge.allowing(paths), writing=self._writing, turn=self._turn)


def _split_changed(changes: Sequence[PathChange]) -> tuple[list[PathChange], list[NotApplied]]:
    """Return the changes whose path is still as it was seen, and the others with the reason."""
    still: list[PathChange] = []
    changed: list[NotApplied] = []
    for change in changes:
        if change.still_there is None or change.still_there():
            still.append(change)
        else:
            changed.append((change.path, Stale("{path}: changed while the command ran or since.", path=change.path)))
    return still, changed


def _decoded(content: bytes | None) -> str | None:
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError:
        return None
