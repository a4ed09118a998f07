"""A command on its way: the launcher's process, the control socket, the output.

The command does not outlive us, whatever happens: its first process ends when our end of the control socket is
closed, and the kernel closes that when we are killed. (The signal on a parent's death would not do here: it comes
when the *thread* ends that started the child.)
"""

from __future__ import annotations

import marshal
import os
import select
import socket
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from nebula.files.home import nebula_home
from nebula.sandbox.contract import Command
from nebula.sandbox.disk import LayerFolder
from nebula.sandbox.environment import (
    GIT_SETTINGS,
    activated,
    find_shell,
    git_settings,
    home_folder,
    reduced_environment,
)
from nebula.sandbox.errors import SandboxError, Unavailable
from nebula.sandbox.git_settings import cleaned_git_settings
from nebula.sandbox.launcher import Launcher
from nebula.sandbox.output import KeptOutput
from nebula.sandbox.secrets import private_kernel_files, private_system_files
from nebula.sandbox.tracked.views import RepositoryView

if TYPE_CHECKING:
    from nebula.sandbox.proxy import HostProxy

_SETUP_TIMEOUT_S: Final = 30.0
_CHUNK: Final = 1 << 16

INPUT = "/run/nebula-input"
"""Where a command finds what it reads on its standard input."""


