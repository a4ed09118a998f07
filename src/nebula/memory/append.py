"""Whole entries at the end of a file, one write each, whoever else is writing."""

from __future__ import annotations

import os
import stat
from abc import ABC, abstractmethod
from typing import ClassVar

from nebula.events import Final, Stamped
from nebula.files.beneath import FOLDER_FLAGS
from nebula.files.descriptors import closed_after
from nebula.files.json_line import json_line
from nebula.files.syscalls import REAL
from nebula.memory.errors import MemoryFileError


class _OpenFile:
    """A descriptor that is closed when nobody uses it any more, and the file that it is of."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        found = os.fstat(descriptor)
        self.is_plain = stat.S_ISREG(found.st_mode)
        self._identity = found.st_dev, found.st_ino

    def is_at(self, path: str) -> bool:
        """Tell whether the file has this name; while it is open, no other file can have its number."""
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            return False
        return (found.st_dev, found.st_ino) == self._identity

    def __del__(self) -> None:
        os.close(self.descriptor)


class AppendingReader(ABC):
    """A reader of the event stream that has written an entry for the event before anybody is shown it.

    The file stays open for the rest of the turn, which ends with `Final`. Before each entry it is asked whether it is
    still the one of that name: a file removed under a long turn (`git clean`) simply starts again.

    A project may come from a stranger, so a link or a pipe that lies where the file should be is refused: what
    is said here must not end up in a file of the stranger's choice.
    """

    _entry_end: ClassVar[bytes]

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._project = os.path.dirname(os.path.dirname(self.path))
        self._known_project = _identity_of(self._project)
        self._file: _OpenFile | None = None
        self._tail_checked = False

    @abstractmethod
    def _entry(self, stamped: Stamped) -> str:
        """Return what is to be said of the event, or nothing."""

    def __call__(self, stamped: Stamped) -> None:
        entry = self._entry(stamped).encode("utf-8")
        try:
            if entry:
                descriptor = self._named_file().descriptor
                REAL.write(descriptor, self._after_torn_entry(descriptor) + entry)
        except OSError as problem:
            self._tail_checked = False  # a part of it may be there
            said = "{path} cannot be written ({problem})"
            raise MemoryFileError(said, path=self.path, problem=problem.strerror) from problem
        finally:
            if isinstance(stamped.event, Final):
                self._file = None

    def _named_file(self) -> _OpenFile:
        file = self._file
        if file is None or not file.is_at(self.path):
            self._file = file = _OpenFile(self._open())
            if not file.is_plain:
                self._file = None
                raise MemoryFileError("{path} is not a plain file; remove it and try again", path=self.path)
        return file

    def _open(self) -> int:
        if self._known_project is not None and _identity_of(self._project) != self._known_project:
            raise MemoryFileError(
                "{path} was moved or removed meanwhile; nothing is recorded there", path=self._project
            )
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        above, name = os.path.split(self.path)
        os.makedirs(above, exist_ok=True)
        with closed_after(os.open(above, FOLDER_FLAGS)) as folder:  # it may have become a link meanwhile
            return os.open(name, flags, 0o600, dir_fd=folder)

    def _after_torn_entry(self, descriptor: int) -> bytes:
        """Return what closes an entry that a crash or a full disk cut short, so that ours is no part of it."""
        if self._tail_checked:
            return b""
        self._tail_checked = True
        size = os.fstat(descriptor).st_size
        tail = os.pread(descriptor, len(self._entry_end), max(0, size - len(self._entry_end)))
        return b"" if size == 0 or tail == self._entry_end else self._entry_end


def _identity_of(folder: str) -> tuple[int, int] | None:
    try:
        found = os.stat(folder)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class TraceReader(AppendingReader):
    _entry_end = b"\n"

    def _entry(self, stamped: Stamped) -> str:
        return json_line(stamped.to_json()) + "\n"
