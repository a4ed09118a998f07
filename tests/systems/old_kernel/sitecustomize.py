"""A kernel of 2018, made by a filter of system calls; on PYTHONPATH it is part of every process that is started.

The calls that came later do not exist (openat2, clone3, pidfd_open, Landlock, the new mounts), two names cannot be
exchanged, and nobody may make a namespace. Children inherit the filter, also those that are no Python.
"""

import ctypes
import errno
import os
import struct

NUMBERS = {
    "x86_64": {"clone": 56, "unshare": 272, "setns": 308, "renameat2": 316},
    "aarch64": {"clone": 220, "unshare": 97, "setns": 268, "renameat2": 276},
}[os.uname().machine]
LATER = [*range(424, 452)]  # one table for every machine since 5.1: pidfd_send_signal up to memory protection
EXCHANGE, NEW_NAMESPACES = 2, 0x7E020000
LOAD, EQUAL, ANY_BIT, AT_LEAST, RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
FIRST_ARGUMENT, FIFTH_ARGUMENT = 16, 48


def refuse(number):  # type: ignore[no-untyped-def]
    return (RETURN, 0, 0, REFUSE | number)


program = [
    (LOAD, 0, 0, 0),
    (AT_LEAST, 0, 2, LATER[0]),
    (AT_LEAST, 1, 0, LATER[-1] + 1),
    refuse(errno.ENOSYS),
    (EQUAL, 1, 0, NUMBERS["unshare"]),
    (EQUAL, 0, 1, NUMBERS["setns"]),
    refuse(errno.EPERM),
    (EQUAL, 0, 3, NUMBERS["renameat2"]),
    (LOAD, 0, 0, FIFTH_ARGUMENT),
    (ANY_BIT, 0, 4, EXCHANGE),
    refuse(errno.EINVAL),
    (EQUAL, 0, 2, NUMBERS["clone"]),
    (LOAD, 0, 0, FIRST_ARGUMENT),
    (ANY_BIT, 1, 0, NEW_NAMESPACES),
    (RETURN, 0, 0, ALLOW),
    refuse(errno.EPERM),
]
code = b"".join(struct.pack("HBBI", *line) for line in program)
buffer = ctypes.create_string_buffer(code, len(code))
header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(buffer))
libc = ctypes.CDLL(None, use_errno=True)
SET_NO_NEW_PRIVILEGES, SET_SECCOMP, WITH_FILTER = 38, 22, 2
if libc.prctl(SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(SET_SECCOMP, WITH_FILTER, header, 0, 0):
    raise OSError(ctypes.get_errno(), "the filter of an old kernel cannot be put in place")
