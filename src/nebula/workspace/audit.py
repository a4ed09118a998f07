"""The audit log: who asked for what, and with which result. One JSON line a request, refused ones too, never any
content.

A path is what somebody sent, and may be a key: keys that we know, and texts that look like one, are left out of the
line. Each line is one write to a file opened for appending, so lines of several threads and processes do not mix. A log
that was rotated away is noticed, and a new one is begun. A line that a full disk cut short does not damage the next.
"""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any, Final

from nebula.files.descriptors import closed_after
from nebula.files.syscalls import REAL
from nebula.messages.redaction import Redactor
from nebula.workspace.errors import StorageFailed
from nebula.workspace.guard.jail import Jail
from nebula.workspace.records import timestamp
from nebula.workspace.state_folder import close_to_others, open_state_dir

AUDIT_FILE: Final = "audit.jsonl"
MAX_PATH_CHARACTERS: Final = 1_024
_LEAST_ROOM: Final = 16 * MAX_PATH_CHARACTERS
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC


class AuditLog:
    _is_torn: bool
    """The last line has no line break."""

    def __init__(self, root: str, path: str = "", secrets: Iterable[str] = ()) -> None:
        """Open the log at `path`, which the user configured (EC_AUDIT_LOG), else the project's own in `root`. Links are
        followed in the user's path, since the user made them; in the project a stranger may have made them."""
        self._root = root
        self._folder, self._name = os.path.split(os.path.abspath(path)) if path else ("", AUDIT_FILE)
        self._flags = _FLAGS if path else _FLAGS | os.O_NOFOLLOW
        self._redactor = Redactor(secrets)
        self._guard = threading.Lock()
        self._fd = self._folder_fd = -1
        self._is_torn = False
        self._follow_rotation()

    def record(
        self,
        trace_id: str,
        method: str,
        path: str,
        size: int | None,
        status: int,
        renames: tuple[int, int] | None = None,
    ) -> None:
        """Append a line. `renames`: how many files the caller said were moved, and how many the index knows by their
        new names alone."""
        line: dict[str, Any] = {
            "ts": timestamp(),
            "trace_id": trace_id,
            "method": method,
            "path": self._redactor.text(path)[:MAX_PATH_CHARACTERS],
            "size": size,
            "status": status,
        }
        if renames is not None:
            line["renames"] = {"asked": renames[0], "held": renames[1]}
        data = json.dumps(line).encode() + b"\n"
        with self._holding_file():
            data = b"\n" * self._is_torn + data
            self._is_torn = os.write(self._fd, data) != len(data)
            if self._is_torn:
                raise _disk_full()

    def require_room(self) -> None:
        """Raise StorageFailed where no line could be written now: a change that must be recorded is refused before it
        is made."""
        with self._holding_file():
            if stat.S_ISREG(os.fstat(self._fd).st_mode):
                disk = os.fstatvfs(self._fd)
                is_full = disk.f_bavail * disk.f_frsize < _LEAST_ROOM
            else:
                is_full = os.write(self._fd, b"\n") != 1
            if is_full:
                raise _disk_full()

    @contextmanager
    def _holding_file(self) -> Iterator[None]:
        """Hold the file that has the log's name now; turn an error on writing it into one of ours."""
        with self._guard:
            self._follow_rotation()
            try:
                yield
            except OSError as error:
                raise StorageFailed("The audit log cannot be written ({reason}).", reason=error.strerror) from None

    def close(self) -> None:
        with self._guard:
            self._drop()

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            self._drop()

    def _open_folder(self) -> int:
        if not self._folder:
            with closing(Jail(self._root)) as jail:
                return open_state_dir(jail.fd)
        os.makedirs(self._folder, exist_ok=True)
        return os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def _follow_rotation(self) -> None:
        """Make sure that the open file is the one that has the log's name."""
        if self._fd >= 0:
            mine = os.fstat(self._fd)
            try:
                there = os.stat(self._name, dir_fd=self._folder_fd)
            except FileNotFoundError:
                there = None
            if there is not None and (there.st_ino, there.st_dev) == (mine.st_ino, mine.st_dev):
                return
        self._drop()
        try:
            self._folder_fd = self._open_folder()
            self._fd = os.open(self._name, self._flags, 0o600, dir_fd=self._folder_fd)
            if self._flags & os.O_NOFOLLOW:  # where the user chose the file, its mode is the user's choice
                close_to_others(self._fd, REAL)
        except OSError as error:
            raise StorageFailed("The audit log cannot be opened ({reason}).", reason=error.strerror) from None
        if self._flags & os.O_NOFOLLOW and not stat.S_ISREG(os.fstat(self._fd).st_mode):
            self._drop()
            raise StorageFailed("The audit log of this project is not a plain file; remove it.")
        self._is_torn = self._ends_in_a_part()

    def _ends_in_a_part(self) -> bool:
        found = os.fstat(self._fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size == 0:
            return False
        try:
            fd = os.open(self._name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._folder_fd)
        except OSError:
            return False  # we may be allowed to write it but not to read it
        with closed_after(fd):
            return os.pread(fd, 1, found.st_size - 1) != b"\n"

    def _drop(self) -> None:
        for fd in (self._fd, self._folder_fd):
            if fd >= 0:
                os.close(fd)
        self._fd = self._folder_fd = -1


def _disk_full() -> StorageFailed:
    return StorageFailed("The audit log cannot be written (the disk is full).")
