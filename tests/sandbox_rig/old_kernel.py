"""What an older kernel lacks, taken from this one for a process and all that it starts: every system call since Linux 5.12
is unknown (mount_setattr, Landlock, fchmodat2 and so on)."""

import ctypes
import os

FIRST_UNKNOWN = 442
UNAME26 = 0x0020000
NO_NEW_PRIVS, SET_SECCOMP, FILTER = 38, 22, 2


def become_old() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    steps = [(0x20, 0, 0, 0), (0x35, 0, 1, FIRST_UNKNOWN), (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7FFF0000)]
    code = b"".join(
        op.to_bytes(2, "little") + bytes([yes, no]) + operand.to_bytes(4, "little") for op, yes, no, operand in steps
    )
    buffer = ctypes.create_string_buffer(code, len(code))
    header = len(steps).to_bytes(8, "little") + ctypes.addressof(buffer).to_bytes(8, "little")
    libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(SET_SECCOMP, FILTER, header, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no filter could be set")


def say_old_release() -> None:
    """Not where hostile commands run: without process numbers of its own, a fork bomb of root's would stop everything
    else on the machine that runs the tests."""
    ctypes.CDLL(None).personality(UNAME26)
    assert os.uname().release.startswith("2.6.")
