"""System calls that fail, or end the process, at a call that is counted beforehand."""

from __future__ import annotations

import errno
import os
from typing import Any

from nebula.files.syscalls import Syscalls

CHANGING = {"create", "rename", "exchange", "link", "symlink", "unlink", "mkdir", "rmdir", "fchmod", "write"}


class Dying(Syscalls):
    """The process is gone at the n-th call that changes the disk."""

    def __init__(self, calls: int) -> None:
        self._left = calls

    def __getattribute__(self, name: str) -> Any:
        if name in CHANGING:
            self._left -= 1
            if self._left < 0:
                os._exit(9)
        return super().__getattribute__(name)


class Failing(Syscalls):
    """One call that brings something new finds the disk full; before and after it there is room."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def __getattribute__(self, name: str) -> Any:
        if name in {"create", "symlink", "mkdir", "write", "link"}:
            self.left -= 1
            if self.left == -1:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().__getattribute__(name)
