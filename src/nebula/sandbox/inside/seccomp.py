"""A system call filter: the calls that no build or test needs and that kernel holes are made of.

A list of what is forbidden, not of what is allowed: the namespaces are the wall, and an allow list breaks the
programs of next year. Classic BPF, assembled here.
"""

from __future__ import annotations

import ctypes
import os

from nebula.sandbox.inside.kernel import StepFailed, prctl

_FORBIDDEN_EVERYWHERE = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "pidfd_getfd": 438, "mount_setattr": 442,
    "quotactl_fd": 443, "open_tree_attr": 467,
}  # fmt: skip
_FORBIDDEN = {
    "x86_64": {
        "mount": 165, "umount2": 166, "pivot_root": 155, "unshare": 272, "setns": 308, "keyctl": 250, "add_key": 248,
        "request_key": 249, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "kexec_load": 246,
        "kexec_file_load": 320, "init_module": 175, "finit_module": 313, "delete_module": 176, "reboot": 169,
        "swapon": 167, "swapoff": 168, "acct": 163, "quotactl": 179, "settimeofday": 164, "clock_settime": 227,
        "clock_adjtime": 305, "sethostname": 170, "setdomainname": 171, "syslog": 103, "open_by_handle_at": 304,
        "name_to_handle_at": 303, "fanotify_init": 300, "vhangup": 153, "iopl": 172, "ioperm": 173, "modify_ldt": 154,
        "uselib": 134, "sysfs": 139, "kcmp": 312,
    },
    "aarch64": {
        "mount": 40, "umount2": 39, "pivot_root": 41, "unshare": 97, "setns": 268, "keyctl": 219, "add_key": 217,
        "request_key": 218, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "kexec_load": 104,
        "kexec_file_load": 294, "init_module": 105, "finit_module": 273, "delete_module": 106, "reboot": 142,
        "swapon": 224, "swapoff": 225, "acct": 89, "quotactl": 60, "settimeofday": 170, "clock_settime": 112,
        "clock_adjtime": 266, "sethostname": 161, "setdomainname": 162, "syslog": 116, "open_by_handle_at": 265,
        "name_to_handle_at": 264, "fanotify_init": 262, "vhangup": 58, "kcmp": 272,
    },
}  # fmt: skip
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_JUDGED = {
    "x86_64": {
        "clone": 56, "ioctl": 16, "socket": 41, "socketpair": 53, "setpriority": 141, "sched_setparam": 142,
        "sched_setscheduler": 144, "sched_setaffinity": 203, "sched_setattr": 314, "prlimit64": 302, "ioprio_set": 251,
    },
    "aarch64": {
        "clone": 220, "ioctl": 29, "socket": 198, "socketpair": 199, "setpriority": 140, "sched_setparam": 118,
        "sched_setscheduler": 119, "sched_setaffinity": 122, "sched_setattr": 274, "prlimit64": 261, "ioprio_set": 30,
    },
}  # fmt: skip
_OF_THE_FIRST_PROCESS = ("sched_setparam", "sched_setscheduler", "sched_setaffinity", "sched_setattr", "prlimit64")
"""Calls whose first argument is a process. The first one, which watches over the others, must not be slowed down."""
_OF_SEVERAL = {"setpriority": 2, "ioprio_set": 3}
"""The same for calls that take a kind and a number, with the kind that means all processes of a user."""
_CLONE3 = 435
_NEW_NAMESPACES = 0x7E020000
_TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: typing for the user
_SOCKET_FAMILIES = (1, 2, 10, 16)  # Unix, IPv4, IPv6, netlink; no namespace keeps, for one, vsock in

_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENT_0, _ARGUMENT_1 = 0, 4, 16, 24
_SET_SECCOMP, _MODE_FILTER = 22, 2

Instruction = tuple[int, int, int, int]


def install() -> None:
    machine = os.uname().machine
    if machine not in _ARCHITECTURES:
        raise StepFailed("architecture", _ENOSYS)
    filter_ = program(machine)
    code = b"".join(
        op.to_bytes(2, "little") + yes.to_bytes(1, "little") + no.to_bytes(1, "little") + value.to_bytes(4, "little")
        for op, yes, no, value in filter_
    )
    buffer = ctypes.create_string_buffer(code, len(code))
    header = len(filter_).to_bytes(8, "little") + ctypes.addressof(buffer).to_bytes(8, "little")
    prctl("seccomp", _SET_SECCOMP, _MODE_FILTER, header)


def program(machine: str) -> list[Instruction]:
    judged = _JUDGED[machine]
    code: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _ERRNO | _ENOSYS),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":  # the x32 twins of every call
        code += _when(_JUMP_AT_LEAST, 0x40000000, _ENOSYS)
    code += _when(_JUMP_EQUAL, _CLONE3, _ENOSYS)  # its flags are out of our sight: the C library goes back to clone
    for number in sorted({**_FORBIDDEN_EVERYWHERE, **_FORBIDDEN[machine]}.values()):
        code += _when(_JUMP_EQUAL, number, _EPERM)
    code += _judge(judged["clone"], _ARGUMENT_0, _when(_JUMP_ANY_BIT, _NEW_NAMESPACES, _EPERM))
    code += _judge(
        judged["ioctl"],
        _ARGUMENT_1,
        [step for request in _TERMINAL_INPUT for step in _when(_JUMP_EQUAL, request, _EPERM)],
    )
    for name in _OF_THE_FIRST_PROCESS:
        code += _judge(judged[name], _ARGUMENT_0, _when(_JUMP_EQUAL, 1, _EPERM))
    for name, all_of_a_user in _OF_SEVERAL.items():
        steps = _when(_JUMP_EQUAL, all_of_a_user, _EPERM)
        steps += [(_LOAD, 0, 0, _ARGUMENT_1), *_when(_JUMP_EQUAL, 1, _EPERM)]
        code += _judge(judged[name], _ARGUMENT_0, steps)
    families: list[Instruction] = [
        (_JUMP_EQUAL, len(_SOCKET_FAMILIES) - at, 0, family) for at, family in enumerate(_SOCKET_FAMILIES)
    ]
    for name in ("socket", "socketpair"):
        code += _judge(judged[name], _ARGUMENT_0, [*families, (_RETURN, 0, 0, _ERRNO | _EAFNOSUPPORT)])
    code.append((_RETURN, 0, 0, _ALLOW))
    return code


def _when(jump: int, operand: int, problem: int) -> list[Instruction]:
    return [(jump, 0, 1, operand), (_RETURN, 0, 0, _ERRNO | problem)]


def _judge(number: int, argument: int, steps: list[Instruction]) -> list[Instruction]:
    """Look at an argument of one call; whatever the steps let pass is allowed."""
    body: list[Instruction] = [(_LOAD, 0, 0, argument), *steps, (_RETURN, 0, 0, _ALLOW)]
    return [(_JUMP_EQUAL, 0, len(body), number), *body]
