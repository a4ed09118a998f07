"""Mounting, by descriptor: a tree is cloned, made read-only while nobody can reach it, and only then put in its
place. Where the kernel has no call for that (Linux 5.11), it is made read-only in its place, one mount after the other:
nobody but us is in this namespace yet."""

from __future__ import annotations

import os

from nebula.sandbox.inside.kernel import StepFailed, call, syscall

_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_AT_FDCWD = -100
_CLONE, _CLOEXEC, _RECURSIVE, _EMPTY_PATH = 0x1, os.O_CLOEXEC, 0x8000, 0x1000
_MOVE_FROM_EMPTY_PATH = 0x4
READ_ONLY, NO_SETUID, NO_DEVICES, NO_PROGRAMS = 0x1, 0x2, 0x4, 0x8
_PRIVATE, _BIND, _RECURSE = 1 << 18, 1 << 12, 1 << 14
_REMOUNT = 1 << 5
_KEPT = {b"ro": READ_ONLY, b"nosuid": NO_SETUID, b"nodev": NO_DEVICES, b"noexec": NO_PROGRAMS, b"nosymfollow": 1 << 8}
"""What a mount has and an ordinary user may not take from it."""
_DETACH = 0x2
_ENOSYS = 38
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}


def keep_mounts_private() -> None:
    call("mounts", "mount", b"none", b"/", None, _PRIVATE | _RECURSE, None)


def mount(kind: str, where: str, options: str, flags: int) -> None:
    call(kind, "mount", kind.encode(), os.fsencode(where), kind.encode(), flags, os.fsencode(options))


def clone_tree(path: str, *, recursive: bool = True) -> int:
    """Return a detached copy of the mount at `path`, with everything mounted below it."""
    deep = _RECURSIVE if recursive else 0
    return syscall("open_tree", _OPEN_TREE, _AT_FDCWD, os.fsencode(path), _CLONE | _CLOEXEC | deep)


def attach(tree: int, where: str, attributes: int) -> None:
    prepared = _set_attributes(tree, b"", attributes, _EMPTY_PATH | _RECURSIVE)
    syscall("move_mount", _MOVE_MOUNT, tree, b"", _AT_FDCWD, os.fsencode(where), _MOVE_FROM_EMPTY_PATH)
    os.close(tree)
    if not prepared:
        _remount(where, attributes, recursive=True)


def make_read_only(where: str) -> None:
    attributes = READ_ONLY | NO_SETUID | NO_DEVICES
    if not _set_attributes(_AT_FDCWD, os.fsencode(where), attributes, 0):
        _remount(where, attributes, recursive=False)


def mount_overlay(where: str, lower: str, sides: str, flags: int) -> None:
    """Put an overlay over the folder `lower`, whose upper side lies in `sides`."""
    options = "userxattr,xino=off,index=off,volatile"  # nothing of it has to outlive a crash
    options += f",lowerdir={lower},upperdir={sides}/upper,workdir={sides}/work"
    mount("overlay", where, options, flags)


def bind(source: str, where: str) -> None:
    call("bind", "mount", os.fsencode(source), os.fsencode(where), None, _BIND, None)


def enter_root(where: str) -> None:
    """Make `where` the root directory; nothing of the old root can be reached any more."""
    number = _PIVOT_ROOT.get(os.uname().machine)
    if number is None:
        raise StepFailed("architecture", _ENOSYS)
    os.chdir(where)
    syscall("pivot_root", number, b".", b".")
    call("pivot_root", "umount2", b".", _DETACH)
    os.chdir("/")


def _set_attributes(handle: int, path: bytes, attributes: int, flags: int) -> bool:
    """Set attributes of a mount; return False if the kernel has no such call."""
    # struct mount_attr: set, clear, propagation, user namespace
    wanted = b"".join(word.to_bytes(8, "little") for word in (attributes, 0, 0, 0))
    try:
        syscall("mount_setattr", _MOUNT_SETATTR, handle, path, flags, wanted, len(wanted))
    except StepFailed as failed:
        if failed.number != _ENOSYS:
            raise
        return False
    return True


def _remount(where: str, attributes: int, *, recursive: bool) -> None:
    with open("/proc/self/mountinfo", "rb") as file:
        lines = [line.split(b" ") for line in file]
    place = os.fsencode(where)
    for _, _, _, _, escaped, options, *_ in lines:
        path = _unescaped(escaped)
        if path == place or (recursive and path.startswith(place + b"/")):
            kept = sum(flag for name, flag in _KEPT.items() if name in options.split(b","))
            call("remount", "mount", None, path, None, _REMOUNT | _BIND | (attributes | kept), None)


def _unescaped(path: bytes) -> bytes:
    for code in (b"040", b"011", b"012", b"134"):
        path = path.replace(b"\\" + code, bytes([int(code, 8)]))
    return path
