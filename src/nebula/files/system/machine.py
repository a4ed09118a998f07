"""What this machine has to offer, asked in the way that its system answers.

A call that not every system has is chosen by whether it is there, never by the system's name; what is promised where
it is missing stands with each function, and in docs/systems.md.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux
_PATH_LENGTH = 1024  # MAXPATHLEN of macOS, which F_GETPATH fills
_LOOK_AGAIN_S = 1.0
_AT_ONCE = 1 << 24


def usable_cores() -> int:
    """Return how many cores this process may use: Linux tells, elsewhere all of them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_memory() -> int:
    """Return the bytes that can be had without pushing anything out; half of all where the system does not tell."""
    with suppress(OSError), open("/proc/meminfo", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def memory_of(process_id: int) -> int:
    """Return the bytes of memory that a process holds; 0 where the system does not tell."""
    with suppress(OSError, ValueError, IndexError), open(f"/proc/{process_id}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def limit_memory(process_id: int, most: int) -> None:
    """Let a process have at most so many bytes of data, where the system can limit another one."""
    import resource

    if hasattr(resource, "prlimit"):
        with suppress(ProcessLookupError):  # it has ended already
            resource.prlimit(process_id, resource.RLIMIT_DATA, (most, most))


def path_of(handle: int, path: str) -> str:
    """Return a path that leads to the very directory that was opened, even if another stands at `path` by now: its
    entry in `/proc`, or on macOS what F_GETPATH answers. Where there is neither, `path` itself."""
    import fcntl

    entry = f"/proc/self/fd/{handle}"
    if os.path.exists(entry):
        return entry
    ask = getattr(fcntl, "F_GETPATH", None)
    return path if ask is None else os.fsdecode(fcntl.fcntl(handle, ask, bytes(_PATH_LENGTH)).rstrip(b"\0"))


def copy_bytes(source: int, target: int, most: int = sys.maxsize) -> None:
    """Copy what is left of a file, or the next `most` bytes, to another one: inside the kernel, where it can do that
    between two files."""
    try:
        while sent := os.sendfile(target, source, None, min(_AT_ONCE, most)):  # type: ignore[arg-type,unused-ignore]
            most -= sent
    except TypeError:  # that of macOS sends to sockets alone, and wants an offset
        while data := os.read(source, min(_AT_ONCE, most)):
            most -= len(data)
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(target, rest) :]


def end_with_parent() -> None:
    """Have this process killed when the one that started it dies: by the kernel, or by a thread that looks for it."""
    import ctypes
    import signal
    import threading

    parent = os.getppid()
    call = getattr(ctypes.CDLL(None), "prctl", None)
    if call is not None and call(_DEATH_SIGNAL, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0) == 0:
        return

    def watch() -> None:
        while os.getppid() == parent:
            threading.Event().wait(_LOOK_AGAIN_S)
        os._exit(1)

    threading.Thread(target=watch, name="end with parent", daemon=True).start()
