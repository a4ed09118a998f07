"""A folder held by its descriptor: every way in goes through it, and no link on the way is ever followed.

For files of ours that lie in a project (the conversation, logs, the journal). A path is relative, its names are
separated by "/". The folder itself may be renamed while it is held.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat

from nebula.files.beneath import FILE_FLAGS, FOLDER_FLAGS, best_opener
from nebula.files.descriptors import ClosedByBlock, closed_after, naming
from nebula.files.reading import UnreadableFile, read_limited
from nebula.files.syscalls import REAL
from nebula.language import Sentence

_APPEND_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NO_NAMES = ("", ".", "..")
_KEPT_OPEN = 8
"""Folders below one: those of the last node and flow, with some room."""
_names = itertools.count()


class Folder(ClosedByBlock):
    """Raises OSError with ELOOP or ENOTDIR where a part of a path is a link."""

    def __init__(self, fd: int, path: str) -> None:
        self.fd = fd
        self.path = path
        """Where it was opened, for messages; never used to open anything."""
        self._open = best_opener()
        self._kept: dict[str, tuple[Folder, int, int]] = {}

    @classmethod
    def at(cls, path: str) -> Folder:
        """Open the folder at a path of the user's own choice, which may be a link."""
        return cls(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), path)

    def close(self) -> None:
        self._kept = {}
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        if getattr(self, "fd", -1) >= 0:
            self.close()

    def open(self, path: str, flags: int = FILE_FLAGS) -> int:
        """Open what is at a path; return its descriptor."""
        return self._open(self.fd, _parts(path), flags)

    def subfolder(self, path: str, *, make: bool = True, perm: int = 0o777) -> Folder:
        if make:
            self.make_folder(path, perm)
        return Folder(self.open(path, FOLDER_FLAGS), f"{self.path}/{path}")

    def read(self, path: str, limit: int) -> bytes | None:
        """Return a regular file's bytes; None where there is none. Raises UnreadableFile for anything odd."""
        try:
            handle = self.open(path)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return None
            reason = (
                Sentence("it is a link") if error.errno == errno.ELOOP else Sentence("{reason}", reason=error.strerror)
            )
            raise UnreadableFile(path, reason) from None
        with closed_after(handle):
            return read_limited(handle, path, limit)

    def status(self, path: str) -> os.stat_result | None:
        """Return the status of what lies there itself, a link not followed; None if nothing does."""
        try:
            parent, name = self.find_parent(path)
            return os.stat(name, dir_fd=parent.fd, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def listing(self, path: str = "") -> list[str]:
        """Return the names in a folder; none where there is no such folder."""
        try:
            handle = self.open(path, FOLDER_FLAGS)
        except (FileNotFoundError, NotADirectoryError):
            return []
        with closed_after(handle):
            return os.listdir(handle)

    def make_folder(self, path: str, perm: int = 0o777) -> bool:
        """Make a folder, and those above it, if missing, each of them synced; return whether one was made."""
        made = False
        parts = _parts(path)
        for depth in range(1, len(parts) + 1):
            parent, name = self.find_parent("/".join(parts[:depth]))
            try:
                os.mkdir(name, perm, dir_fd=parent.fd)
            except FileExistsError:
                continue
            REAL.fsync_dir(parent.fd)
            made = True
        os.close(self.open(path, FOLDER_FLAGS))  # a link or a file in its place is refused here
        return made

    def open_for_append(self, path: str, perm: int = 0o600) -> int:
        parent, name = self.find_parent(path)
        return os.open(name, _APPEND_FLAGS, perm, dir_fd=parent.fd)

    def replace(
        self,
        path: str,
        data: bytes,
        *,
        durable: bool = True,
        is_new: bool = False,
        perm: int = 0o666,
        staging: Folder | None = None,
    ) -> None:
        """Put the whole file there or nothing. One that is there keeps its mode, unless the caller knows it to be
        new; its folder must exist. The file on its way lies beside it, or in the folder `staging`, which its owner
        sweeps after a crash."""
        parent, name = self.find_parent(path)
        perm = perm if is_new else _mode(name, parent.fd, perm)
        beside = staging or parent
        with naming(f"{self.path}/{path}"):
            temporary = beside.write_new(data, perm, durable=durable)
        try:
            os.rename(temporary, name, src_dir_fd=beside.fd, dst_dir_fd=parent.fd)
        except BaseException:
            with contextlib.suppress(OSError):  # the first error is the one to report
                os.unlink(temporary, dir_fd=beside.fd)
            raise
        if durable:
            REAL.fsync_dir(parent.fd)

    def write_new(self, data: bytes, perm: int = 0o666, *, durable: bool = True) -> str:
        """Write `data` to a new file in this folder, under a name of its own; return that name."""
        name = f".new-{os.getpid()}-{next(_names)}"
        handle = REAL.create(name, self.fd, perm)
        try:
            with closed_after(handle):
                REAL.write(handle, data)
                if durable:
                    REAL.fsync(handle)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=self.fd)
            raise
        return name

    def remove(self, path: str) -> bool:
        """Remove a file; return False if there was none."""
        try:
            parent, name = self.find_parent(path)
            os.unlink(name, dir_fd=parent.fd)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def find_parent(self, path: str) -> tuple[Folder, str]:
        """Return the folder in which a path ends, and the name there. It stays open for the next path into it, as long
        as it is still what stands in its place: a look costs less than opening it again. Whoever uses one that is let
        go meanwhile holds it open."""
        folder, _, name = path.rpartition("/")
        if name in _NO_NAMES:
            *above, name = _parts(path)
            folder = "/".join(above)
        if not folder:
            return self, name
        kept = self._kept.get(folder)
        if kept:
            found = os.stat(folder, dir_fd=self.fd, follow_symlinks=False)
            if found.st_ino == kept[1] and found.st_dev == kept[2]:
                return kept[0], name
        below = self.subfolder(folder, make=False)
        found = os.fstat(below.fd)
        if len(self._kept) >= _KEPT_OPEN:
            self._kept = {}
        self._kept[folder] = below, found.st_ino, found.st_dev
        return below, name


def _mode(name: str, dir_fd: int, default: int) -> int:
    try:
        found = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return default
    return stat.S_IMODE(found.st_mode) if stat.S_ISREG(found.st_mode) else default


def _parts(path: str) -> list[str]:
    parts = [name for name in path.split("/") if name not in ("", ".")]
    if ".." in parts:
        raise OSError(errno.EXDEV, "a path here never leads upward", path)
    return parts
