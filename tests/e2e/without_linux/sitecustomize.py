"""A Python with what CPython on macOS lacks taken away; on PYTHONPATH it is part of every process that is started.

Calls that only Linux has are gone from `os`, `select` and `resource`, nothing below `/proc` and `/sys` can be opened,
and the platform calls itself `darwin`.
"""

import builtins
import os
import resource
import select
import sys
import types

MISSING = {
    os: """fdatasync sched_getaffinity sched_setaffinity posix_fadvise posix_fallocate memfd_create pidfd_open
        copy_file_range getrandom pipe2 dup3 eventfd setns unshare splice getxattr setxattr listxattr removexattr
        getresuid setresuid O_PATH O_TMPFILE O_NOATIME O_DIRECT""",
    select: "epoll",
    resource: "prlimit",
}
for module, names in MISSING.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)

real_open, real_os_open = builtins.open, os.open


def refuse(path: object) -> None:
    if isinstance(path, str | bytes) and os.fsdecode(path).startswith(("/proc/", "/sys/")):
        raise FileNotFoundError(2, "No such file or directory", path)


def open_elsewhere(file, *args, **kwargs):  # type: ignore[no-untyped-def]
    refuse(file)
    return real_open(file, *args, **kwargs)


def os_open_elsewhere(path, *args, **kwargs):  # type: ignore[no-untyped-def]
    refuse(path)
    return real_os_open(path, *args, **kwargs)


builtins.open, os.open = open_elsewhere, os_open_elsewhere
sys.platform = "darwin"
proxies = types.ModuleType("_scproxy")  # what urllib asks there for the system's proxies
proxies._get_proxy_settings = proxies._get_proxies = dict
sys.modules["_scproxy"] = proxies
