"""A file is replaced or created whole, durably, or not at all.

The new content is written to a staging directory of the same file system, synced, and then moved to its place: by
rename where it replaces, by link where it must be new, so that of several creators one wins. The directory is synced
before the caller hears of success. A crash leaves at most a staged file, out of sight, and the next writer sweeps it.

Where the target lies on another file system (a mount below the root), the temporary file must lie beside it; a note
in the staging directory then tells the sweeper where to look. On file systems without hard links a create reserves
the name with an empty file first, and a crash in that moment leaves it.

Extended attributes and access lists of a replaced file are not carried over; mode, owner and group are.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from nebula.files.beneath import FILE_FLAGS
from nebula.files.syscalls import Syscalls
from nebula.value import value

TEMPORARY_PREFIX: Final = ".nebula-tmp-"
_NOTE_SUFFIX = ".beside"
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})

Unlink = Callable[[str], None]
"""Remove a file by its path relative to the root, through the jail."""


@value
class Place:
    """Where a file goes: the descriptor of its directory, that directory's path, its name, and what is there."""

    folder_fd: int
    folder: str
    name: str
    old: os.stat_result | None


class AtomicWriter:
    def __init__(self, staging_fd: int, calls: Syscalls) -> None:
        self._staging_fd = staging_fd
        self._calls = calls

    def put(self, place: Place, content: bytes, *, durable: bool = True) -> None:
        """Replace the file, or create it: FileExistsError if `place.old` is None and somebody was faster."""
        try:
            self._put_from(self._staging_fd, place, content, durable=durable)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            with self._note_beside(place) as name:
                self._put_from(place.folder_fd, place, content, durable=durable, name=name)
        if durable:
            self._calls.fsync_dir(place.folder_fd)

    def remove(self, place: Place) -> None:
        self._calls.unlink(place.name, place.folder_fd)
        self._calls.fsync_dir(place.folder_fd)

    def sweep(self, unlink: Unlink) -> int:
        """Remove what dead writers left; a living one holds a lock on its file. The number of files removed."""
        swept = 0
        for name in os.listdir(self._staging_fd):
            if not name.startswith(TEMPORARY_PREFIX):
                continue
            with suppress(FileNotFoundError, BlockingIOError):  # its writer finished, or lives
                swept += self._sweep_one(name, unlink)
        return swept

    def _put_from(
        self, staging_fd: int, place: Place, content: bytes, *, durable: bool, name: str | None = None
    ) -> None:
        staged = name or _temporary_name()
        with self._temporary(staged, staging_fd, 0o666 if place.old is None else 0o600) as fd:
            self._calls.write_all(fd, content)
            self._take_over_owner_and_mode(fd, place)
            if durable:
                self._calls.fsync(fd)
            if place.old is not None:
                self._calls.rename(staged, staging_fd, place.name, place.folder_fd)
                return
            try:
                self._calls.link(staged, staging_fd, place.name, place.folder_fd)
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                self._put_without_link(staging_fd, staged, place)

    def _put_without_link(self, staging_fd: int, staged: str, place: Place) -> None:
        os.close(self._calls.create(place.name, place.folder_fd, 0o600))
        try:
            self._calls.rename(staged, staging_fd, place.name, place.folder_fd)
        except OSError:
            self._calls.unlink(place.name, place.folder_fd)
            raise

    @contextmanager
    def _temporary(self, name: str, folder_fd: int, perm: int) -> Iterator[int]:
        """A new file that lives until the end of the block, unless it is renamed, and is locked meanwhile."""
        fd = self._calls.create(name, folder_fd, perm)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            if not os.fstat(fd).st_nlink:  # swept between its creation and our lock
                os.close(fd)
                fd = self._calls.create(name, folder_fd, perm)
            yield fd
        finally:
            with suppress(OSError):  # renamed to its place, or litter for the next sweep: no reason to fail
                self._calls.unlink(name, folder_fd)
            os.close(fd)

    def _take_over_owner_and_mode(self, fd: int, place: Place) -> None:
        mine = os.fstat(fd)
        if place.old is None:
            folder = os.fstat(place.folder_fd)
            if folder.st_mode & stat.S_ISGID and folder.st_gid != mine.st_gid:
                self._calls.fchown(fd, -1, folder.st_gid)
            return
        if (mine.st_uid, mine.st_gid) != (place.old.st_uid, place.old.st_gid):
            with suppress(PermissionError):  # only root may give files away
                self._calls.fchown(fd, place.old.st_uid, place.old.st_gid)
        self._calls.fchmod(fd, stat.S_IMODE(place.old.st_mode))

    @contextmanager
    def _note_beside(self, place: Place) -> Iterator[str]:
        name = _temporary_name()
        with self._temporary(name + _NOTE_SUFFIX, self._staging_fd, 0o600) as fd:
            self._calls.write_all(fd, f"{place.folder}/{name}".encode())
            self._calls.fsync(fd)
            yield name

    def _sweep_one(self, name: str, unlink: Unlink) -> int:
        fd = os.open(name, FILE_FLAGS, dir_fd=self._staging_fd)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if name.endswith(_NOTE_SUFFIX):
                path = os.read(fd, 8192).decode(errors="replace")
                if path.rpartition("/")[2] == name.removesuffix(_NOTE_SUFFIX):
                    unlink(path)
            self._calls.unlink(name, self._staging_fd)
        finally:
            os.close(fd)
        return 1


def _temporary_name() -> str:
    return TEMPORARY_PREFIX + os.urandom(8).hex()
