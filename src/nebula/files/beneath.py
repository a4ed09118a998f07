"""Open a path below a directory descriptor without following a single link.

Linux has one call for it (openat2 with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS). Elsewhere, and where a sandbox
forbids that call, the names are walked one by one, each opened from the descriptor of the one before with O_NOFOLLOW.
Either way there is no moment between a check and its use: what is not followed cannot be swapped.

Not protected by the walk, unlike openat2: a directory that is moved out of the root while it is being walked is still
read or written where it has gone. Whoever can do that can already write outside the root.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence

from nebula.files.descriptors import closed_after

OpenBeneath = Callable[[int, Sequence[str], int], int]
"""(directory descriptor, names, flags) -> descriptor. OSError with ELOOP or ENOTDIR where a name is a link."""

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Non-blocking, so that a FIFO cannot hold the caller; it means nothing to a regular file."""

MAX_LINKS = 16

_PASS_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_by_walking(root_fd: int, parts: Sequence[str], flags: int) -> int:
    if not parts:
        return os.open(".", flags & ~os.O_NOFOLLOW, dir_fd=root_fd)
    here = root_fd
    try:
        for name in parts[:-1]:
            below = os.open(name, _PASS_FLAGS, dir_fd=here)
            if here != root_fd:
                os.close(here)
            here = below
        return os.open(parts[-1], flags, dir_fd=here)
    finally:
        if here != root_fd:
            os.close(here)


def open_beneath(root_fd: int, parts: Sequence[str], flags: int) -> int:
    """Open by the best opener, which is found out when it is first needed: what lies in the root itself, as all that a
    start looks at, needs no walk."""
    return (best_opener() if len(parts) > 1 else open_by_walking)(root_fd, parts, flags)


def best_opener() -> OpenBeneath:
    """Return openat2 if the kernel has it and lets us, else the walk."""
    global _chosen
    if _chosen is None:
        _chosen = _openat2_opener() or open_by_walking
    return _chosen


def open_inside(root_fd: int, parts: Sequence[str], flags: int) -> int:
    """Walk like `open_by_walking`, and follow links that stay inside the root. OSError with ELOOP or EXDEV for others.

    A link is read as text and the path it stands for is opened without following anything: if the tree is changed
    meanwhile, the open fails. An absolute link is one that leaves.
    """
    try:
        return open_by_walking(root_fd, parts, flags)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
            raise
    return open_by_walking(root_fd, without_links(open_by_walking, root_fd, parts), flags)


def without_links(opener: OpenBeneath, root_fd: int, parts: Sequence[str], root: str = "") -> list[str]:
    """Return the names with all links replaced by what they stand for. Text in, text out: opening them is the check.

    OSError with EXDEV where one leads out, as every absolute one does but for those below the path `root`; with ELOOP
    where they go in circles.
    """
    waiting = list(reversed(parts))
    real: list[str] = []
    links = 0
    while waiting:
        name = waiting.pop()
        if name == "..":
            if not real:
                raise OSError(errno.EXDEV, "the link leaves the folder")
            real.pop()
            continue
        target = link_target(opener, root_fd, real, name)
        if target is None:
            real.append(name)
            continue
        links += 1
        if links > MAX_LINKS:
            raise OSError(errno.ELOOP, "the links go in circles")
        if target.startswith("/"):
            if not root or not f"{target}/".startswith(f"{root}/"):
                raise OSError(errno.EXDEV, "the link leaves the folder")
            target = target[len(root) :]
            real.clear()
        waiting.extend(part for part in reversed(target.split("/")) if part not in ("", "."))
    return real


def link_target(opener: OpenBeneath, root_fd: int, parents: Sequence[str], name: str) -> str | None:
    try:
        with closed_after(opener(root_fd, parents, FOLDER_FLAGS)) as here:
            return os.readlink(name, dir_fd=here)
    except OSError:
        return None  # missing or changed: the open that follows says so


_chosen: OpenBeneath | None = None

_AT_FDCWD = -100
_SYS_OPENAT2 = 437  # the same number on every architecture
_RESOLVE = 0x08 | 0x04 | 0x02  # BENEATH, NO_SYMLINKS, NO_MAGICLINKS


def _openat2_opener() -> OpenBeneath | None:
    if not sys.platform.startswith("linux"):
        return None
    import ctypes  # 4 ms that no start pays

    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    syscall.restype = ctypes.c_long
    get_errno = ctypes.get_errno
    hows: dict[int, bytes] = {}

    def open_by_openat2(root_fd: int, parts: Sequence[str], flags: int) -> int:
        how = hows.get(flags)
        if how is None:
            how = hows[flags] = b"".join(word.to_bytes(8, sys.byteorder) for word in (flags, 0, _RESOLVE))
        name = os.fsencode("/".join(parts)) or b"."
        while True:
            fd: int = syscall(_SYS_OPENAT2, root_fd, name, how, 24)
            if fd >= 0:
                return fd
            problem = get_errno()
            if problem not in {errno.EINTR, errno.EAGAIN}:
                raise OSError(problem, os.strerror(problem))

    try:
        os.close(open_by_openat2(_AT_FDCWD, (), FOLDER_FLAGS))
    except OSError:
        return None
    return open_by_openat2
