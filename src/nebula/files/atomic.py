"""A file is replaced or created whole, durably, or not at all.

The new content is written to a staging directory of the same file system, synced, and then moved to its place: by
link where it must be new, so that of several creators one wins; by exchanging the two names where it replaces. What
was replaced is then in our hands and out of everybody's reach, and the caller looks at it: if it is not what was
expected (somebody saved the file in this moment), the names are exchanged back and nothing is lost. The directory is
synced before the caller hears of success. A crash leaves at most a staged file, out of sight, and the next writer
sweeps it.

Where the target lies on another file system (a mount below the root), the temporary file must lie beside it; a note
in the staging directory then tells the sweeper where to look. On file systems without hard links a create reserves
the name with an empty file first, and a crash in that moment leaves it. On file systems that cannot exchange names the
file is looked at just before a plain rename, which replaces whatever is there by then.

Less would lose somebody's work, and `tests/workspace/test_workspace_saves.py` says where: with a plain rename a save
in the moment between our look and the rename is gone; with one exchange back, a second save is; without the lease, an
editor goes on writing to a file that has lost its name; and what is kept of a file that was in a dead writer's hands is
the only copy of it.

Extended attributes and access lists of a replaced file are not carried over; mode, owner and group are.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

from nebula.files.beneath import FILE_FLAGS
from nebula.files.descriptors import closed_after
from nebula.files.syscalls import Syscalls
from nebula.value import value

TEMPORARY_PREFIX: Final = ".nebula-tmp-"
_NOTE_SUFFIX = ".beside"
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
_NO_EXCHANGE = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})
_EXCHANGES_BACK = 5

Unlink = Callable[[str], None]
"""Remove a file by its path relative to the root, through the jail."""

Inspect = Callable[[int], None]
"""Looks at a file that was taken away, by its descriptor. Raises `Taken` if it is not the one that was meant."""


class Taken(Exception):
    """What was about to be replaced or removed is something else by now; it was left in its place."""


@value
class WriteTarget:
    """Where a file goes: the descriptor of its directory, that directory's path, its name, and what is there."""

    folder_fd: int
    folder: str
    name: str
    old: os.stat_result | None
    perm: int | None = None
    """The mode it gets; None: the one of the file it replaces, or as the umask has it."""


