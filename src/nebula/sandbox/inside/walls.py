"""The second wall: what stays shut even if a mount or a namespace had a hole."""

from __future__ import annotations

import ctypes
import os

from nebula.sandbox.inside.kernel import StepFailed, call, prctl, syscall

_CAPBSET_DROP, _CAP_AMBIENT, _CAP_AMBIENT_CLEAR_ALL = 24, 47, 4
_NO_NEW_PRIVS, _DUMPABLE = 38, 4
_CAPABILITY_VERSION_3 = 0x20080522
_EINVAL, _ENOSYS, _EOPNOTSUPP = 22, 38, 95

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_READ_RIGHTS = 1 << 0 | 1 << 2 | 1 << 3  # execute, read file, read folder
_RIGHTS_OF_ABI = {2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_SCOPES_OF_ABI_6 = 0b11  # abstract sockets and signals
OLDEST_LANDLOCK = 2
"""The first version forbids every rename from one folder to another."""


def drop_capabilities(user: tuple[int, int]) -> None:
    """Drop all capabilities: nothing started from here on has or gets one, not even in our own user namespace."""
    last = int(_read("/proc/sys/kernel/cap_last_cap"))
    for capability in range(last + 1):
        prctl("capabilities", _CAPBSET_DROP, capability)
    prctl("capabilities", _CAP_AMBIENT, _CAP_AMBIENT_CLEAR_ALL)
    if user != (os.geteuid(), os.getegid()):  # root works as the project's owner
        _become(*user)
    header = _CAPABILITY_VERSION_3.to_bytes(4, "little") + bytes(4)
    call("capabilities", "capset", header, bytes(24))
    prctl("no_new_privs", _NO_NEW_PRIVS, 1)
    prctl("dumpable", _DUMPABLE, 0)  # this process stays out of reach of the command's debuggers


def _become(uid: int, gid: int) -> None:
    if _read("/proc/self/setgroups").strip() == "allow":  # not so in every container
        os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def landlock_version() -> int:
    """Return the version of Landlock in this kernel; 0 where it has none, or where it is turned off."""
    try:
        return syscall("landlock", _CREATE_RULESET, None, 0, 1)
    except StepFailed as failed:
        if failed.number in {_ENOSYS, _EOPNOTSUPP}:
            return 0
        raise


def restrict_writes(writable: list[str], newest: int = 99) -> bool:
    """Landlock: reading anywhere, writing in these folders. False where the kernel cannot. `newest`: the version to use
    if the kernel has it."""
    abi = min(landlock_version(), newest)
    if abi < OLDEST_LANDLOCK:
        return False
    rights = _RIGHTS_OF_ABI.get(abi, _RIGHTS_OF_ABI[5])
    words = [rights] if abi < 4 else [rights, 0] if abi < 6 else [rights, 0, _SCOPES_OF_ABI_6]
    attributes = b"".join(word.to_bytes(8, "little") for word in words)
    ruleset = syscall("landlock", _CREATE_RULESET, attributes, len(attributes), 0)
    _allow(ruleset, "/", _READ_RIGHTS)
    for path in writable:
        _allow(ruleset, path, rights)
    syscall("landlock", _RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    return True


def _allow(ruleset: int, path: str, rights: int) -> None:
    handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    rule = rights.to_bytes(8, "little") + handle.to_bytes(4, "little")
    beneath = 1
    syscall("landlock", _ADD_RULE, ruleset, beneath, ctypes.create_string_buffer(rule, len(rule)), 0)
    os.close(handle)


def _read(path: str) -> str:
    with open(path, encoding="ascii") as file:
        return file.read()