class Launch:
    """Use it as a context: when that is left, nothing of the command runs any more."""

    def __init__(self, command: Command, launcher: Launcher, disk: LayerFolder | None = None) -> None:
        self.command = command
        self._disk = disk
        self.output = KeptOutput(command.limits.output_bytes)
        self.shown: dict[str, bytes] = {}
        self.repositories: tuple[RepositoryView, ...] = ()
        self.masked: tuple[str, ...] = ()
        self.names: Mapping[str, frozenset[str]] = {}
        self.descriptors: list[int] = []
        """Upper side and view of the project; whoever takes them closes them."""
        self.ready_ns = 0
        """When the command began, by the clock of the times that files have."""
        self.proxy: HostProxy | None = None
        self._launcher = launcher
        self._ending: tuple[Any, ...] | None = None

    def __enter__(self) -> Launch:
        return self

    def __exit__(self, *_: object) -> None:
        self._launcher.close()
        if self.proxy is not None:
            self.proxy.close()

    def configure(self, root_fd: int) -> None:
        """Tell the launcher, which has been starting meanwhile, what to build."""
        command, limits = self.command, self.command.limits
        found = command.secrets.find(command.root, command.hidden)
        self.names, self.masked = found.names, found.masked
        self.shown = dict.fromkeys(found.masked, b"") | cleaned_git_settings(root_fd, found.settings)
        self.repositories = command.secrets.repositories.find(command.root, self.shown, found.names)
        project = os.fstat(root_fd)
        as_root = os.geteuid() == 0
        config = {
            "root": command.root,
            "identity": (project.st_dev, project.st_ino),
            "user": (project.st_uid, project.st_gid) if as_root else (os.geteuid(), os.getegid()),
            "home": home_folder(os.environ),
            "shown": self.shown | {path: text for each in self.repositories for path, text in each.shown.items()},
            "hidden": [path for path in command.hidden if os.path.lexists(f"{command.root}/{path}")],
            "covered": self._covered(as_root),
            "read_only": [path for path in self._read_only() if os.path.exists(path)],
            "caches": [path for path in command.caches if os.path.isdir(path)],
            "settings": dict(command.settings),
            "skills": [path for path in command.skills if os.path.isdir(path)],
            "network": command.network,
            "proxy": bool(command.hosts),
            "shell": find_shell(),
            "command": f"exec < {INPUT}\n{command.line}" if command.stdin else command.line,
            "env": self._environment(),
            "disk": (self._disk.path, self._disk.identity) if self._disk is not None else None,
            "files": self._files(),
            "layer_bytes": limits.layer_bytes,
            "memory_bytes": limits.memory_bytes,
            "processes": limits.processes,
        }
        self._launcher.send(marshal.dumps(config))

    def _environment(self) -> dict[str, str]:
        env = reduced_environment(os.environ, network=self.command.network)
        env = activated(env, self.command.root, os.environ)
        if any(self.command.git_user):
            env["GIT_CONFIG_SYSTEM"] = GIT_SETTINGS
        return env | dict(self.command.env)

    def _files(self) -> dict[str, str]:
        """Return the files that are made for the command, by their paths."""
        files = {GIT_SETTINGS: git_settings(*self.command.git_user)} if any(self.command.git_user) else {}
        return files | ({INPUT: self.command.stdin} if self.command.stdin else {})

    def _covered(self, as_root: bool) -> tuple[str, ...]:
        private = (*private_system_files(), *private_kernel_files()) if as_root else ()
        return (*private, *self.command.covered, nebula_home())

    def _read_only(self) -> tuple[str, ...]:
        return self.command.read_only + (_resolver_files() if self.command.network else ())

    def follow(self, on_output: Callable[[bytes], None] | None, stop: int | None) -> tuple[int | None, str | None]:
        """Until the command has ended or was stopped: exit code and limit. `stop` is a descriptor that becomes
        readable."""
        waiting = select.poll()
        for handle in (self._launcher.output, self._launcher.control.fileno(), *(() if stop is None else (stop,))):
            waiting.register(handle, select.POLLIN)
        deadline = time.monotonic() + _SETUP_TIMEOUT_S
        while self._ending is None:
            ready = [handle for handle, _ in waiting.poll(max(0.0, deadline - time.monotonic()) * 1000)]
            if self._launcher.output in ready and not self._read_output(on_output):
                waiting.unregister(self._launcher.output)
            if self._launcher.control.fileno() in ready and self._read_message():
                deadline = time.monotonic() + self.command.limits.timeout_s
            elif stop in ready:
                self._ending = "stopped", "cancelled"
            elif time.monotonic() >= deadline:
                self._ending = "stopped", "time"
        self._launcher.end()
        while self._read_output(on_output):
            pass
        return self._outcome()

    def _read_output(self, on_output: Callable[[bytes], None] | None) -> bool:
        chunk = os.read(self._launcher.output, _CHUNK)
        if chunk:
            self.output.add(chunk)
            if on_output is not None:
                on_output(chunk)
        return bool(chunk)

    def _read_message(self) -> bool:
        """Read a message of the launcher; return True if the command has just begun."""
        packet, descriptors, _, _ = socket.recv_fds(self._launcher.control, 4096, 3, socket.MSG_CMSG_CLOEXEC)
        self.descriptors += descriptors[:2]
        for listener in descriptors[2:]:
            self._open_proxy(listener)
        message: tuple[Any, ...] = marshal.loads(packet) if packet else ("failed", "launcher", 0)  # noqa: S302 - from our own process
        if message[0] == "ready":
            self.ready_ns = message[1]
            return True
        self._ending = message
        return False

    def _open_proxy(self, listener: int) -> None:
        from nebula.sandbox.proxy import HostProxy

        self.proxy = HostProxy(socket.socket(fileno=listener), self.command.hosts)

    def _outcome(self) -> tuple[int | None, str | None]:
        match self._ending:
            case ("exited", status):
                code = os.waitstatus_to_exitcode(status)
                return (128 - code if code < 0 else code), None
            case ("stopped", limit):
                return None, limit
            case ("failed", "launcher", _):
                raise SandboxError("The layer ended before the command: {output}", output=self.output.text()[-500:])
            case ("failed", step, number):
                mounted = _mounted_below(self.command.root) if step == "overlay" else None
                if mounted is not None:
                    raise SandboxError(
                        "A file system is mounted inside the project, at {path}: no layer can be put over both.",
                        path=mounted,
                    )
                raise Unavailable(step, number)
        raise AssertionError(self._ending)


def _mounted_below(root: str) -> str | None:
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        places = [line.split(" ")[4] for line in file]
    return next((place for place in places if place.startswith(f"{root}/")), None)


def _resolver_files() -> tuple[str, ...]:
    """Return the file that says how names are resolved: it is often a link out of `/etc`."""
    real = os.path.realpath("/etc/resolv.conf")
    return () if real.startswith("/etc/") else (real,)