class AtomicWriter:
    def __init__(self, staging_fd: int, calls: Syscalls, only_name: str = "") -> None:
        self._staging_fd = staging_fd
        self._calls = calls
        self._only_name = only_name
        """Of the temporary file, where the staging directory is the target's own."""

    def put(self, place: WriteTarget, content: bytes, *, durable: bool = True, inspect: Inspect | None = None) -> None:
        """Replace the file, or create it. Raises FileExistsError if `place.old` is None and somebody was faster."""
        staged = self._only_name or _temporary_name()
        try:
            with self._temporary(staged, 0o666 if place.old is None else 0o600) as fd:
                self._calls.write(fd, content)
                self._take_over_owner_and_mode(fd, place)
                if durable:
                    self._calls.fsync(fd)
                if place.old is not None:
                    self._replace(staged, fd, place, content, inspect)
                else:
                    try:
                        self._calls.link(staged, self._staging_fd, place.name, place.folder_fd)
                    except OSError as error:
                        if error.errno not in _NO_LINKS:
                            raise
                        self._put_without_link(staged, place)
        except OSError as error:
            if error.errno != errno.EXDEV or self._only_name:
                raise
            with self._beside(place) as writer:
                writer.put(place, content, durable=durable, inspect=inspect)
            return
        if durable:
            self._calls.fsync_dir(place.folder_fd)

    def remove(self, place: WriteTarget, inspect: Inspect) -> None:
        """Remove a file: it is taken away first, looked at, and put back if it is not the one that was meant."""
        try:
            self._take_away(place, inspect)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            with self._beside(place) as writer:
                writer._take_away(place, inspect)
        self._calls.fsync_dir(place.folder_fd)

    def sweep(self, unlink: Unlink, keep: Inspect) -> int:
        """Remove what dead writers left; a living one holds a lock on its file. The number of files removed.

        `keep` sees each one first: it may be a file that was being replaced."""
        swept = 0
        for name in os.listdir(self._staging_fd):
            if not name.startswith(TEMPORARY_PREFIX):
                continue
            with suppress(FileNotFoundError, BlockingIOError):  # its writer finished, or lives
                swept += self._sweep_one(name, unlink, keep)
        return swept

    def _replace(self, staged: str, fd: int, place: WriteTarget, content: bytes, inspect: Inspect | None) -> None:
        _stop_writing(fd, staged, self._staging_fd)
        with _locked_in_place(place):
            try:
                self._calls.exchange(staged, self._staging_fd, place.name, place.folder_fd)
            except FileNotFoundError:
                raise Taken from None
            except OSError as error:
                if error.errno not in _NO_EXCHANGE:
                    raise
                self._look_at(place.name, place.folder_fd, fd, place, inspect)
                self._calls.rename(staged, self._staging_fd, place.name, place.folder_fd)
                return
            try:
                self._look_at(staged, self._staging_fd, fd, place, inspect)
            except BaseException:
                self._exchange_back(staged, fd, place, content)
                raise
            with suppress(OSError):  # litter for the next sweep: no reason to fail
                self._calls.unlink(staged, self._staging_fd)

    def _look_at(self, name: str, folder_fd: int, fd: int, place: WriteTarget, inspect: Inspect | None) -> None:
        """Have the file that is replaced inspected, and give its mode, changed since we looked, to ours (`fd`)."""
        with _opened(name, folder_fd) as replaced:
            status = os.fstat(replaced)
            if inspect is not None:
                inspect(replaced)
        mode = stat.S_IMODE(status.st_mode)
        if place.old is not None and place.perm is None and mode != stat.S_IMODE(place.old.st_mode):
            self._calls.fchmod(fd, mode)

    def _exchange_back(self, staged: str, fd: int, place: WriteTarget, content: bytes) -> None:
        """Exchange the names back until we hold our own file again: somebody may save the file once more meanwhile."""
        ours = put = os.fstat(fd)
        for _ in range(_EXCHANGES_BACK):
            putting = os.stat(staged, dir_fd=self._staging_fd, follow_symlinks=False)
            self._calls.exchange(staged, self._staging_fd, place.name, place.folder_fd)
            held = os.stat(staged, dir_fd=self._staging_fd, follow_symlinks=False)
            written = os.path.samestat(held, ours) and _was_written(fd, content)
            if os.path.samestat(held, put) and not written:
                return
            put = putting

    def _take_away(self, place: WriteTarget, inspect: Inspect) -> None:
        staged = self._only_name or _temporary_name()
        with _locked_in_place(place):
            try:
                self._calls.rename(place.name, place.folder_fd, staged, self._staging_fd)
            except FileNotFoundError:
                raise Taken from None
            try:
                with _opened(staged, self._staging_fd) as taken:
                    inspect(taken)
            except BaseException:
                with suppress(FileExistsError):  # a newer one has the name; this one is in the caller's keeping
                    self._calls.link(staged, self._staging_fd, place.name, place.folder_fd)
                self._calls.unlink(staged, self._staging_fd)
                raise
            with suppress(OSError):  # litter for the next sweep: no reason to fail
                self._calls.unlink(staged, self._staging_fd)

    def _put_without_link(self, staged: str, place: WriteTarget) -> None:
        os.close(self._calls.create(place.name, place.folder_fd, 0o600))
        try:
            self._calls.rename(staged, self._staging_fd, place.name, place.folder_fd)
        except OSError:
            self._calls.unlink(place.name, place.folder_fd)
            raise

    @contextmanager
    def _temporary(self, name: str, perm: int) -> Iterator[int]:
        """Yield a new file, locked, that is removed at the end of the block unless it was moved."""
        fd = self._calls.create(name, self._staging_fd, perm)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            while not os.fstat(fd).st_nlink:  # swept between its creation and our lock
                os.close(fd)
                fd = self._calls.create(name, self._staging_fd, perm)
                fcntl.flock(fd, fcntl.LOCK_EX)
            yield fd
        finally:
            with suppress(OSError):  # moved to its place, or litter for the next sweep: no reason to fail
                if os.path.samestat(os.stat(name, dir_fd=self._staging_fd, follow_symlinks=False), os.fstat(fd)):
                    self._calls.unlink(name, self._staging_fd)
            os.close(fd)

    def _take_over_owner_and_mode(self, fd: int, place: WriteTarget) -> None:
        mine = os.fstat(fd)
        if place.old is None:
            folder = os.fstat(place.folder_fd)
            if folder.st_mode & stat.S_ISGID and folder.st_gid != mine.st_gid:
                self._calls.fchown(fd, -1, folder.st_gid)
            if place.perm is not None:
                self._calls.fchmod(fd, place.perm)
            return
        if (mine.st_uid, mine.st_gid) != (place.old.st_uid, place.old.st_gid):
            with suppress(PermissionError):  # only root may give files away
                self._calls.fchown(fd, place.old.st_uid, place.old.st_gid)
        self._calls.fchmod(fd, stat.S_IMODE(place.old.st_mode) if place.perm is None else place.perm)

    @contextmanager
    def _beside(self, place: WriteTarget) -> Iterator[AtomicWriter]:
        """Yield a writer that stages in the target's directory, with a note of its file in ours for the sweeper."""
        name = _temporary_name()
        with self._temporary(name + _NOTE_SUFFIX, 0o600) as fd:
            self._calls.write(fd, f"{place.folder}/{name}".encode())
            self._calls.fsync(fd)
            yield AtomicWriter(place.folder_fd, self._calls, name)

    def _sweep_one(self, name: str, unlink: Unlink, keep: Inspect) -> int:
        with closed_after(os.open(name, FILE_FLAGS, dir_fd=self._staging_fd)) as fd:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if name.endswith(_NOTE_SUFFIX):
                path = os.read(fd, 8192).decode(errors="replace")
                if path.rpartition("/")[2] == name.removesuffix(_NOTE_SUFFIX):
                    unlink(path)
            else:
                keep(fd)
            self._calls.unlink(name, self._staging_fd)
        return 1


