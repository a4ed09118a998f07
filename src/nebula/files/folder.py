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
from collections.abc import Iterator

from nebula.files.beneath import FILE_FLAGS, FOLDER_FLAGS, best_opener
from nebula.files.reading import UnreadableFile, read_limited
from nebula.files.syscalls import REAL, Syscalls
from nebula.language import Sentence

_APPEND_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_names = itertools.count()


class Folder:
    """Raises OSError with ELOOP or ENOTDIR where a part of a path is a link."""

    def __init__(self, fd: int, path: str, calls: Syscalls = REAL) -> None:
        self.fd = fd
        self.path = path
        """Where it was opened, for messages; never used to open anything."""
        self._calls = calls
        self._open = best_opener()

    @classmethod
    def at(cls, path: str, calls: Syscalls = REAL) -> Folder:
        """The folder at a path of the user's own choice, which may be a link."""
        return cls(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), path, calls)

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "fd", -1) >= 0:
            self.close()

    def open(self, path: str, flags: int = FILE_FLAGS) -> int:
        """A descriptor of what is there."""
        return self._open(self.fd, _parts(path), flags)

    def subfolder(self, path: str, *, make: bool = True, perm: int = 0o777) -> Folder:
        if make:
            self.make_folder(path, perm)
        return Folder(self.open(path, FOLDER_FLAGS), f"{self.path}/{path}", self._calls)

    def read(self, path: str, limit: int) -> bytes | None:
        """A regular file's bytes; None where there is none. Raises UnreadableFile for anything odd."""
        try:
            handle = self.open(path)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return None
            reason = (
                Sentence("it is a link") if error.errno == errno.ELOOP else Sentence("{reason}", reason=error.strerror)
            )
            raise UnreadableFile(path, reason) from None
        try:
            return read_limited(handle, path, limit)
        finally:
            os.close(handle)

    def status(self, path: str) -> os.stat_result | None:
        """What lies there itself, a link not followed; None if nothing does."""
        try:
            with self._parent(path) as (parent, name):
                return os.stat(name, dir_fd=parent, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def listing(self, path: str = "") -> list[str]:
        """The names in a folder; none where there is no such folder."""
        try:
            handle = self.open(path, FOLDER_FLAGS)
        except (FileNotFoundError, NotADirectoryError):
            return []
        try:
            return os.listdir(handle)
        finally:
            os.close(handle)

    def make_folder(self, path: str, perm: int = 0o777) -> bool:
        """Makes a folder and those above it where they are missing; says whether it did. Each is synced."""
        made = False
        parts = _parts(path)
        for depth in range(1, len(parts) + 1):
            with self._parent("/".join(parts[:depth])) as (parent, name):
                try:
                    self._calls.mkdir(name, parent, perm)
                except FileExistsError:
                    continue
                self._calls.fsync_dir(parent)
                made = True
        os.close(self.open(path, FOLDER_FLAGS))  # a link or a file in its place is refused here
        return made

    def open_for_append(self, path: str, perm: int = 0o600) -> int:
        with self._parent(path) as (parent, name):
            return os.open(name, _APPEND_FLAGS, perm, dir_fd=parent)

    def replace(
        self, path: str, data: bytes, *, durable: bool = True, perm: int = 0o666, staging: int | None = None
    ) -> None:
        """The whole file or nothing. One that is there keeps its mode; its folder must exist. The file on its way lies
        beside it, or in the folder with the descriptor `staging`, which its owner sweeps after a crash."""
        with self._parent(path) as (parent, name):
            with contextlib.suppress(FileNotFoundError):
                found = os.stat(name, dir_fd=parent, follow_symlinks=False)
                perm = stat.S_IMODE(found.st_mode) if stat.S_ISREG(found.st_mode) else perm
            temporary = f".new-{os.getpid()}-{next(_names)}"
            beside = parent if staging is None else staging
            handle = self._calls.create(temporary, beside, perm)
            try:
                try:
                    self._calls.write_all(handle, data)
                    if durable:
                        self._calls.fsync(handle)
                finally:
                    os.close(handle)
                self._calls.rename(temporary, beside, name, parent)
            except BaseException:
                with contextlib.suppress(OSError):  # the first error is the one to report
                    self._calls.unlink(temporary, beside)
                raise
            if durable:
                self._calls.fsync_dir(parent)

    def remove(self, path: str) -> bool:
        """Removes a file; False where there was none."""
        try:
            with self._parent(path) as (parent, name):
                self._calls.unlink(name, parent)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    @contextlib.contextmanager
    def _parent(self, path: str) -> Iterator[tuple[int, str]]:
        parts = _parts(path)
        if len(parts) == 1:
            yield self.fd, parts[0]
            return
        handle = self._open(self.fd, parts[:-1], FOLDER_FLAGS)
        try:
            yield handle, parts[-1]
        finally:
            os.close(handle)


def _parts(path: str) -> list[str]:
    parts = [name for name in path.split("/") if name not in ("", ".")]
    if ".." in parts:
        raise OSError(errno.EXDEV, "a path here never leads upward", path)
    return parts
