"""The workspace on this machine's disk. `open_workspace` builds one.

Reading and writing are two classes: one opened for reading has no writer, and no way to come by one.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Literal, Self, get_args, overload

from nebula.files.digest import digest
from nebula.files.reading import read_all
from nebula.files.syscalls import REAL, Syscalls
from nebula.workspace.contract import (
    DEFAULT_LIST_ITEMS,
    DEFAULT_SEARCH_FILES,
    AppliedPath,
    AppliedSet,
    FileLines,
    FileText,
    Listing,
    PathChange,
    PathState,
    SearchHits,
    WriteMode,
    WriteResult,
)
from nebula.workspace.errors import (
    MalformedRequest,
    NotKept,
    NotUtf8,
    ReadOnly,
    SecretPath,
    Stale,
    TooLarge,
    WorkspaceError,
)
from nebula.workspace.guard.jail import Jail, require_regular, translate
from nebula.workspace.guard.judge import Judge
from nebula.workspace.guard.paths import NormalPath, normal_path
from nebula.workspace.guard.policy import Policy
from nebula.workspace.guard.repositories import RepositoryFinder
from nebula.workspace.line_ranges import read_line_range

if TYPE_CHECKING:
    from nebula.workspace.file_history import FileHistory
    from nebula.workspace.search.explore import Explorer
    from nebula.workspace.writing.change_sets import ChangeSetWriter, TakenBack
    from nebula.workspace.writing.request import WriteRequest
    from nebula.workspace.writing.writer import FileWriter

MAX_KEYWORD = 10_000
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
    """The guarded files below `root`. Opened read-only, it has no code to write with."""
    jail = Jail(root, calls=calls)
    judge = Judge(policy or Policy())
    if read_only:
        return ReadingWorkspace(jail, judge)
    return LocalWorkspace(jail, judge, writing=LateWriter(jail, calls))


class ReadingWorkspace:
    """List, read, search. Writing is refused."""

    def __init__(self, jail: Jail, judge: Judge, *, turn: str = "") -> None:
        self._jail = jail
        self._judge = judge
        self._turn = turn

    @property
    def read_only(self) -> bool:
        return True

    @property
    def root(self) -> str:
        """The absolute path of the root, for programs started there; not for messages."""
        return self._jail.root

    def close(self) -> None:
        self._jail.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read_file(self, path: str) -> FileText:
        place = normal_path(path)
        limit = self._judge.policy.max_bytes
        fd, secret = self._open(place)
        try:
            size = require_regular(fd, place.text).st_size
            content = os.read(fd, min(size, limit) + 1)
            while len(content) <= limit and len(content) != size and (more := os.read(fd, limit)):
                content += more  # it grew, or its size is not known beforehand
                size = -1
        except OSError as error:
            raise translate(error, place.text) from None
        finally:
            os.close(fd)
        if len(content) > limit:
            raise TooLarge("{path}: has more than the {limit} bytes allowed.", path=place.text, limit=limit)
        return FileText(place.text, _shown(content, place), digest(content), len(content), secret)

    def read_bytes(self, path: str, limit: int) -> bytes:
        """The bytes of a file of any kind, such as an image, of at most so many. A secret one is always refused."""
        place = normal_path(path)
        fd, secret = self._open(place)
        try:
            require_regular(fd, place.text)
            content = read_all(fd, limit + 1)
        except OSError as error:
            raise translate(error, place.text) from None
        finally:
            os.close(fd)
        if secret:
            raise SecretPath("{path}: is a secret file, and no text.", path=place.text)
        if len(content) > limit:
            raise TooLarge("{path}: has more than the {limit} bytes allowed.", path=place.text, limit=limit)
        return content

    def read_lines(self, path: str, first: int, last: int | None = None) -> FileLines:
        place = normal_path(path)
        first = _count(first, 1, sys.maxsize)
        last = None if last is None else _count(last, 1, sys.maxsize)
        fd, secret = self._open(place)
        try:
            require_regular(fd, place.text)
            found = read_line_range(fd, first, last, self._judge.policy.max_bytes)
        except OSError as error:
            raise translate(error, place.text) from None
        finally:
            os.close(fd)
        text = _shown(found.content, place)
        return FileLines(place.text, text, first, found.last, found.total_lines, found.sha256, found.size, secret)

    def _open(self, place: NormalPath) -> tuple[int, bool]:
        """A descriptor of a file that may be read, and whether it is a secret one."""
        secret = place.standing.secret

        def judge_target(real: NormalPath) -> None:
            nonlocal secret
            self._judge.reading(real)
            secret = secret or real.standing.secret

        self._judge.reading(place)
        return self._jail.open_for_reading(place, judge_target), secret

    def list_files(
        self,
        path: str = ".",
        *,
        recursive: bool = False,
        extensions: Sequence[str] | None = None,
        max_items: int | None = None,
    ) -> Listing:
        place = normal_path(path)
        kinds = _extensions(extensions)
        cap = _count(max_items, DEFAULT_LIST_ITEMS)
        fd = self._jail.open_folder(place, _no_judgement)
        try:
            explorer = self._explorer()
            lister = explorer.list_tree if recursive else explorer.list_folder
            return lister(place, fd, kinds, cap)
        finally:
            os.close(fd)

    def search(self, directory: str, keyword: str, *, max_files: int = DEFAULT_SEARCH_FILES) -> SearchHits:
        place = normal_path(directory)
        _require_keyword(keyword)
        cap = _count(max_files, DEFAULT_SEARCH_FILES)
        fd = self._jail.open_folder(place, _no_judgement)
        try:
            return self._explorer().search(place, fd, keyword, self._judge.may_read, cap)
        finally:
            os.close(fd)

    def probe(self, path: str) -> PathState:
        place = normal_path(path)
        status = self._jail.status(self._jail.resolve(place))
        if status is None:
            return PathState(place.text, "missing")
        if stat.S_ISDIR(status.st_mode):
            return PathState(place.text, "directory")
        if not stat.S_ISREG(status.st_mode):
            return PathState(place.text, "other")
        return PathState(place.text, "file", status.st_size)

    def check_write(self, path: str, mode: WriteMode, content: str | None = None) -> PathState:
        raise _read_only()

    def write_file(
        self, path: str, content: str, mode: WriteMode = "create", *, expected: str | None = None
    ) -> WriteResult:
        raise _read_only()

    def roll_back(self) -> tuple[str, ...]:
        raise _read_only()

    def for_turn(self, trace_id: str) -> Self:
        return type(self)(self._jail, self._judge, turn=trace_id)

    def allowing(self, *paths: str) -> Self:
        """Return the same workspace with these secret or control files allowed by name, beside those of its policy."""
        return type(self)(self._jail, self._judge.allowing(paths), turn=self._turn)

    def _explorer(self) -> Explorer:
        from nebula.workspace.search.explore import Explorer

        return Explorer(self._jail)


class LateWriter:
    """Builds the writer, and `.nebula/`, on first use; shared by all views of a workspace."""

    def __init__(self, jail: Jail, calls: Syscalls) -> None:
        self._jail = jail
        self._calls = calls
        self._guard = threading.Lock()
        self._writer: FileWriter | None = None

    def get(self) -> FileWriter:
        with self._guard:
            if self._writer is None or not self._writer.usable:
                from nebula.workspace.writing.writer import FileWriter

                self._writer = FileWriter(self._jail, self._calls)  # the old one closes when its last user is done
            return self._writer

    def close(self) -> None:
        with self._guard:
            if self._writer is not None:
                self._writer.close()
            self._writer = None


class LocalWorkspace(ReadingWorkspace):
    """The same, and writing: atomic, durable, recorded in the journal."""

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

        return FileHistory(self._writing.get())

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
            return ()  # whose changes these would be nobody can tell
        history = self.history
        try:
            plan = history.plan_undo(self._turn)
        except NotKept:
            return ()  # it changed nothing, or all of it was put back
        return tuple(step.path for step in history.apply(plan))

    def may_change(self, path: str, repositories: RepositoryFinder) -> NormalPath:
        """Return the path in normal form, if the policy lets a command's result be applied there; raise why not."""
        place = normal_path(path)
        self._judge.writing(place, repositories)
        return place

    def repositories(self, together: Collection[str] = ()) -> RepositoryFinder:
        """Return what knows the bare repositories here, once the paths of a set are written `together`."""
        return RepositoryFinder(self._jail.exists, together)

    def may_change_repository(self, path: str) -> bool:
        """The same for a path below `.git`, which needs to be allowed by name."""
        try:
            return self._judge.allows_in_repository(normal_path(path))
        except WorkspaceError:
            return False

    def apply_changes(
        self,
        changes: Sequence[PathChange],
        ignored: Sequence[PathChange] = (),
        repository: Sequence[PathChange] = (),
    ) -> AppliedSet:
        """Apply a set as a whole, as this turn's, with what git ignores and what is git's own, if that is allowed,
        which the journal does not keep."""
        allowed, refused = self._judged(changes)
        beside, others = self._judged(ignored)
        beside, changed = _split_changed(beside)
        git = [(normal_path(each.path), each) for each in repository if self.may_change_repository(each.path)]
        git, touched = _split_changed(git)
        if touched:  # half a commit is a broken repository
            git, changed = [], [*changed, *touched]
        done, failed = self._set_writer().apply(allowed, [*beside, *git])
        applied = tuple(AppliedPath(move.path.text, move.current, move.target) for move in done)
        left_out = (*refused, *others, *changed, *((each.path, each.error) for each in failed))
        return AppliedSet(applied, left_out, len(beside) + len(git))

    def take_back_half_applied(self) -> TakenBack | None:
        """Of a set whose process was killed while it applied it."""
        return self._set_writer().take_back_half_applied()

    def _set_writer(self) -> ChangeSetWriter:
        from nebula.workspace.writing.beside import BesideWriter
        from nebula.workspace.writing.change_sets import ChangeSetWriter

        writer = self._writing.get()
        return ChangeSetWriter(writer, BesideWriter(self._jail, writer), self._turn)

    def _judged(
        self, changes: Sequence[PathChange]
    ) -> tuple[list[tuple[NormalPath, PathChange]], list[tuple[str, WorkspaceError]]]:
        allowed, refused = [], []
        repositories = self.repositories([change.path for change in changes if change.kind is not None])
        for change in changes:
            try:
                allowed.append((self.may_change(change.path, repositories), change))
            except WorkspaceError as error:
                refused.append((change.path, error))
        return allowed, refused

    def _request(self, path: str, content: str, mode: WriteMode, expected: str | None) -> WriteRequest:
        from nebula.workspace.writing.request import WriteRequest

        if mode not in _MODES:
            raise MalformedRequest("The mode must be one of {modes}.", modes=", ".join(_MODES))
        if expected is not None and not isinstance(expected, str):
            raise MalformedRequest("The expected content is named by its sha256.")
        place = normal_path(path)
        data = _encoded(content)
        self._judge.writing(place, self.repositories())
        return WriteRequest(place, data, mode, expected, self._judge.policy.max_bytes, self._turn)

    def for_turn(self, trace_id: str) -> Self:
        return type(self)(self._jail, self._judge, writing=self._writing, turn=trace_id)

    def allowing(self, *paths: str) -> Self:
        return type(self)(self._jail, self._judge.allowing(paths), writing=self._writing, turn=self._turn)


