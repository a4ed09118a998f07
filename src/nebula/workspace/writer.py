"""The only code that changes the user's files: lock, look, keep the old content, record, then put the new in place."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Final

from nebula.files.beneath import FILE_FLAGS
from nebula.files.reading import read_all
from nebula.files.syscalls import REAL, Syscalls
from nebula.value import value
from nebula.workspace.atomic import AtomicWriter, Place
from nebula.workspace.contract import ABSENT, WriteMode, WriteResult
from nebula.workspace.digest import digest
from nebula.workspace.errors import (
    AlreadyExists,
    Forbidden,
    NotFound,
    NotUtf8,
    PathEscape,
    Stale,
    TooLarge,
    WorkspaceError,
)
from nebula.workspace.jail import Jail, require_regular, status_at, translate
from nebula.workspace.journal import Change, ChangeKind, ChangeLog
from nebula.workspace.locks import PathLocks
from nebula.workspace.objects import ObjectStore
from nebula.workspace.paths import NormalPath, normal_path
from nebula.workspace.state import open_state_dir

KEPT_BYTES: Final = 64 * 1024 * 1024
"""A file above this is not replaced, because its old content would have to be kept."""
_ATTEMPTS = 3


@value
class Order:
    """One write as it was asked for."""

    path: NormalPath
    content: bytes
    mode: WriteMode
    expected: str | None
    max_bytes: int
    group: str
    kind: ChangeKind = "write"


@value
class Found:
    """What lies where a file is to be written."""

    status: os.stat_result | None
    content: bytes | None
    sha256: str | None


NOTHING = Found(None, None, None)


class Writer:
    def __init__(self, jail: Jail, calls: Syscalls = REAL) -> None:
        self._jail = jail
        self._calls = calls
        self._folders: list[int] = []
        for below in ((), ("objects",), ("staging",), ("locks",)):
            self._folders.append(open_state_dir(jail.fd, "journal", *below, calls=calls))
        journal, objects, staging, locks = self._folders
        self._atomic = AtomicWriter(staging, calls)
        self._locks = PathLocks(locks)
        self.objects = ObjectStore(objects, self._atomic, calls)
        try:
            self._atomic.sweep(self._unlink_litter)
            self.log = ChangeLog(journal, calls)
        except OSError as error:
            raise translate(error, ".nebula/journal") from None

    def close(self) -> None:
        while self._folders:
            os.close(self._folders.pop())

    def __del__(self) -> None:
        self.close()

    @property
    def usable(self) -> bool:
        """False once somebody removed the directories it works with."""
        return all(os.fstat(fd).st_nlink for fd in self._folders)

    def locked(self, paths: Iterable[NormalPath]) -> AbstractContextManager[None]:
        """Keep other writers away from these paths; `write_locked` and `remove_locked` ask for it."""
        return self._locks.hold([path.lock_key for path in paths])

    def write(self, order: Order) -> WriteResult:
        with self.locked([order.path]):
            return self.write_locked(order)

    def write_locked(self, order: Order) -> WriteResult:
        for _ in range(_ATTEMPTS):
            with suppress(FileExistsError):  # somebody outside our locks made the file just now: look again
                return self._attempt(order)
        raise AlreadyExists(f"{order.path.text}: another program keeps creating it; try again.")

    def remove_locked(self, path: NormalPath, expected: str, group: str, kind: ChangeKind) -> None:
        """Remove a file whose content is the expected one; its content is kept."""
        with self._folder_of(path, make=False) as (folder, _):
            found = look_at(folder, path)
            if found.status is None or found.content is None or found.sha256 != expected:
                raise Stale(f"{path.text}: changed since; look at it before it is removed.")
            try:
                self.objects.put(found.content, durable=True)
                with self._recorded(Change(group, kind, path.text, found.sha256, None), path):
                    self._atomic.remove(Place(folder, "", path.name, found.status))
            except OSError as error:
                raise translate(error, path.text) from None

    def find(self, path: NormalPath) -> Found:
        """What lies at a path a write could go to; refused if a link is in the way."""
        try:
            folder = self._jail.open_parent(path)
        except FileNotFoundError:
            return NOTHING
        try:
            return look_at(folder, path)
        finally:
            os.close(folder)

    def remove_folders(self, folders: Iterable[str]) -> None:
        """Remove these directories as far as they are empty, innermost first."""
        for folder in sorted(folders, key=len, reverse=True):
            with suppress(OSError, WorkspaceError):  # not empty, or gone: it stays as it is
                path = normal_path(folder)
                parent = self._jail.open_parent(path)
                try:
                    self._calls.rmdir(path.name, parent)
                finally:
                    os.close(parent)

    def _attempt(self, order: Order) -> WriteResult:
        found = self.find(order.path)
        content = judge_write(order, found)
        try:
            with self._folder_of(order.path, make=True) as (folder, made):
                return self._replace(order, found, content, folder, made)
        except FileExistsError:
            if order.mode == "create":
                raise AlreadyExists(_exists_message(order.path)) from None
            raise
        except OSError as error:
            raise translate(error, order.path.text) from None

    def _replace(self, order: Order, found: Found, content: bytes, folder: int, made: list[str]) -> WriteResult:
        if found.content is not None:
            self.objects.put(found.content, durable=True)
        after = self.objects.put(content, durable=False)  # the file itself is the durable copy
        path = order.path
        change = Change(order.group, order.kind, path.text, found.sha256, after, tuple(made))
        with self._recorded(change, path):
            self._atomic.put(Place(folder, "/".join(path.parts[:-1]), path.name, found.status), content)
        return WriteResult(path.text, found.sha256, after, len(content))

    @contextmanager
    def _recorded(self, change: Change, path: NormalPath) -> Iterator[None]:
        """Record a change, and take it back if the block fails without having done it."""
        seq = self.log.append(change)
        try:
            yield
        except BaseException:
            with suppress(OSError, WorkspaceError):  # then the file itself shows that nothing happened
                if self.find(path).sha256 != change.after:
                    self.log.take_back(seq)
            raise

    @contextmanager
    def _folder_of(self, path: NormalPath, *, make: bool) -> Iterator[tuple[int, list[str]]]:
        made: list[str] = []
        try:
            try:
                folder = self._jail.open_parent(path)
            except FileNotFoundError:
                if not make:
                    raise NotFound(f"{path.text}: not found.") from None
                folder = self._jail.make_parent(path, made)
            try:
                yield folder, made
            finally:
                os.close(folder)
        except BaseException:
            self.remove_folders(made)
            raise

    def _unlink_litter(self, path: str) -> None:
        with suppress(FileNotFoundError, WorkspaceError):  # gone, or a path we would never have noted
            place = normal_path(path)
            folder = self._jail.open_parent(place)
            try:
                self._calls.unlink(place.name, folder)
            finally:
                os.close(folder)


def look_at(folder: int, path: NormalPath) -> Found:
    """The file to be replaced, opened without following a link, with its content."""
    status = status_at(folder, path.name)
    if status is None:
        return NOTHING
    if stat.S_ISLNK(status.st_mode):
        raise PathEscape(f"{path.text}: is a link, and a write follows none; write to the file it names.")
    if stat.S_ISDIR(status.st_mode):
        raise AlreadyExists(f"{path.text}: is a directory; choose another name.")
    try:
        fd = os.open(path.name, FILE_FLAGS, dir_fd=folder)
    except OSError as error:
        raise translate(error, path.text) from None
    try:
        status = require_regular(fd, path.text)
        if status.st_size > KEPT_BYTES:
            raise TooLarge(f"{path.text}: is too large to keep a copy of; replace it by hand.")
        content = read_all(fd, KEPT_BYTES)
    finally:
        os.close(fd)
    return Found(status, content, digest(content))


def judge_write(order: Order, found: Found) -> bytes:
    """The whole new content, if the write may be done on what was found."""
    path = order.path.text
    if found.status is not None and order.mode == "create":
        raise AlreadyExists(_exists_message(order.path))
    if order.expected is not None and order.mode != "create" and order.expected != (found.sha256 or ABSENT):
        raise Stale(f"{path}: is not what it was when you read it; read it again first.")
    if found.status is not None and not found.status.st_mode & 0o222:
        raise Forbidden(f"{path}: is marked read-only; change its mode first.")
    content = order.content
    if order.mode == "append" and found.content is not None:
        content = found.content + content
    if len(content) > order.max_bytes:
        raise TooLarge(f"{path}: would have {len(content)} bytes, more than the {order.max_bytes} allowed; split it.")
    if order.mode == "append" and found.content is not None:
        try:
            found.content.decode()
        except UnicodeDecodeError:
            raise NotUtf8(f"{path}: is not UTF-8 text, so nothing can be appended.") from None
    return content


def _exists_message(path: NormalPath) -> str:
    return f'{path.text}: exists already; use mode "overwrite" to replace it.'
