"""Three processes. The launcher makes the namespaces and waits. Its child is the first process in them: it builds the
root, raises the walls, starts the command and watches over it. When that first process ends, for whatever reason, the
kernel ends every other one in the namespace. It ends when the command does, when a limit is passed, and when nebula
closes its end of the control socket, which a killed nebula does, too.

Messages to nebula, one packet each: ("ready", clock) with two or three descriptors, then ("exited", status) or
("stopped", limit); or ("failed", step, error number) instead.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` and `array` would import half the library
import _socket
import marshal
import os
import select
import sys
import time

from nebula.sandbox.inside import limits, namespaces, root, seccomp, walls
from nebula.sandbox.inside.kernel import StepFailed, prctl
from nebula.sandbox.inside.socket_memory import SocketMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nebula.sandbox.inside.space import DiskSpace, MemorySpace

    Space = MemorySpace | DiskSpace

_PARENT_DEATH_SIGNAL = 1
_TICK_MS = 50
_COARSE_CLOCK = 5
"""CLOCK_REALTIME_COARSE: the clock of the times that files have."""


def main(control_number: int) -> None:
    os.setsid()
    os.set_inheritable(control_number, False)
    control = _socket.socket(fileno=control_number)
    with open(0, "rb", closefd=False) as stdin:
        text = stdin.read()
    if not text:  # not needed any more
        return
    config = marshal.loads(text)  # noqa: S302 - written by nebula, of this very interpreter
    try:
        limits.die_first()
        namespaces.enter(network=config["network"])
    except StepFailed as failed:
        _send(control, ("failed", failed.step, failed.number))
        return
    first = os.fork()
    if first == 0:
        _be_first(control, config)
    control.close()
    for output in (0, 1, 2):
        os.close(output)
    os.waitpid(first, 0)  # it returns when everything in the namespace has ended
    os._exit(0)


def _be_first(control: _socket.socket, config: dict[str, Any]) -> None:
    try:
        prctl("parent", _PARENT_DEATH_SIGNAL, _signal.SIGKILL)
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # a first process is deaf to what it does not handle
        handed_out, space = _build(config)
        _send(control, ("ready", time.clock_gettime_ns(_COARSE_CLOCK)), handed_out)
        for each in handed_out[2:]:
            os.close(each)  # the proxy outside has it now
        if not _is_gone(control):
            _send(control, _watch(control, config, space))
    except StepFailed as failed:
        _send(control, ("failed", failed.step, failed.number))
    except OSError as error:
        _send(control, ("failed", f"{error.filename or 'layer'}", error.errno or 1))
    except BaseException:  # noqa: BLE001 - this process must end here; what went wrong is part of the output
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(0)


def _build(config: dict[str, Any]) -> tuple[list[int], Space]:
    """Return the descriptors that nebula gets: upper side, view of the project, and the socket for a proxy if there is
    one. And what says whether the layer is full."""
    limits.limit_pids(config["processes"])
    listener = []
    if not config["network"]:
        namespaces.raise_loopback()
        if config["proxy"]:
            listener = [_listen_for_proxy(config["env"])]
    upper, view, space = root.build(config)
    walls.drop_capabilities(config["user"])
    seccomp.install()
    return [upper, view, *listener], space


def _listen_for_proxy(env: dict[str, str]) -> int:
    listener = namespaces.listen_on_loopback()
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        env[name] = env[name.upper()] = address
    env["no_proxy"] = env["NO_PROXY"] = "localhost,127.0.0.1,::1"
    return listener.detach()


def _watch(control: _socket.socket, config: dict[str, Any], space: Space) -> tuple[str, int | str]:
    in_sockets = int if config["network"] else SocketMemory().held  # those of the machine are not the command's
    watch = limits.ResourceWatch(config["memory_bytes"], config["processes"], space.memory_used, in_sockets)
    command = os.fork()
    if command == 0:
        _become_command(control, config)
    ended = select.poll()
    ended.register(os.pidfd_open(command), select.POLLIN)
    ended.register(control.fileno(), select.POLLIN)
    while True:
        for handle, _ in ended.poll(_TICK_MS):
            if handle == control.fileno():
                os._exit(0)  # nebula is gone, or wants no more of it
        passed = watch.exceeded()
        status = _reap(command)
        if passed or space.is_full(at_the_end=status is not None):
            return "stopped", passed or "layer"
        if status is not None:
            return "exited", status


def _reap(command: int) -> int | None:
    """Return the command's status once it has ended; orphans are taken care of on the way."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == command:
            return status
        if pid == 0:
            return None


def _become_command(control: _socket.socket, config: dict[str, Any]) -> None:
    try:
        os.setsid()
        # not the first process, which has to see all of the upper side
        walls.restrict_writes([config["root"], config["home"], "/tmp", "/dev"])  # noqa: S108 - the private one
        for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
            _signal.signal(number, _signal.SIG_DFL)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        limits.set_limits(config["processes"], config["layer_bytes"])
        os.execve(config["shell"], [config["shell"], "-c", config["command"]], config["env"])  # noqa: S606
    except StepFailed as failed:
        _send(control, ("failed", failed.step, failed.number))
    except (OSError, ValueError) as error:  # too long, or with a NUL in it
        os.write(2, f"The command cannot be started: {error}\n".encode())
    finally:
        os._exit(127)


def _is_gone(control: _socket.socket) -> bool:
    waiting = select.poll()
    waiting.register(control.fileno(), select.POLLIN)
    return bool(waiting.poll(0))


def _send(control: _socket.socket, message: tuple[Any, ...], descriptors: list[int] | None = None) -> None:
    rights = b"".join(each.to_bytes(4, sys.byteorder) for each in descriptors or ())
    extra = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)] if rights else []
    try:
        control.sendmsg([marshal.dumps(message)], extra, _socket.MSG_NOSIGNAL)
    except OSError:
        os._exit(0)  # nobody is there to hear it
