"""Whole-file reads and writes for the store.

A write is old or new, never a mixture: a temporary file in the store's own state folder, then a rename. Links
are never followed, and only regular files are read, so a repository cannot point the store elsewhere.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Sequence
from typing import NamedTuple

from nebula.graph.errors import BadFile

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


_TICK_NS = 30_000_000
_AT_ONCE = 64


class Signature(NamedTuple):
    """Tells whether a file is still the one that was read."""

    mtime_ns: int
    size: int
    inode: int


ABSENT = Signature(0, -1, 0)
"""Stands for no file, or something that is none."""


def signature(path: str) -> Signature | None:
    """The state of a regular file; None when there is none at that path."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return _signature_of(found) if stat.S_ISREG(found.st_mode) else None


def is_settled(moment_ns: int) -> bool:
    """False for a time so recent that a further change could carry the very same one (the clock of a file system
    may tick only every few milliseconds); what was read then must be read again."""
    return abs(time.time_ns() - moment_ns) > _TICK_NS


def _signature_of(found: os.stat_result) -> Signature:
    return Signature(found.st_mtime_ns, found.st_size, found.st_ino)


def read_file(path: str, limit: int) -> tuple[bytes, Signature]:
    """A regular file's bytes, at most `limit`. Raises FileNotFoundError, or BadFile for anything odd."""
    try:
        handle = os.open(path, _READ)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            raise FileNotFoundError(path) from None
        raise BadFile(path, error.strerror or "cannot be opened") from None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise BadFile(path, "not a regular file")
        if found.st_size > limit:
            raise BadFile(path, f"larger than {limit} bytes")
        data = _read_up_to(handle, limit + 1)
        if len(data) > limit:
            raise BadFile(path, f"larger than {limit} bytes")
        return data, _signature_of(found)
    except OSError as error:
        raise BadFile(path, error.strerror or "cannot be read") from None
    finally:
        os.close(handle)


def _read_up_to(handle: int, limit: int) -> bytes:
    pieces = []
    while limit > 0 and (piece := os.read(handle, min(limit, 1 << 20))):
        pieces.append(piece)
        limit -= len(piece)
    return b"".join(pieces)


def write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def replace_file(path: str, data: bytes, temporary: str, *, durable: bool, is_new: bool = False) -> None:
    """Puts `data` at `path` through the file `temporary`; `durable` waits until the disk has it. A file that is not
    new keeps its mode."""
    mode = 0o666
    if not is_new:
        with contextlib.suppress(FileNotFoundError):
            mode = stat.S_IMODE(os.stat(path, follow_symlinks=False).st_mode)
    handle = os.open(temporary, _CREATE, mode)
    try:
        try:
            write_all(handle, data)
            if durable:
                os.fsync(handle)
        finally:
            os.close(handle)
        os.rename(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    if durable:
        sync_path(os.path.dirname(path))


def sync_path(path: str) -> None:
    """Flushes a file or folder to the disk; one that is gone needs no flushing."""
    sync_paths([path])


def sync_paths(paths: Sequence[str]) -> None:
    """Flushes many: writing is begun for all before the first is waited for, so that one wait serves most of them."""
    for start in range(0, len(paths), _AT_ONCE):
        handles = []
        try:
            for path in paths[start : start + _AT_ONCE]:
                with contextlib.suppress(FileNotFoundError):
                    handles.append(os.open(path, _READ))
            if len(handles) > 1 and hasattr(os, "posix_fadvise"):
                for handle in handles:
                    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            for handle in handles:
                os.fsync(handle)
        finally:
            for handle in handles:
                os.close(handle)


def make_folder(path: str) -> bool:
    """Creates a folder inside the store if it is not there; says whether it did. A link in its place is refused."""
    try:
        os.mkdir(path)
    except FileExistsError:
        if not stat.S_ISDIR(os.stat(path, follow_symlinks=False).st_mode):
            raise BadFile(path, "not a folder") from None
        return False
    return True
