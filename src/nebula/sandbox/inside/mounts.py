"""Mounting, by descriptor: a tree is cloned, made read-only while nobody can reach it, and only then put in its
place."""

from __future__ import annotations

import os

from nebula.sandbox.inside.kernel import StepFailed, call, syscall

_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_AT_FDCWD = -100
_CLONE, _CLOEXEC, _RECURSIVE, _EMPTY_PATH = 0x1, os.O_CLOEXEC, 0x8000, 0x1000
_MOVE_FROM_EMPTY_PATH = 0x4
READ_ONLY, NO_SETUID, NO_DEVICES, NO_PROGRAMS = 0x1, 0x2, 0x4, 0x8
_PRIVATE, _BIND, _RECURSE = 1 << 18, 1 << 12, 1 << 14
_DETACH = 0x2
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}


def keep_mounts_private() -> None:
    call("mounts", "mount", b"none", b"/", None, _PRIVATE | _RECURSE, None)


def mount(kind: str, where: str, options: str, flags: int) -> None:
    call(kind, "mount", kind.encode(), os.fsencode(where), kind.encode(), flags, os.fsencode(options))


def clone_tree(path: str, *, attributes: int, recursive: bool = True) -> int:
    """A detached copy of the mount at `path`, with everything mounted below it."""
    deep = _RECURSIVE if recursive else 0
    tree = syscall("open_tree", _OPEN_TREE, _AT_FDCWD, os.fsencode(path), _CLONE | _CLOEXEC | deep)
    _set_attributes(tree, b"", attributes, _EMPTY_PATH | deep)
    return tree


def attach(tree: int, where: str) -> None:
    place = os.fsencode(where)
    syscall("move_mount", _MOVE_MOUNT, tree, b"", _AT_FDCWD, place, _MOVE_FROM_EMPTY_PATH)
    os.close(tree)


def make_read_only(where: str) -> None:
    _set_attributes(_AT_FDCWD, os.fsencode(where), READ_ONLY | NO_SETUID | NO_DEVICES, 0)


def bind(source: str, where: str) -> None:
    call("bind", "mount", os.fsencode(source), os.fsencode(where), None, _BIND, None)


def enter_root(where: str) -> None:
    """`where` becomes `/`, and nothing of the old one can be reached any more."""
    number = _PIVOT_ROOT.get(os.uname().machine)
    if number is None:
        raise StepFailed("architecture", 38)
    os.chdir(where)
    syscall("pivot_root", number, b".", b".")
    call("pivot_root", "umount2", b".", _DETACH)
    os.chdir("/")


def _set_attributes(handle: int, path: bytes, attributes: int, flags: int) -> None:
    # struct mount_attr: set, clear, propagation, user namespace
    wanted = b"".join(word.to_bytes(8, "little") for word in (attributes, 0, 0, 0))
    syscall("mount_setattr", _MOUNT_SETATTR, handle, path, flags, wanted, len(wanted))
