"""A copy of a project as it is at one moment, which all tries of a race share."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Mapping
from typing import Final

from nebula.files.beneath import FOLDER_FLAGS
from nebula.files.descriptors import closed_after
from nebula.files.system.machine import copy_bytes
from nebula.sandbox.errors import SandboxError

_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_OLD_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_BLOCK: Final = 512
"""What `st_blocks` counts, whatever the file system."""
_FICLONE: Final = 0x40049409
_SMALL: Final = 1 << 16
_PAGE: Final = 4096
_DROPPED_BITS: Final = stat.S_ISUID | stat.S_ISGID
_NOT_TO_BE_HAD: Final = frozenset(
    {errno.ENOENT, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENOTDIR, errno.EINVAL, errno.ENXIO}
)
"""Gone meanwhile, something else by now, or closed to us: then it is closed to the try."""
_NOT_HERE: Final = frozenset({errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS})


class TooLargeToFreeze(SandboxError):
    """Raised when the files of a project need more room than the copy may take."""


class FrozenCopy:
    """Copies folders into `target`; `shown` is the content that a path has instead of its own, `hidden` is left out.

    A project has thousands of small files, and every call to the system is made once for each: so a file is made with
    the mode that it is to have (for a process with one thread, whose mask is open meanwhile), and a small one is read
    and written at once."""

    def __init__(self, target: int, shown: Mapping[str, bytes], hidden: Collection[str], limit: int) -> None:
        self._target = target
        self._shown = shown
        self._hidden = frozenset(hidden)
        self._room = limit
        self._clones = True
        self._owner = os.geteuid(), os.getegid()

    def take(self, source: int) -> None:
        """Copy everything below the folder `source`. Raises TooLargeToFreeze."""
        mask = os.umask(0)
        try:
            self._copy_folder(source, self._target, "")
        finally:
            os.umask(mask)

    def _copy_folder(self, source: int, target: int, prefix: str) -> None:
        with os.scandir(source) as entries:
            found = list(entries)
        for entry in found:
            if prefix + entry.name not in self._hidden:
                try:
                    self._copy_entry(source, target, entry, prefix)
                except OSError as error:
                    if error.errno not in _NOT_TO_BE_HAD:
                        raise
        status = os.fstat(source)
        os.fchmod(target, stat.S_IMODE(status.st_mode))
        self._copy_attributes(target, status)

    def _copy_entry(self, source: int, target: int, entry: os.DirEntry[str], prefix: str) -> None:
        name, path = entry.name, prefix + entry.name
        if entry.is_file(follow_symlinks=False):
            self._copy_file(source, target, name, self._shown.get(path))
        elif entry.is_symlink():
            os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
        elif entry.is_dir(follow_symlinks=False):
            with closed_after(os.open(name, FOLDER_FLAGS, dir_fd=source)) as here:
                self._copy_below(here, target, name, path)

    def _copy_below(self, here: int, target: int, name: str, path: str) -> None:
        os.mkdir(name, 0o700, dir_fd=target)
        with closed_after(os.open(name, FOLDER_FLAGS, dir_fd=target)) as below:
            if path in self._shown:
                status = os.fstat(here)
                os.fchmod(below, stat.S_IMODE(status.st_mode))
                self._copy_attributes(below, status)
            else:
                self._copy_folder(here, below, f"{path}/")

    def _copy_file(self, source: int, target: int, name: str, instead: bytes | None) -> None:
        with closed_after(os.open(name, _OLD_FILE, dir_fd=source)) as handle:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                return  # something else by now
            self._room -= max(found.st_blocks * _BLOCK, _PAGE) if instead is None else _PAGE
            if self._room < 0:
                raise TooLargeToFreeze("The project is too large to be copied for several tries.")
            with closed_after(os.open(name, _NEW_FILE, stat.S_IMODE(found.st_mode), dir_fd=target)) as copy:
                if instead is not None:
                    os.write(copy, instead)
                elif not self._clone(handle, copy):
                    _copy_content(handle, copy, found)
                self._copy_attributes(copy, found)

    def _copy_attributes(self, target: int, found: os.stat_result) -> None:
        if (found.st_uid, found.st_gid) != self._owner:
            try:
                os.fchown(target, found.st_uid, found.st_gid)
            except OSError as error:
                if error.errno not in (errno.EPERM, errno.EINVAL):
                    raise  # and else it is somebody's who has no number here: in the copy it is ours
        if found.st_mode & _DROPPED_BITS:
            os.fchmod(target, stat.S_IMODE(found.st_mode))  # those are lost by a new owner, and by writing
        os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))

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


def _copy_content(source: int, target: int, found: os.stat_result) -> None:
    if found.st_size <= _SMALL:
        data = os.read(source, _SMALL)
        if len(data) < _SMALL:
            if data:
                os.write(target, data)
            return
        os.lseek(source, 0, os.SEEK_SET)  # it grows meanwhile
    if found.st_blocks * _BLOCK < found.st_size:
        _copy_around_holes(source, target, found.st_size)
    else:
        copy_bytes(source, target)


def _copy_around_holes(source: int, target: int, size: int) -> None:
    """Copy what takes room in a file and leave the rest a hole: five gigabytes of nothing would fill the disk."""
    place = 0
    while (place := _next_data(source, place, size)) < size:
        end = os.lseek(source, place, os.SEEK_HOLE)
        os.lseek(source, place, os.SEEK_SET)
        os.lseek(target, place, os.SEEK_SET)
        copy_bytes(source, target, end - place)
        place = end
    os.ftruncate(target, size)


def _next_data(handle: int, place: int, size: int) -> int:
    """Return where the next hole has ended; `size` where nothing but a hole is left."""
    try:
        return os.lseek(handle, place, os.SEEK_DATA)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return size
