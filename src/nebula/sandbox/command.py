"""Run a command in a layer. A plain, blocking function: call it in a thread, and hand in a `Stop` to end it early."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from nebula.sandbox.contract import Command, CommandResult
from nebula.sandbox.disk import make_layer_folder
from nebula.sandbox.errors import LeftTooMuch, SandboxError
from nebula.sandbox.launch import Launch
from nebula.sandbox.launcher import Launcher, Launchers
from nebula.sandbox.layer import Layer
from nebula.value import replace


class Stop:
    """Ends a running command, from any thread."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def set(self) -> None:
        os.write(self._write, b"x")

    def fileno(self) -> int:
        return self._read

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)


def run(
    command: Command,
    *,
    on_output: Callable[[bytes], None] | None = None,
    stop: Stop | None = None,
    launchers: Launchers | None = None,
    read_back: bool = True,
) -> CommandResult:
    """Run a command to its end. Without `read_back` the layer is thrown away at once. Raises SandboxError when the
    command cannot be run."""
    command = replace(command, root=os.path.realpath(command.root))  # a link may lead nowhere in there
    if command.root == "/":
        raise SandboxError("{path} cannot be a project with a layer over it.", path=command.root)
    try:
        layer = Layer(os.open(command.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except OSError as error:
        raise SandboxError("{path} cannot be opened: {reason}", path=command.root, reason=error.strerror) from None
    try:
        started = time.monotonic()
        if command.disk is not None:
            layer.folder = make_layer_folder(command.disk, command.root)
        with Launch(command, Launcher() if launchers is None else launchers.take(), layer.folder) as launch:
            layer.descriptors = launch.descriptors
            launch.configure(layer.lower)
            exit_code, stopped = launch.follow(on_output, None if stop is None else stop.fileno())
        if launchers is not None:
            launchers.prepare()
        refused = tuple(launch.proxy.refused) if launch.proxy is not None else ()
        result = CommandResult(
            exit_code,
            stopped,
            launch.output.text(),
            time.monotonic() - started,
            refused_hosts=refused,
            read_empty=() if exit_code == 0 else layer.read_since(launch.masked),
        )
        if stopped or not read_back:
            layer.close()
            return result
        from nebula.sandbox.changes.reader import read_changes  # a check, or a trial of the layer, does without

        changes = read_changes(
            layer,
            masks=launch.shown,
            names=launch.names,
            hidden=command.hidden,
            started_ns=launch.ready_ns,
            limit=command.limits.layer_bytes,
            repositories=launch.repositories,
            is_secret=command.secrets.is_secret,
        )
    except LeftTooMuch:
        layer.close()
        return replace(result, exit_code=None, stopped="layer")
    except BaseException:
        layer.close()
        raise
    return replace(result, changes=changes, layer=layer)
