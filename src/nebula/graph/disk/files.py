"""The files of a data folder: every way in starts at the folder's descriptor.

No link on the way is followed and only regular files are read, without blocking, so a folder that came with a clone
cannot point the store elsewhere or hold it up. The folder a project carries (`.nebula/graph`) must not be reached
through a link either; any other one is the user's own choice. A write is old or new, never a mixture.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from nebula.files.beneath import FILE_FLAGS, FOLDER_FLAGS
from nebula.files.descriptors import closed_after
from nebula.files.folder import Folder
from nebula.files.reading import UnreadableFile, read_limited
from nebula.graph.errors import BadFile
from nebula.language import Sentence

STATE = ".state"
_PROJECT_PART = os.path.join(os.sep, ".nebula", "graph")
_TICK_NS = 30_000_000
_ABSENT = (errno.ENOENT, errno.ENOTDIR)


class Signature(NamedTuple):
    """Tells whether a file is still the one that was read. Programs can set the time of writing (`rsync -t`, `cp -p`,
    `touch -d`); that of the last change they cannot."""

    changed_ns: int
    size: int
    inode: int


ABSENT = Signature(0, -1, 0)
"""Stands for no file, or something that is none."""


def is_settled(moment_ns: int) -> bool:
    """False for a time so recent that a further change could carry the very same one (the clock of a file system
    may tick only every few milliseconds); what was read then must be read again."""
    return abs(time.time_ns() - moment_ns) > _TICK_NS


def signature_of(found: os.stat_result) -> Signature:
    return Signature(found.st_ctime_ns, found.st_size, found.st_ino)


class Files:
    """Paths are relative to the folder, their names separated by `/`. A folder that is not there holds nothing."""

    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)
        self._folder: Folder | None = None
        self._identity = (0, 0)
        self._state: Folder | None = None
        self._looking = threading.RLock()
        """Held while the folder is looked for: whoever saw none may not let go of the one that another thread made."""

    def look(self) -> bool:
        """Open the folder, anew where another stands in its place (a checkout, say) or its state was removed (`git
        clean`); return True if it did. Raises BadFile where it may not be opened."""
        with self._looking:
            try:
                found = os.stat(self.root)
            except (FileNotFoundError, NotADirectoryError):
                return self._let_go()
            is_state_gone = self._state is not None and os.fstat(self._state.fd).st_nlink == 0
            if self._folder and (found.st_dev, found.st_ino) == self._identity and not is_state_gone:
                return False
            self._let_go()
            with self.as_bad_file(self.root):
                self._folder = self._opened()
            found = os.fstat(self._folder.fd)
            self._identity = (found.st_dev, found.st_ino)
            return True

    def _let_go(self) -> bool:
        """Descriptors are closed when nobody uses them any more: another thread may be about to."""
        had, self._folder, self._state = self._folder, None, None
        return had is not None

    def _opened(self) -> Folder:
        if not self.root.endswith(_PROJECT_PART):
            return Folder.at(self.root)
        with Folder.at(self.root.removesuffix(_PROJECT_PART) or os.sep) as project:
            return project.subfolder(_PROJECT_PART.strip(os.sep), make=False)

    def make(self) -> None:
        """Make the folder and those above it where they are missing, each of them on the disk on return; but no
        project that was there before, and was moved away."""
        above = self.root.removesuffix(_PROJECT_PART)
        if above != self.root and self._identity != (0, 0) and not os.path.isdir(above):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), above)
        while not os.path.isdir(above):
            above = os.path.dirname(above)
        missing = os.path.relpath(self.root, above)
        if missing != ".":
            with self.as_bad_file(self.root), Folder.at(above) as base:
                base.make_folder(missing.replace(os.sep, "/"))
        self.look()
        self.make_folder(STATE)

    @property
    def folder(self) -> Folder:
        """The data folder. Raises FileNotFoundError where there is none."""
        if self._folder is None:
            raise FileNotFoundError(errno.ENOENT, "there is no data folder", self.root)
        return self._folder

    @contextlib.contextmanager
    def as_bad_file(self, path: str) -> Iterator[None]:
        """A link, or a file where a folder should be, is a fault of the folder and not of the program."""
        try:
            yield
        except OSError as error:
            raise _bad_file(error, path) from None

    # Looking

    def status(self, path: str) -> os.stat_result | None:
        """Return the status of what lies there itself; None for nothing, or for what cannot be reached without
        following a link."""
        try:
            return self.folder.status(path)
        except OSError:
            return None

    def exists(self, path: str) -> bool:
        return self.status(path) is not None

    def signature(self, path: str) -> Signature | None:
        """Return the state of a regular file; None when there is none at that path."""
        found = self.status(path)
        return signature_of(found) if found and stat.S_ISREG(found.st_mode) else None

    def signatures(self, paths: Iterable[str]) -> Iterator[Signature]:
        """Yield the states of many files, to be compared with what was read of them: one look each, and a link in the
        place of a folder is followed. Opening a file never does."""
        for path in paths:
            try:
                found = os.stat(path, dir_fd=self.folder.fd, follow_symlinks=False)
            except OSError:
                yield ABSENT
            else:
                yield signature_of(found) if stat.S_ISREG(found.st_mode) else ABSENT

    def names(self, path: str) -> list[str]:
        """Return the names in a folder; none where it is no folder."""
        try:
            handle = self.folder.open(path, FOLDER_FLAGS)
        except OSError:
            return []
        with closed_after(handle):
            return os.listdir(handle)

    def folder_times(self, path: str) -> dict[str, int]:
        """Return the numbered folders below a folder, each with the time of its last change. Raises BadFile where
        something else stands in the folder's place: that must not look like an empty one."""
        with self.as_bad_file(path):
            found = self._entries(path)
        return {name: status.st_ctime_ns for name, status in found if name.isdigit() and stat.S_ISDIR(status.st_mode)}

    def change_times(self, path: str) -> dict[str, int]:
        """Everything in a folder with the time at which it came there or was changed; a copy may carry any other."""
        return {name: status.st_ctime_ns for name, status in self._entries(path)}

    def _entries(self, path: str) -> list[tuple[str, os.stat_result]]:
        try:
            with closed_after(self.folder.open(path, FOLDER_FLAGS)) as handle, os.scandir(handle) as entries:
                return [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
        except FileNotFoundError:  # it, or one of them, went while we looked
            return []

    # Reading

    def open(self, path: str, flags: int = FILE_FLAGS) -> int:
        """Return a regular file's descriptor. Raises FileNotFoundError, or BadFile for anything odd."""
        try:
            handle = self.folder.open(path, flags)
        except OSError as error:
            if error.errno in _ABSENT:
                raise FileNotFoundError(error.errno, error.strerror, path) from None
            is_link = error.errno == errno.ELOOP
            reason = Sentence("a link is in its way") if is_link else Sentence("{reason}", reason=error.strerror)
            raise BadFile(path, reason) from None
        return _require_regular(handle, path)

    def load(self, path: str, limit: int) -> tuple[bytes, Signature]:
        """Return a file's bytes, at most `limit`. Raises FileNotFoundError or BadFile."""
        with closed_after(self.open(path)) as handle:
            try:
                return read_limited(handle, path, limit), signature_of(os.fstat(handle))
            except UnreadableFile as error:
                raise BadFile(path, Sentence("{reason}", reason=error.reason)) from None

    def head(self, path: str, size: int) -> bytes:
        """Return the first bytes of a file; none of one that cannot be read."""
        try:
            handle = self.open(path)
        except (FileNotFoundError, BadFile):
            return b""
        with closed_after(handle):
            return os.read(handle, size)

    # Writing

    def make_folder(self, path: str) -> None:
        with self.as_bad_file(path):
            self.folder.make_folder(path)

    @property
    def state(self) -> Folder:
        """The folder for the lock, the step under way and files on their way; made by `make`."""
        if self._state is None:
            with self.as_bad_file(STATE):
                self._state = self.folder.subfolder(STATE, make=False)
        return self._state

    def open_to_append(self, path: str) -> int:
        """Return a regular file, made if need be, for reading and for writing at its end. Raises BadFile."""
        with self.as_bad_file(path):
            return _require_regular(self.folder.open_for_append(path, 0o666), path)

    def open_state(self, name: str) -> int:
        """Open a file of the state folder for reading and writing; it is made if need be. Raises BadFile."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        with self.as_bad_file(f"{STATE}/{name}"):
            return _require_regular(os.open(name, flags, 0o666, dir_fd=self.state.fd), f"{STATE}/{name}")

    def replace(self, path: str, data: bytes, *, durable: bool = False) -> None:
        """Put `data` at a path, through a file in the state folder; `durable` waits until the disk has it."""
        with self.as_bad_file(path):
            try:
                self.folder.replace(path, data, durable=durable, staging=self.state)
            except FileNotFoundError:
                self._make_folder_of(path)
                self.folder.replace(path, data, durable=durable, staging=self.state)

    def mode_of(self, path: str) -> int:
        """Return the permissions that a file written in the place of another keeps."""
        found = self.status(path)
        return stat.S_IMODE(found.st_mode) if found and stat.S_ISREG(found.st_mode) else 0o666

    def move_in(self, staged: str, path: str) -> None:
        """Let a file of the state folder take the place of the one at a path; without one that is removed.

        Flushing the folder makes it last."""
        if not staged:
            self.remove(path)
            return
        with self.as_bad_file(path):
            for attempt in (1, 2):
                try:
                    parent, name = self.folder.find_parent(path)
                    os.rename(staged, name, src_dir_fd=self.state.fd, dst_dir_fd=parent.fd)
                    return
                except FileNotFoundError:
                    if attempt == 2:
                        raise
                    self._make_folder_of(path)

    def _make_folder_of(self, path: str) -> None:
        """Make the folder of a file: it is the next one, or went away under us (a checkout, say)."""
        for folder in filter(None, (STATE, path.rpartition("/")[0])):
            self.folder.make_folder(folder)

    def remove(self, path: str) -> None:
        with self.as_bad_file(path):
            self.folder.remove(path)


def _bad_file(error: OSError, path: str) -> Exception:
    if error.errno in (errno.ELOOP, errno.EXDEV):
        return BadFile(path, Sentence("a link is in its way"))
    if error.errno in (errno.ENOTDIR, errno.EISDIR):
        return BadFile(path, Sentence("not a folder" if error.errno == errno.ENOTDIR else "not a regular file"))
    return error


def _require_regular(handle: int, path: str) -> int:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise BadFile(path, Sentence("not a regular file"))
    return handle
