"""A Python with what CPython on macOS lacks taken away; on PYTHONPATH it is part of every process that is started.

Calls that only Linux has are gone from the modules and from the C library, nothing below `/proc` and `/sys` can be
opened, and the platform calls itself `darwin`. What only macOS has is there under its name and with its numbers:
`renameatx_np`, F_GETPATH, and F_FULLFSYNC, which adds a line to the file that NEBULA_TEST_SYNCS names.
"""

import _posixsubprocess
import builtins
import ctypes
import fcntl
import os
import resource
import select
import signal
import socket
import sys
import sysconfig
import time
import types

MISSING = {
    os: """fdatasync sched_getaffinity sched_setaffinity sched_setscheduler posix_fadvise posix_fallocate memfd_create
        pidfd_open copy_file_range getrandom pipe2 dup3 eventfd eventfd_read eventfd_write setns unshare splice
        getxattr setxattr listxattr removexattr getresuid setresuid getresgid setresgid timerfd_create P_PIDFD
        O_PATH O_TMPFILE O_NOATIME O_DIRECT O_RSYNC O_LARGEFILE CLONE_NEWNS CLONE_NEWUSER""",
    select: "epoll",
    resource: "prlimit RLIMIT_RTPRIO RLIMIT_SIGPENDING RLIMIT_MSGQUEUE RLIMIT_NICE",
    signal: "pidfd_send_signal sigtimedwait sigwaitinfo SIGRTMIN SIGRTMAX SIGPWR SIGSTKFLT SIGPOLL",
    socket: "SOCK_CLOEXEC SOCK_NONBLOCK MSG_CMSG_CLOEXEC SO_PEERCRED AF_NETLINK AF_VSOCK",
    time: "CLOCK_BOOTTIME CLOCK_TAI",
    fcntl: "F_SETLEASE F_GETLEASE F_NOTIFY F_SETSIG F_GETSIG F_ADD_SEALS F_GET_SEALS F_OFD_SETLK F_SETPIPE_SZ",
}
MISSING_FUNCTIONS = {"renameat2", "prctl", "unshare", "setns", "mount", "umount2", "pivot_root", "pidfd_open", "statx"}
for module, names in MISSING.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)

real_open, real_os_open, real_sendfile, real_fcntl = builtins.open, os.open, os.sendfile, fcntl.fcntl
real_exists, real_function = os.path.exists, ctypes.CDLL.__getattr__


def is_linux_only(path):  # type: ignore[no-untyped-def]
    return isinstance(path, str | bytes) and os.fsdecode(path).startswith(("/proc/", "/sys/"))


def refuse(path):  # type: ignore[no-untyped-def]
    if is_linux_only(path):
        raise FileNotFoundError(2, "No such file or directory", path)


def open_elsewhere(file, *args, **kwargs):  # type: ignore[no-untyped-def]
    refuse(file)
    return real_open(file, *args, **kwargs)


def os_open_elsewhere(path, *args, **kwargs):  # type: ignore[no-untyped-def]
    refuse(path)
    return real_os_open(path, *args, **kwargs)


def exists_elsewhere(path):  # type: ignore[no-untyped-def]
    return not is_linux_only(path) and real_exists(path)


def sendfile_elsewhere(out_fd, in_fd, offset, count, *args, **kwargs):  # type: ignore[no-untyped-def]
    if not isinstance(offset, int):
        raise TypeError("an integer is required")
    return real_sendfile(out_fd, in_fd, offset, count)


def fcntl_elsewhere(handle, request, argument=0):  # type: ignore[no-untyped-def]
    if request == fcntl.F_FULLFSYNC:
        if "NEBULA_TEST_SYNCS" in os.environ:
            with real_open(os.environ["NEBULA_TEST_SYNCS"], "a", encoding="utf-8") as file:
                file.write(os.readlink(f"/proc/self/fd/{handle}") + "\n")
        return os.fsync(handle)
    if request == fcntl.F_GETPATH:
        return os.fsencode(os.readlink(f"/proc/self/fd/{handle}")).ljust(len(argument), b"\0")
    return real_fcntl(handle, request, argument)


def function_elsewhere(library, name):  # type: ignore[no-untyped-def]
    if name in MISSING_FUNCTIONS:
        raise AttributeError(f"dlsym(RTLD_DEFAULT, {name}): symbol not found")
    return real_function(library, "renameat2" if name == "renameatx_np" else name)


def fork_exec_elsewhere(args, *more):  # type: ignore[no-untyped-def]
    """Nebula starts programs of its own as `python -I … -c CODE`, which would not read this file."""
    words = list(map(os.fsencode, args))
    if words[1:2] == [b"-I"] and b"-c" in words:
        code = words.index(b"-c") + 1
        words[code] = f"exec(open({__file__!r}).read(), {{'__file__': {__file__!r}}}); ".encode() + words[code]
    return real_fork_exec(words, *more)


real_fork_exec, _posixsubprocess.fork_exec = _posixsubprocess.fork_exec, fork_exec_elsewhere
fcntl.F_FULLFSYNC, fcntl.F_GETPATH = 51, 50
builtins.open, os.open, os.path.exists, os.sendfile = (
    open_elsewhere,
    os_open_elsewhere,
    exists_elsewhere,
    sendfile_elsewhere,
)
fcntl.fcntl, ctypes.CDLL.__getattr__ = fcntl_elsewhere, function_elsewhere
sysconfig.get_config_vars()  # read now: it lies in a file that is named by the platform
sys.platform = "darwin"
proxies = types.ModuleType("_scproxy")  # what urllib asks there for the system's proxies
proxies._get_proxy_settings = proxies._get_proxies = dict
sys.modules["_scproxy"] = proxies
