"""Reading a file that a stranger may have put there: limited in size, never blocking, regular files only.

This is the one reader for everything a project brings along, its `.nebula/` included. `read_below` follows a link
only where it stays inside the folder; whatever else is wrong with a file (a pipe, a device, too large, not readable)
is an UnreadableFile with the reason, so that a caller can go on without it and say why.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence

from nebula.errors import NebulaError
from nebula.files.beneath import FILE_FLAGS, open_by_walking, open_inside
from nebula.files.descriptors import closed_after
from nebula.language import Sentence


class UnreadableFile(NebulaError):
    """A file that is there and cannot be used; `path` and `reason` say which and why."""

    def __init__(self, path: str, reason: str | Sentence) -> None:
        super().__init__("{path} cannot be read: {reason}", path=path, reason=reason)
        self.path = path
        self.reason = str(reason)


def read_below(folder: str | int, path: str, limit: int, *, follow: bool = True) -> bytes | None:
    """Return the bytes of a file below a folder; None where there is none. Raises UnreadableFile.

    `folder` is a path or a directory descriptor. `follow` allows links that stay inside the folder.
    """
    parts = [name for name in path.split("/") if name not in ("", ".")]
    try:
        handle = open_below(folder, parts, follow=follow)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return None
        raise UnreadableFile(path, _why_not_opened(error)) from None
    with closed_after(handle):
        return read_limited(handle, path, limit)


def read_or_empty(folder: str | int, path: str, limit: int, *, follow: bool = True) -> bytes:
    """Return the bytes of a file below a folder; none where there is no file, or none that can be read."""
    try:
        return read_below(folder, path, limit, follow=follow) or b""
    except (UnreadableFile, OSError, ValueError):
        return b""


def read_limited(handle: int, path: str, limit: int) -> bytes:
    """Return the bytes of an open file, if it is a regular one of at most `limit` bytes. Raises UnreadableFile."""
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise UnreadableFile(path, Sentence("it is not a regular file"))
        data = read_all(handle, limit + 1) if found.st_size <= limit else b""
    except OSError as error:
        raise UnreadableFile(path, error.strerror or Sentence("the disk failed")) from None
    if found.st_size > limit or len(data) > limit:
        raise UnreadableFile(path, Sentence("it is larger than {limit} bytes", limit=f"{limit:,}"))
    return data


def read_all(handle: int, limit: int) -> bytes:
    """Return at most `limit` bytes from an open file, however many reads that takes."""
    chunks = []
    while limit > 0 and (chunk := os.read(handle, min(limit, 1 << 20))):
        chunks.append(chunk)
        limit -= len(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def open_below(folder: str | int, parts: Sequence[str], *, follow: bool = True) -> int:
    """Return a descriptor of what lies there, of whatever kind it is; OSError where there is none.

    The names are walked: every start reads a handful of files this way, and loading what openat2 needs costs more.
    """
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) if isinstance(folder, str) else folder
    try:
        return (open_inside if follow else open_by_walking)(here, parts, FILE_FLAGS)
    finally:
        if isinstance(folder, str):
            os.close(here)


def _why_not_opened(error: OSError) -> str | Sentence:
    if error.errno in (errno.ELOOP, errno.EXDEV, errno.EMLINK):
        return Sentence("it is a link that leads elsewhere")
    if error.errno == errno.ENOTDIR:
        return Sentence("part of its path is not a folder")
    return error.strerror or Sentence("it cannot be opened")