def open_for_writing_elsewhere(fd: int) -> bool:
    """Return whether somebody can still write to a file that has lost its name; False also where nobody can tell.

    A read lease is granted only while nobody has the file open for writing. It is given back at once: all that
    matters is that it was to be had.
    """
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    return False


def _stop_writing(fd: int, name: str, folder_fd: int) -> None:
    """Make a descriptor one that only reads, so that ours is not mistaken for another program's."""
    with closed_after(os.open(name, FILE_FLAGS, dir_fd=folder_fd)) as reading:
        os.dup2(reading, fd, inheritable=False)
    fcntl.flock(fd, fcntl.LOCK_EX)


def _was_written(fd: int, content: bytes) -> bool:
    return open_for_writing_elsewhere(fd) or os.pread(fd, len(content) + 1, 0) != content


@contextmanager
def _locked_in_place(place: WriteTarget) -> Iterator[None]:
    """Lock the file that is about to be taken from its place: in the staging directory a sweeper would take it for what
    a dead writer left."""
    with ExitStack() as locked:
        with suppress(OSError):  # gone, no file, or locked by somebody else, and then no sweeper takes it either
            fd = locked.enter_context(closed_after(os.open(place.name, FILE_FLAGS, dir_fd=place.folder_fd)))
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


@contextmanager
def _opened(name: str, folder_fd: int) -> Iterator[int]:
    """Yield a descriptor of a file that was taken away, locked so that no sweeper takes it for litter. Raises Taken for
    anything else than a file."""
    try:
        fd = os.open(name, FILE_FLAGS, dir_fd=folder_fd)
    except OSError as error:
        raise Taken from error
    with closed_after(fd):
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise Taken
        with suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield fd


def _temporary_name() -> str:
    return TEMPORARY_PREFIX + os.urandom(8).hex()
