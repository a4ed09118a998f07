"""New user, mount, PID, IPC, UTS, cgroup and network namespaces, and who we are in them."""

from __future__ import annotations

import os

from nebula.sandbox.inside.kernel import StepFailed, call

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Callable

NEW_USER, NEW_MOUNT, NEW_PID, NEW_NETWORK = 0x10000000, 0x00020000, 0x20000000, 0x40000000
NEW_IPC, NEW_UTS, NEW_CGROUP = 0x08000000, 0x04000000, 0x02000000
_BACKLOG = 128


def enter(*, network: bool) -> None:
    """Enter new namespaces: the caller's next child is the first process of the PID namespace. Users keep their
    numbers."""
    _enter(NEW_USER | NEW_MOUNT | NEW_PID | NEW_IPC | NEW_UTS | NEW_CGROUP | (0 if network else NEW_NETWORK))


def enter_for_mounts() -> None:
    """Enter a user namespace in which the caller, who must have one thread alone, may mount. Users keep their
    numbers."""
    _enter(NEW_USER | NEW_MOUNT)


def leave_shared_mounts() -> None:
    """Give the caller mounts of its own, a copy of those that it has now."""
    call("namespaces", "unshare", NEW_MOUNT)


def _enter(flags: int) -> None:
    uid, gid = os.geteuid(), os.getegid()
    write_maps = _writer_of_all_ids() if uid == 0 else None
    call("namespaces", "unshare", flags)
    if write_maps is not None:
        write_maps()
        return
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{uid} {uid} 1")
    _write("/proc/self/gid_map", f"{gid} {gid} 1")


def _writer_of_all_ids() -> Callable[[], None]:
    """Return what maps every user number to itself, or files of others in the project could not be copied into the
    layer. Such a map must be written from the namespace above: by a child that stays there."""
    extents = {name: _extents(name) for name in ("uid_map", "gid_map")}
    parent = os.getpid()
    wake_read, wake_write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(wake_write)
            if not os.read(wake_read, 1):
                os._exit(1)  # there is no namespace to write for
            for name, extent in extents.items():
                _write(f"/proc/{parent}/{name}", extent)
            status = 0
        except StepFailed as failed:
            status = min(failed.number, 255)
        finally:
            os._exit(status)
    os.close(wake_read)

    def write_maps() -> None:
        os.write(wake_write, b"x")
        os.close(wake_write)
        problem = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if problem:
            raise StepFailed("user map", problem)

    return write_maps


def _extents(name: str) -> str:
    with open(f"/proc/self/{name}", encoding="ascii") as file:
        lines = [line.split() for line in file]
    return "".join(f"{first} {first} {count}\n" for first, _, count in lines)


def _write(path: str, text: str) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(handle, text.encode())
        finally:
            os.close(handle)
    except OSError as error:
        raise StepFailed("user map", error.errno or 1) from error


def listen_on_loopback() -> _socket.socket:
    """Return a socket for a proxy: whoever holds it, wherever they are, answers what connects to it in here."""
    import _socket

    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", 0))
    listener.listen(_BACKLOG)
    return listener


def raise_loopback() -> None:
    """Turn the loopback interface on: test suites connect to servers of their own."""
    import _socket
    import fcntl

    set_flags, up = 0x8914, 0x1
    with_name = b"lo".ljust(16, b"\0") + up.to_bytes(2, "little") + bytes(22)
    handle = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    try:
        fcntl.ioctl(handle.fileno(), set_flags, with_name)
    except OSError as error:
        raise StepFailed("loopback", error.errno or 1) from error
    finally:
        handle.close()
