"""The only code that changes the user's files: lock, look, keep the old content, record, put the new content in
place."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

from nebula.files.atomic import AtomicWriter, Inspect, Taken, WriteTarget, open_for_writing_elsewhere
from nebula.files.descriptors import closed_after
from nebula.files.digest import digest
from nebula.files.locks import PathLocks
from nebula.files.reading import read_all
from nebula.files.syscalls import REAL, Syscalls
from nebula.workspace.contract import WriteResult
from nebula.workspace.errors import AlreadyExists, PathEscape, PathNotFound, Stale, WorkspaceError
from nebula.workspace.guard.jail import Jail, status_at, translate
from nebula.workspace.guard.paths import NormalPath, normal_path
from nebula.workspace.journal.changes import Abort, ChangeKind, ChangeLog, KeptContent, RecordedChange
from nebula.workspace.journal.objects import KEPT_BYTES, ObjectStore
from nebula.workspace.journal.states import EntryState, same_state
from nebula.workspace.state_folder import open_state_dir
from nebula.workspace.writing.request import NOTHING, ExistingFile, WriteRequest, already_there, judge_write, look_at

_ATTEMPTS = 5
_PAUSE_S = 0.01
"""How long to wait before looking again at a file that another program was writing; by then a save is over."""


class FileWriter:
    def __init__(self, jail: Jail, calls: Syscalls = REAL) -> None:
        self._jail = jail
        self.calls = calls
        self._folders: list[int] = []
        for below in ((), ("objects",), ("staging",), ("locks",)):
            self._folders.append(open_state_dir(jail.fd, "journal", *below, calls=calls))
        journal, objects, staging, locks = self._folders
        self.journal_fd = journal
        self._atomic = AtomicWriter(staging, calls)
        self._locks = PathLocks(locks)
        self.objects = ObjectStore(objects, self._atomic, calls)
        try:
            self.log = ChangeLog(journal, calls)
            self._atomic.sweep(self._unlink_litter, self._keep_litter)
        except OSError as error:
            raise translate(error, ".nebula/journal") from None

    def close(self) -> None:
        while self._folders:
            os.close(self._folders.pop())

    def __del__(self) -> None:
        self.close()

    @property
    def usable(self) -> bool:
        """Return False once somebody has removed the directories it works with."""
        return all(os.fstat(fd).st_nlink for fd in self._folders)

    def locked(self, paths: Iterable[NormalPath]) -> AbstractContextManager[None]:
        """Keep other writers away from these paths; `write_locked` and `remove_locked` need that."""
        return self._locks.hold([path.lock_key for path in paths])

    def write_locked(self, request: WriteRequest) -> WriteResult:
        """Write a file whose lock is held. If another program is creating or saving it at the moment, look again."""
        path = request.path
        for _ in range(_ATTEMPTS):
            found = self.find(path)
            content = judge_write(request, found)
            try:
                with self.folder_of(path, make=True) as (folder, made):
                    after, change = self._keep_both(request, found, content, made)
                    place = WriteTarget(folder, "/".join(path.parts[:-1]), path.name, found.status, request.perm)
                    with self.taken_back_on_failure(self.log.append(change), change):
                        self._atomic.put(place, content, inspect=self._is(found))
                return WriteResult(path.text, found.sha256, after, len(content))
            except FileExistsError:
                if request.mode == "create":
                    raise already_there(path) from None
            except Taken:
                pass
            except OSError as error:
                raise translate(error, path.text) from None
            time.sleep(_PAUSE_S)
        raise Stale("{path}: another program is writing it; try again.", path=path.text)

    def _keep_both(
        self, request: WriteRequest, found: ExistingFile, content: bytes, made: Iterable[str]
    ) -> tuple[str, RecordedChange]:
        """Keep the content of a file before and after a write; return the new one's name, and what is recorded."""
        if found.content is not None:
            self.objects.put(found.content, durable=True)
        after = self.objects.put(content, durable=False)  # the file itself is the durable copy
        left = EntryState("file", after, request.perm if request.exact else None).name
        before = _name_of(found, request.exact)
        recorded = (request.group, request.kind, request.path.text, before, left, tuple(made))
        return after, RecordedChange(*recorded, author=request.author)

    def remove_locked(
        self, path: NormalPath, expected: str, group: str, kind: ChangeKind, *, exact: bool = False, author: str = ""
    ) -> None:
        """Remove a file if it has the expected content; the content is kept."""
        with self.folder_of(path, make=False) as (folder, _):
            found = look_at(folder, path)
            if found.status is None or found.content is None or found.sha256 != expected:
                raise Stale("{path}: changed since; look at it before it is removed.", path=path.text)
            try:
                self.objects.put(found.content, durable=True)
                mode = stat.S_IMODE(found.status.st_mode)
                before = _name_of(found, exact)
                change = RecordedChange(group, kind, path.text, before, None, mode=mode, author=author)
                with self.taken_back_on_failure(self.log.append(change), change):
                    self._atomic.remove(
                        WriteTarget(folder, "/".join(path.parts[:-1]), path.name, None), self._is(found)
                    )
            except Taken:
                raise Stale("{path}: changed since; look at it before it is removed.", path=path.text) from None
            except OSError as error:
                raise translate(error, path.text) from None

    def find(self, path: NormalPath) -> ExistingFile:
        """Return the file at a path to be written; raise if a link is in the way."""
        try:
            folder = self._jail.open_parent(path)
        except FileNotFoundError:
            return NOTHING
        with closed_after(folder):
            return look_at(folder, path)

    def state(self, path: NormalPath) -> str | None:
        """Return the name of the path's state, with its mode; None where nothing is there, or a link or a file is in
        the place of a folder above it."""
        try:
            folder = self._jail.open_parent(path)
        except (FileNotFoundError, AlreadyExists, PathEscape):
            return None
        with closed_after(folder):
            try:
                return _state_at(folder, path)
            except OSError as error:
                raise translate(error, path.text) from None

    def remove_folders(self, folders: Iterable[str]) -> None:
        """Remove these directories if they are empty, innermost first."""
        for folder in sorted(folders, key=len, reverse=True):
            with suppress(OSError, WorkspaceError):  # not empty, or gone: it stays
                path = normal_path(folder)
                with closed_after(self._jail.open_parent(path)) as parent:
                    self.calls.rmdir(path.name, parent)

    def _is(self, found: ExistingFile) -> Inspect:
        """Return a check that a file taken from its path is the one we looked at; it keeps the content of any other."""

        def inspect(fd: int) -> None:
            being_written = open_for_writing_elsewhere(fd)
            content = read_all(fd, KEPT_BYTES + 1)
            if digest(content) != found.sha256 or being_written:
                self.keep(content)
                raise Taken

        return inspect

    def keep(self, content: bytes) -> None:
        """Keep a content that no change refers to, unless it is too large or kept already."""
        if len(content) <= KEPT_BYTES and self.objects.get(digest(content)) is None:
            self.log.append(KeptContent(self.objects.put(content, durable=True)))

    @contextmanager
    def taken_back_on_failure(self, seq: int, change: RecordedChange) -> Iterator[None]:
        """Cancel a recorded change if the block fails without having made it."""
        try:
            yield
        except BaseException:
            with suppress(OSError, WorkspaceError):  # then the file itself shows that nothing happened
                if not same_state(self.state(normal_path(change.path)), change.after):
                    self.log.append(Abort(seq))
            raise

    @contextmanager
    def folder_of(self, path: NormalPath, *, make: bool) -> Iterator[tuple[int, list[str]]]:
        made: list[str] = []
        try:
            try:
                folder = self._jail.open_parent(path)
            except FileNotFoundError:
                if not make:
                    raise PathNotFound("{path}: not found.", path=path.text) from None
                folder = self._jail.make_parent(path, made)
            with closed_after(folder):
                yield folder, made
        except BaseException:
            self.remove_folders(made)
            raise

    def _keep_litter(self, fd: int) -> None:
        """Keep what a writer that died left behind: its half-written file, or the one that it was replacing."""
        if os.fstat(fd).st_size > KEPT_BYTES:
            raise BlockingIOError  # it stays: too large to keep, and not ours to delete
        self.keep(read_all(fd, KEPT_BYTES))

    def _unlink_litter(self, path: str) -> None:
        with suppress(FileNotFoundError, WorkspaceError):  # gone, or a path that we would never have noted
            place = normal_path(path)
            with closed_after(self._jail.open_parent(place)) as folder:
                self.calls.unlink(place.name, folder)


def _state_at(folder: int, path: NormalPath) -> str | None:
    status = status_at(folder, path.name)
    if status is None:
        return None
    if stat.S_ISLNK(status.st_mode):
        return EntryState("link", digest(os.fsencode(os.readlink(path.name, dir_fd=folder)))).name
    if stat.S_ISDIR(status.st_mode):
        return EntryState("folder", mode=stat.S_IMODE(status.st_mode)).name
    return _name_of(look_at(folder, path), exact=True)


def _name_of(found: ExistingFile, exact: bool) -> str | None:
    if found.status is None or found.sha256 is None:
        return None
    return EntryState("file", found.sha256, stat.S_IMODE(found.status.st_mode)).name if exact else found.sha256
