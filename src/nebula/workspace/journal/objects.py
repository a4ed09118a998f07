"""The store of contents by their sha256, in `.nebula/journal/objects/`: written whole, checked when read, never
changed."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Final

from nebula.files.atomic import AtomicWriter, WriteTarget
from nebula.files.beneath import FILE_FLAGS, FOLDER_FLAGS
from nebula.files.descriptors import closed_after
from nebula.files.digest import digest
from nebula.files.reading import read_all
from nebula.files.syscalls import Syscalls
from nebula.workspace.state_folder import close_to_others

try:
    from _blake2 import blake2b  # without OpenSSL, which takes milliseconds to load
except ImportError:
    from hashlib import blake2b

HASH_LENGTH: Final = 64
_SHELF_LENGTH: Final = 2
_KEY_FILE: Final = "key"
_KEY_LENGTH: Final = 32
KEPT_BYTES: Final = 64 * 1024 * 1024
"""A larger file is not replaced, since its old content would have to be kept."""


def seal_with(key: bytes, name: str) -> str:
    """Return a name of the same form that reveals nothing of the content without the key."""
    return blake2b(name.encode(), key=key, digest_size=HASH_LENGTH // 2).hexdigest()


class ObjectStore:
    def __init__(self, folder_fd: int, writer: AtomicWriter, calls: Syscalls) -> None:
        self._folder_fd = folder_fd
        self._writer = writer
        self._calls = calls
        self.written: set[str] = set()
        """Contents that were not there before; a caller who wants to know clears it first."""

    def put(self, content: bytes, *, durable: bool) -> str:
        """Keep a content and return its name. With `durable` it survives a power failure once this returns."""
        name = digest(content)
        with closed_after(self._open_shelf(name)) as shelf:
            if self._get_from(shelf, name, content) is not None:
                if durable:  # it may have been kept without a sync before
                    self._sync_kept(shelf, name)
                return name
            with suppress(FileExistsError):
                self._writer.put(WriteTarget(shelf, "", name[2:], None), content, durable=durable)
                self.written.add(name)
        return name

    def get(self, name: str) -> bytes | None:
        """Return the content; None if it was not kept, or is damaged."""
        if len(name) != HASH_LENGTH or not name.isalnum():
            return None
        try:
            shelf = os.open(name[:2], FOLDER_FLAGS, dir_fd=self._folder_fd)
        except FileNotFoundError:
            return None
        with closed_after(shelf):
            return self._get_from(shelf, name)

    def names(self) -> Iterator[str]:
        """Yield the names of all contents that are kept."""
        for shelf in os.listdir(self._folder_fd):
            if len(shelf) == _SHELF_LENGTH:
                with suppress(OSError), closed_after(os.open(shelf, FOLDER_FLAGS, dir_fd=self._folder_fd)) as handle:
                    yield from (shelf + name for name in os.listdir(handle))

    def sealer(self) -> Callable[[str], str]:
        """Return a function that makes another name for a content, which needs the key in this folder."""
        return partial(seal_with, self._key())

    def _key(self) -> bytes:
        """Return the key of this folder; it is made when it is first needed."""
        key = _read_from(self._folder_fd, _KEY_FILE)
        if key is None:
            with suppress(FileExistsError):  # another process has just made it
                target = WriteTarget(self._folder_fd, "", _KEY_FILE, None, 0o600)
                self._writer.put(target, os.urandom(_KEY_LENGTH), durable=True)
            key = _read_from(self._folder_fd, _KEY_FILE)
        if key is None or len(key) != _KEY_LENGTH:
            raise OSError(errno.EIO, os.strerror(errno.EIO), _KEY_FILE)
        return key

    def drop(self, name: str) -> None:
        """Remove a content that nobody needs."""
        shelves = self._folder_fd
        with suppress(OSError), closed_after(os.open(name[:2], FOLDER_FLAGS, dir_fd=shelves)) as shelf:
            self._calls.unlink(name[2:], shelf)  # it is gone already, or stays: no reason to fail

    def _get_from(self, shelf: int, name: str, known: bytes | None = None) -> bytes | None:
        """Return the content; it is compared where it is `known`, which takes less than a digest."""
        content = _read_from(shelf, name[2:])
        if content is None or content == known or digest(content) == name:
            return content
        self._calls.unlink(name[2:], shelf)  # damaged: useless, and in the way of a good copy
        return None

    def _open_shelf(self, name: str) -> int:
        try:
            return close_to_others(os.open(name[:2], FOLDER_FLAGS, dir_fd=self._folder_fd), self._calls)
        except FileNotFoundError:
            with suppress(FileExistsError):
                self._calls.mkdir(name[:2], self._folder_fd, 0o700)
            self._calls.fsync_dir(self._folder_fd)
            return os.open(name[:2], FOLDER_FLAGS, dir_fd=self._folder_fd)

    def _sync_kept(self, shelf: int, name: str) -> None:
        with closed_after(os.open(name[2:], FILE_FLAGS, dir_fd=shelf)) as fd:
            self._calls.fsync(fd)
        self._calls.fsync_dir(shelf)


def read_object(folder_fd: int, name: str, *, check: bool = True) -> bytes | None:
    """Return a content from the folder of a store, without changing the store; None as with `ObjectStore.get`. Without
    `check` a damaged content is returned as it is."""
    if len(name) != HASH_LENGTH or not name.isalnum():
        return None
    try:
        with closed_after(os.open(name[:2], FOLDER_FLAGS, dir_fd=folder_fd)) as shelf:
            content = _read_from(shelf, name[2:])
    except OSError:  # nothing there; or a link, a pipe, a failing disk
        return None
    return content if content is not None and (not check or digest(content) == name) else None


def _read_from(folder: int, file: str) -> bytes | None:
    try:
        fd = os.open(file, FILE_FLAGS, dir_fd=folder)
    except FileNotFoundError:
        return None
    with closed_after(fd):
        return read_all(fd, KEPT_BYTES + 1)
