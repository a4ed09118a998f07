"""What stands at a path: kind, mode, size, digest."""

from __future__ import annotations

import hashlib
import os
import stat

from nebula.files.beneath import FILE_FLAGS
from nebula.files.descriptors import closed_after
from nebula.sandbox.contract import Entry

_CHUNK = 1 << 20
_SPECIAL_BITS = 0o7000
ODD = {stat.S_IFIFO: "fifo", stat.S_IFSOCK: "socket", stat.S_IFCHR: "device", stat.S_IFBLK: "device"}


def describe(folder: int, name: str, found: os.stat_result, *, with_digest: bool, repair: bool = False) -> Entry:
    """Return what stands at a path. With `repair` the file is ours alone: it is made readable if its mode forbids
    reading."""
    mode = stat.S_IMODE(found.st_mode)
    if stat.S_ISDIR(found.st_mode):
        return Entry("folder", mode)
    if stat.S_ISLNK(found.st_mode):
        target = os.readlink(name, dir_fd=folder)
        return Entry("link", 0o777, len(os.fsencode(target)), target=target)
    return Entry("file", mode, found.st_size, _digest(folder, name, found, repair) if with_digest else None)


def _digest(folder: int, name: str, found: os.stat_result, repair: bool) -> str | None:
    try:
        handle = os.open(name, FILE_FLAGS, dir_fd=folder)
    except PermissionError:
        if not repair:
            return None
        make_readable(folder, name, found)
        handle = os.open(name, FILE_FLAGS, dir_fd=folder)
    with closed_after(handle):
        digest = hashlib.sha256()
        while data := os.read(handle, _CHUNK):
            digest.update(data)
        return digest.hexdigest()


def has_content(folder: int, name: str, found: os.stat_result, wanted: bytes) -> bool:
    """Return whether a file of the layer, of that length, has that content."""
    if not wanted:
        return True
    return _digest(folder, name, found, repair=True) == hashlib.sha256(wanted).hexdigest()


def make_readable(folder: int, name: str, found: os.stat_result) -> None:
    """Make an entry readable, in a layer that nobody else can reach: nothing can be swapped for a link in between."""
    os.chmod(name, stat.S_IMODE(found.st_mode) | (0o700 if stat.S_ISDIR(found.st_mode) else 0o400), dir_fd=folder)


def is_whiteout(found: os.stat_result) -> bool:
    """Return whether the upper side says by this that something is deleted."""
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == 0


def odd_kind(found: os.stat_result) -> str | None:
    return ODD.get(stat.S_IFMT(found.st_mode))


def ordinary_mode(mode: int, before: int | None) -> int:
    """Return a mode without set-user-ID and its like, unless they were there before."""
    return mode & ~(_SPECIAL_BITS & ~(before or 0))