JudgedChanges = list[tuple[NormalPath, PathChange]]


def _split_changed(changes: JudgedChanges) -> tuple[JudgedChanges, list[tuple[str, WorkspaceError]]]:
    """Return those whose place is still as it was seen, and the others with what there is to say of them."""
    still: JudgedChanges = []
    changed: list[tuple[str, WorkspaceError]] = []
    for path, change in changes:
        if change.still_there is None or change.still_there():
            still.append((path, change))
        else:
            changed.append((path.text, Stale("{path}: changed while the command ran or since.", path=path.text)))
    return still, changed


def _read_only() -> ReadOnly:
    return ReadOnly("This workspace was opened for reading; nothing can be written in it.")


def _no_judgement(path: NormalPath) -> None:
    """Any directory may be looked at; the files in it are judged one by one."""


def _encoded(content: object) -> bytes:
    if not isinstance(content, str):
        raise MalformedRequest("The content must be a string.")
    try:
        return content.encode()
    except UnicodeEncodeError:
        raise MalformedRequest("The content is not valid Unicode (it holds a lone surrogate).") from None


def _decoded(content: bytes | None) -> str | None:
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError:
        return None


def _require_keyword(keyword: object) -> None:
    if not isinstance(keyword, str) or not keyword or "\0" in keyword or len(keyword) > MAX_KEYWORD:
        raise MalformedRequest("The keyword must have 1 to {limit} characters, none of them NUL.", limit=MAX_KEYWORD)
    _encoded(keyword)


def _count(number: object, default: int, highest: int | None = None) -> int:
    if number is None:
        return default
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise MalformedRequest("A limit must be a whole number of at least 1.")
    return min(number, highest or default * 10)


def _shown(content: bytes, place: NormalPath) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise NotUtf8("{path}: is not UTF-8 text, so it cannot be shown.", path=place.text) from None


def _extensions(extensions: Sequence[str] | None) -> tuple[str, ...] | None:
    if extensions is None:
        return None
    if isinstance(extensions, str) or not all(isinstance(kind, str) for kind in extensions):
        raise MalformedRequest('Extensions must be a list of strings such as ".py".')
    kinds = (kind.strip().lower() for kind in extensions)
    return tuple(kind if kind.startswith(".") else f".{kind}" for kind in kinds if kind) or None
