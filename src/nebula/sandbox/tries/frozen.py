"""A copy of a project as it is at one moment, which all tries of a race share."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Mapping
from typing import Final

from nebula.files.beneath import FOLDER_FLAGS
from nebula.files.system.machine import copy_bytes
from nebula.sandbox.errors import SandboxError

_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_OLD_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FICLONE: Final = 0x40049409
_NOT_HERE: Final = frozenset({errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS})


class TooLargeToFreeze(SandboxError):
    """Raised when the files of a project need more room than the copy may take."""


class FrozenCopy:
    """Copies folders into `target`; `shown` is the content that a path has instead of its own, `hidden` is left out."""

    def __init__(self, target: int, shown: Mapping[str, bytes], hidden: Collection[str], limit: int) -> None:
        self._target = target
        self._shown = shown
        self._hidden = frozenset(hidden)
        self._room = limit
        self._clones = True

    def take(self, source: int) -> None:
        """Copy everything below the folder `source`. Raises TooLargeToFreeze."""
        self._copy_folder(source, self._target, "")

    def _copy_folder(self, source: int, target: int, prefix: str) -> None:
        with os.scandir(source) as entries:
            names = [entry.name for entry in entries]
        for name in names:
            if prefix + name not in self._hidden:
                try:
                    found = os.stat(name, dir_fd=source, follow_symlinks=False)
                    self._copy_entry(source, target, name, found, prefix)
                except (FileNotFoundError, PermissionError):
                    continue  # gone meanwhile, or closed to us: then it is closed to the try
        _copy_attributes(target, os.fstat(source))

    def _copy_entry(self, source: int, target: int, name: str, found: os.stat_result, prefix: str) -> None:
        path = prefix + name
        if stat.S_ISDIR(found.st_mode):
            os.mkdir(name, 0o700, dir_fd=target)
            below = os.open(name, FOLDER_FLAGS, dir_fd=target)
            try:
                if path in self._shown:
                    _copy_attributes(below, found)
                    return
                here = os.open(name, FOLDER_FLAGS, dir_fd=source)
                try:
                    self._copy_folder(here, below, f"{path}/")
                finally:
                    os.close(here)
            finally:
                os.close(below)
        elif stat.S_ISLNK(found.st_mode):
            os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
        elif stat.S_ISREG(found.st_mode):
            self._copy_file(source, target, name, found, self._shown.get(path))

    def _copy_file(self, source: int, target: int, name: str, found: os.stat_result, instead: bytes | None) -> None:
        self._room -= max(found.st_blocks * 512, 4096) if instead is None else 4096
        if self._room < 0:
            raise TooLargeToFreeze("The project is too large to be held still for several tries.")
        handle = -1 if instead is not None else os.open(name, _OLD_FILE, dir_fd=source)
        try:
            copy = os.open(name, _NEW_FILE, 0o600, dir_fd=target)
            try:
                if instead is not None:
                    os.write(copy, instead)
                elif not self._clone(handle, copy):
                    copy_bytes(handle, copy)
                _copy_attributes(copy, found)
            finally:
                os.close(copy)
        finally:
            if handle >= 0:
                os.close(handle)

    def _clone(self, source: int, target: int) -> bool:
        """Share the blocks of a file, where the file system can; asked once for the whole copy."""
        if not self._clones:
            return False
        import fcntl

        try:
            fcntl.ioctl(target, _FICLONE, source)
        except OSError as error:
            if error.errno not in _NOT_HERE:
                raise
            self._clones = False
        return self._clones


def _copy_attributes(target: int, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid() or found.st_gid != os.getegid():
        try:
            os.fchown(target, found.st_uid, found.st_gid)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EINVAL):
                raise  # and else it is somebody's who has no number here: in the copy it is ours
    os.fchmod(target, stat.S_IMODE(found.st_mode))
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))
