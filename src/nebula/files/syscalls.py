"""The calls that change the disk, in one object that can be handed in.

Everything durable in this room goes through it, so a test can let the n-th write, fsync, rename or link fail and
look at what is left, without patching anything.
"""

from __future__ import annotations

import errno
import os
from functools import cache
from typing import Any

from nebula.files.system.full_sync import full_sync

_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS


class Syscalls:
    """The real ones. Names and arguments follow `os`; all paths are relative to a directory descriptor."""

    def create(self, name: str, dir_fd: int, perm: int) -> int:
        """Create a file and open it for writing. Raises FileExistsError if the name is taken, also by a link."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, perm, dir_fd=dir_fd)

    def write(self, fd: int, data: bytes) -> None:
        """Write all of it: the system may take less at once."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]

    def fsync(self, fd: int) -> None:
        full_sync(fd)

    def fsync_dir(self, fd: int) -> None:
        try:
            full_sync(fd)
        except OSError as error:
            if error.errno not in {errno.EINVAL, errno.ENOTSUP}:  # file systems that sync names by themselves
                raise

    def fchmod(self, fd: int, perm: int) -> None:
        os.fchmod(fd, perm)

    def fchown(self, fd: int, uid: int, gid: int) -> None:
        os.fchown(fd, uid, gid)

    def rename(self, name: str, dir_fd: int, new_name: str, new_dir_fd: int) -> None:
        os.rename(name, new_name, src_dir_fd=dir_fd, dst_dir_fd=new_dir_fd)

    def exchange(self, name: str, dir_fd: int, other: str, other_dir_fd: int) -> None:
        """Exchange the files of two names in one step. Raises OSError with ENOSYS or EINVAL if there is no such
        call."""
        call = _exchanging()
        if call is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        import ctypes

        if call(dir_fd, os.fsencode(name), other_dir_fd, os.fsencode(other), _EXCHANGE) != 0:
            problem = ctypes.get_errno()
            raise OSError(problem, os.strerror(problem), name)

    def link(self, name: str, dir_fd: int, new_name: str, new_dir_fd: int) -> None:
        os.link(name, new_name, src_dir_fd=dir_fd, dst_dir_fd=new_dir_fd, follow_symlinks=False)

    def symlink(self, target: str, name: str, dir_fd: int) -> None:
        os.symlink(target, name, dir_fd=dir_fd)

    def unlink(self, name: str, dir_fd: int) -> None:
        os.unlink(name, dir_fd=dir_fd)

    def mkdir(self, name: str, dir_fd: int, perm: int) -> None:
        os.mkdir(name, perm, dir_fd=dir_fd)

    def rmdir(self, name: str, dir_fd: int) -> None:
        os.rmdir(name, dir_fd=dir_fd)


@cache
def _exchanging() -> Any:
    import ctypes  # 4 ms that only a write pays

    library = ctypes.CDLL(None, use_errno=True)
    call = getattr(library, "renameat2", None) or getattr(library, "renameatx_np", None)
    if call is not None:
        call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    return call


REAL = Syscalls()
