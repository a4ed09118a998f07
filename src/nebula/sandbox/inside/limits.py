"""Limits that hold without cgroups, which an ordinary user seldom has.

The kernel keeps the size of one file and, for most users, the number of processes. The layer's size (`space`) and
memory are watched: a limit on address space would stop every program that reserves more than it uses (Node, Java,
address sanitizers).
"""

from __future__ import annotations

import os
import resource
import time
from itertools import takewhile

_PAGE = os.sysconf("SC_PAGE_SIZE")
_FEWEST_PIDS = 301
_OWN_PROCESSES = 16
_THREADS_EACH = 8
"""To the kernel a thread counts as a process. A test suite of a server easily has a thousand, and if it gets no more it
is not ended: it fails in odd places, or waits for ever. So the kernel's bound is wider than what is counted."""
_NAMESPACED_PID_MAX = (6, 14)
_LEAST_SHARED = 1 << 30
_PATIENCE_S = 2.0
"""How long the machine may have too much shared memory that is not found among the command's own."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def set_limits(processes: int, layer_bytes: int) -> None:
    _set_limit(resource.RLIMIT_CORE, 0)
    _set_limit(resource.RLIMIT_FSIZE, layer_bytes)
    _set_limit(resource.RLIMIT_NPROC, processes * _THREADS_EACH + _OWN_PROCESSES)


def _set_limit(which: int, wanted: int) -> None:
    hard = resource.getrlimit(which)[1]
    lowest = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(which, (lowest, lowest))


def limit_pids(processes: int) -> None:
    """Limit the process numbers of the namespace: RLIMIT_NPROC means nothing to root."""
    if not has_own_pid_max():
        return
    try:
        with open("/proc/sys/kernel/pid_max", "w", encoding="ascii") as file:
            file.write(str(max(_FEWEST_PIDS, processes * _THREADS_EACH + _OWN_PROCESSES)))
    except OSError:
        return  # RLIMIT_NPROC and the watch remain


def has_own_pid_max(release: str = "") -> bool:
    """Older kernels have one for the whole machine, which is not ours to change: there the watch alone counts. To try
    it out would be to change it, so the version has to do here."""
    parts = (release or os.uname().release).split(".")[:2]
    return tuple(int("0" + "".join(takewhile(str.isdecimal, part))) for part in parts) >= _NAMESPACED_PID_MAX


def die_first() -> None:
    """If the machine runs out of memory all the same, this is what the kernel ends, and the layer with it."""
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")


class ResourceWatch:
    """Counts processes and their memory, what waits in their sockets, and what memory belongs to none of them.

    Shared memory (segments, memfds, pages mapped by several) is seen as what the machine has more of it than at the
    start, but for the layer itself. That of other programs, of another layer too, is in that figure. So it ends the
    command at once where as much is found among the command's own, and otherwise only if it stays: whoever took it has
    been ended by then, unless it is this command, and hid it (a memfd in a message that nobody receives).
    """

    def __init__(
        self, memory_bytes: int, processes: int, layer_used: Callable[[], int], in_sockets: Callable[[], int]
    ) -> None:
        self._memory_bytes = memory_bytes
        self._shared_bytes = max(memory_bytes, _LEAST_SHARED)
        self._processes = processes
        self._layer_used = layer_used
        self._in_sockets = in_sockets
        self._shared_at_start = _meminfo()["Shmem"] - layer_used()
        self._much_since: float | None = None

    def exceeded(self) -> str | None:
        """Return the limit that has been passed: "memory" or "processes"."""
        pids = [name for name in os.listdir("/proc") if name.isdigit()]
        if len(pids) > self._processes + 1:
            return "processes"
        if sum(map(_private_bytes, pids)) + self._in_sockets() > self._memory_bytes:
            return "memory"
        figures = _meminfo()
        shared = figures["Shmem"] - self._layer_used() - self._shared_at_start
        if figures["MemAvailable"] < figures["MemTotal"] // 32 or self._takes_too_much(shared, pids):
            return "memory"
        return None

    def _takes_too_much(self, shared: int, pids: list[str]) -> bool:
        if shared <= self._shared_bytes:
            self._much_since = None
            return False
        now = time.monotonic()
        self._much_since = self._much_since or now
        return _own_shared_bytes(pids) > self._shared_bytes or now - self._much_since > _PATIENCE_S


def _own_shared_bytes(pids: list[str]) -> int:
    """Return at least what is found of the shared memory of these processes; what is mapped may count twice."""
    return _segment_bytes() + _memfd_bytes(pids) + max(map(_mapped_shared_bytes, pids), default=0)


def _segment_bytes() -> int:
    with open("/proc/sysvipc/shm", encoding="ascii") as file:
        columns = file.readline().split()
        return sum(int(line.split()[columns.index("rss")]) for line in file)


def _memfd_bytes(pids: list[str]) -> int:
    sizes: dict[int, int] = {}
    for pid in pids:
        try:
            for name in os.listdir(f"/proc/{pid}/fd"):
                if os.readlink(f"/proc/{pid}/fd/{name}").startswith("/memfd:"):
                    found = os.stat(f"/proc/{pid}/fd/{name}")
                    sizes[found.st_ino] = found.st_blocks * 512
        except OSError:  # it has ended, or lets nobody look
            continue
    return sum(sizes.values())


def _mapped_shared_bytes(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith("RssShmem:")), 0)
    except OSError:  # it has ended
        return 0


def _private_bytes(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            _, resident, shared, *_ = file.read().split()
    except (OSError, ValueError):  # it has ended
        return 0
    return (int(resident) - int(shared)) * _PAGE


def _meminfo() -> dict[str, int]:
    """Return the memory of the whole machine, in bytes, as far as it is needed."""
    figures = {}
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            name, _, amount = line.partition(":")
            figures[name] = int(amount.split()[0]) * 1024
            if name == "Shmem":
                break
    return figures
