"""The root, held by a descriptor, and every way into it.

The jail opens first and checks what it has in hand: no path is ever looked at and then opened again by name. A link
is never followed by the kernel on our behalf. Reading through a link is allowed where it stays inside: the link is
read as text, the path it stands for is judged like one from a caller, and that path is opened without following
anything; if the tree is changed meanwhile, the open fails. A write goes through no link at all.

Not protected: a second hard link to a file outside the root looks like a file inside (writes replace the
name and never touch the other file, reads see its content); mounts below the root count as inside.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable

from nebula.files.beneath import FILE_FLAGS, FOLDER_FLAGS, OpenBeneath, link_target, open_beneath, without_links
from nebula.files.descriptors import closed_after
from nebula.files.syscalls import REAL, Syscalls
from nebula.workspace.errors import (
    AlreadyExists,
    DiskFull,
    Forbidden,
    MalformedRequest,
    PathEscape,
    PathNotFound,
    PathRefused,
    StorageFailed,
    WorkspaceError,
)
from nebula.workspace.guard.paths import NormalPath, normal_path
from nebula.workspace.guard.spelling import spelled_as_there

_LINKED = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EMLINK})
_NOTHING_THERE = _LINKED | {errno.ENOENT}

JudgePath = Callable[[NormalPath], None]


class Jail:
    fd = -1

    def __init__(self, root: str, *, calls: Syscalls = REAL, opener: OpenBeneath = open_beneath) -> None:
        try:
            self.fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            raise PathNotFound("The root of the workspace is not a directory; create it or name another.") from None
        except PermissionError:
            raise Forbidden("The root of the workspace may not be opened; check its permissions.") from None
        self.root = os.path.realpath(root)
        self._calls = calls
        self._open = opener

    def close(self) -> None:
        if self.fd != -1:
            os.close(self.fd)
            del self.fd

    def __del__(self) -> None:
        self.close()

    def open_for_reading(self, path: NormalPath, judge: JudgePath, flags: int = FILE_FLAGS) -> int:
        """Return a descriptor of the path's target, also through links that stay inside the root; `judge` is called
        with where they lead."""
        try:
            return self._open(self.fd, path.parts, flags)
        except OSError as error:
            if error.errno not in _LINKED:
                raise translate(error, path.text) from None
        real = self.resolve(path)
        if real.parts == path.parts:
            raise PathNotFound("{path}: not found; part of the path is a file.", path=path.text)
        judge(real)
        try:
            return self._open(self.fd, real.parts, flags)
        except OSError as error:
            raise translate(error, path.text) from None

    def open_plain(self, path: NormalPath, flags: int) -> int:
        """Return a descriptor of the path, if it contains no link; raises OSError otherwise."""
        return self._open(self.fd, path.parts, flags)

    def open_folder(self, path: NormalPath, judge: JudgePath) -> int:
        return self.open_for_reading(path, judge, FOLDER_FLAGS)

    def open_parent(self, path: NormalPath) -> int:
        """Return the directory of a file to be written, without following any link. Raises FileNotFoundError if there
        is none."""
        try:
            return self._open(self.fd, path.parts[:-1], FOLDER_FLAGS)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise self._blocked_parent(error, path) from None

    def make_parent(self, path: NormalPath, made: list[str]) -> int:
        """Return the directory like `open_parent`, creating what is missing; created directories are appended to
        `made`, outermost first."""
        here = self._open(self.fd, (), FOLDER_FLAGS)
        try:
            for depth, name in enumerate(path.parts[:-1], start=1):
                try:
                    self._calls.mkdir(name, here, 0o777)
                    made.append("/".join(path.parts[:depth]))
                    self._calls.fsync_dir(here)
                except FileExistsError:
                    pass
                below = os.open(name, FOLDER_FLAGS, dir_fd=here)
                os.close(here)
                here = below
        except OSError as error:
            os.close(here)
            raise self._blocked_parent(error, path) from None
        return here

    def status(self, path: NormalPath) -> os.stat_result | None:
        """Return the status of a resolved path; None if nothing is there, or the links now lead elsewhere."""
        try:
            parent = self._open(self.fd, path.parts[:-1], FOLDER_FLAGS)
        except OSError as error:
            if error.errno in _NOTHING_THERE:
                return None
            raise translate(error, path.text) from None
        with closed_after(parent):
            return status_at(parent, path.name)

    def exists(self, path: str) -> bool:
        """Return whether there is an entry of any kind at a path below the root; links above it are not followed."""
        *above, name = path.split("/")
        try:
            parent = self._open(self.fd, above, FOLDER_FLAGS)
        except OSError:
            return False
        with closed_after(parent):
            return status_at(parent, name) is not None

    def place(self, path: object) -> NormalPath:
        """Return a path in normal form, with names spelled as on the disk. Raises what `normal_path` raises."""
        return spelled_as_there(self._open, self.fd, normal_path(path))

    def resolve(self, path: NormalPath) -> NormalPath:
        """Return the path with all links replaced by their targets."""
        try:
            real = without_links(self._open, self.fd, path.parts, self.root)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise PathEscape("{path}: its links go in circles.", path=path.text) from None
            raise PathEscape("{path}: a link in it leads out of the root.", path=path.text) from None
        try:
            return normal_path("/".join(real) or ".")
        except MalformedRequest:
            raise PathRefused("{path}: a link in it names something that is not UTF-8.", path=path.text) from None

    def _blocked_parent(self, error: OSError, path: NormalPath) -> WorkspaceError:
        if error.errno not in _LINKED:
            return translate(error, path.text)
        for depth, name in enumerate(path.parts[:-1]):
            if link_target(self._open, self.fd, path.parts[:depth], name) is not None:
                return PathEscape("{path}: part of the path is a link, and a write follows none.", path=path.text)
        return AlreadyExists("{path}: part of the path is a file; choose another place.", path=path.text)


def status_at(dir_fd: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return None


def require_regular(fd: int, path: str) -> os.stat_result:
    """Return the status of an open file. Raises for a directory, a device, a FIFO or a socket."""
    status = os.fstat(fd)
    if stat.S_ISREG(status.st_mode):
        return status
    if stat.S_ISDIR(status.st_mode):
        raise PathNotFound("{path}: is a directory, not a file; list it instead.", path=path)
    raise PathRefused("{path}: is a device, pipe or socket, not a file.", path=path)


def translate(error: OSError, path: str) -> WorkspaceError:
    """Return our error, with our message, for one of the operating system."""
    code = error.errno
    if code in {errno.ENOENT, errno.ENOTDIR}:
        return PathNotFound("{path}: not found; list the directory to see what is there.", path=path)
    if code in {errno.EACCES, errno.EPERM}:
        return Forbidden("{path}: the operating system denies access; check the permissions.", path=path)
    if code == errno.EROFS:
        return Forbidden("{path}: the file system is read-only.", path=path)
    if code in {errno.ELOOP, errno.EXDEV}:
        return PathEscape("{path}: a link in it changed or leads out of the root.", path=path)
    if code in {errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL}:
        return PathRefused("{path}: the file system cannot hold such a name; choose another.", path=path)
    if code in {errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP}:
        return PathRefused("{path}: is a device, pipe or socket, not a file.", path=path)
    if code == errno.EISDIR:
        return PathNotFound("{path}: is a directory, not a file; list it instead.", path=path)
    if code in {errno.ENOSPC, errno.EDQUOT}:
        return DiskFull("{path}: the disk is full; make room and try again.", path=path)
    return StorageFailed(
        "{path}: the disk failed ({reason}); nothing was lost.", path=path, reason=error.strerror or "unknown error"
    )
