"""The process that makes the copies of one project and forks a child for each piece of work in one.

It has one thread and loads all modules that the work needs before it forks, so work begins in milliseconds. It ends,
with all work, when the socket that its orders come through is closed, which also happens when nebula is killed.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Final

from nebula.agent.places.wire import HeldStill, PlaceFailed, PlaceOrder, hang_up, receive_now, send
from nebula.files.beneath import FOLDER_FLAGS
from nebula.files.descriptors import closed_after
from nebula.files.home import derived_folder, make_private
from nebula.files.system.machine import end_with_parent
from nebula.sandbox.errors import SandboxError
from nebula.sandbox.git_settings import settings_of_copies
from nebula.sandbox.remembered import AVAILABLE, recall
from nebula.sandbox.tries.places import Copies, Overlays, Places, TryPlace
from nebula.tools.commands.layers import CommandLayers
from nebula.tools.permissions import Permissions

_TICK_MS: Final = 200

Work = Callable[[TryPlace, socket.socket], None]
"""Works in a copy and reports over the socket; it ends the work when the other side closes the socket."""


def main() -> None:
    """Read an order from the socket whose descriptor is the second argument, then do the work of each socket that
    follows. The module named by the third argument is loaded before the order arrives."""
    control = socket.socket(fileno=int(sys.argv[2]))
    import_module(sys.argv[3])
    try:
        order: PlaceOrder = receive_now(control)
    except EOFError:  # nebula ended before it had sent anything
        return
    for name in order.modules:
        import_module(name)
    root = os.path.realpath(order.settings.root)
    places, problem = None, ""
    signal.signal(signal.SIGTERM, _end)
    try:
        places = _make_places(root, order)
    except SandboxError as failed:
        problem = str(failed)
    except OSError as failed:
        problem = f"{failed.filename or root}: {failed.strerror}"
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # from now on it notices that the socket is closed
    gc.freeze()  # what is loaded here is shared with every child
    if places is None:
        _refuse(control, problem)
    else:
        _Host(control, places).serve()


def _end(*_: object) -> None:
    """End the process while it copies: what is there of the copy is removed."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit()


def _refuse(control: socket.socket, problem: str) -> None:
    while line := _next_line(control):
        send(line, PlaceFailed(problem))
        hang_up(line)


def _make_places(root: str, order: PlaceOrder) -> Places:
    settings = order.settings
    layers = CommandLayers(settings, permissions=Permissions(set(order.allow)))
    found = layers.secret_finder.find(root, order.hidden)
    with closed_after(os.open(root, FOLDER_FLAGS)) as project:
        os.chdir(project)
        shown = dict.fromkeys(found.masked, b"") | settings_of_copies(project, found.settings)
        for repository in layers.secret_finder.repositories.find(root, found.masked, found.names):
            shown |= repository.shown
        known = recall(settings.home)
        if layers.available and (known is None or known[0] == AVAILABLE):
            covered = _derived_from_projects(settings.home) if order.own_records else ""
            graph_at = _folder_for_graph(root, settings.home) if order.shows_graph else ""
            return Overlays(root, shown, project, order.hidden, covered, graph_at)
        return Copies(root, shown, project, settings.home, order.hidden)


def _derived_from_projects(home: str) -> str:
    """Return the folder for everything derived from projects; empty where the home cannot be written, since each
    process then has a folder of its own."""
    folder = os.path.join(os.path.realpath(home), "projects")
    try:
        make_private(folder)
    except OSError:
        return ""
    return folder


def _folder_for_graph(root: str, home: str) -> str:
    folder = os.path.join(derived_folder(root, home), "graph")
    make_private(folder)
    return folder


def _next_line(control: socket.socket) -> socket.socket | None:
    """Return the socket of the next work; None where no more will come."""
    _, handles, _, _ = socket.recv_fds(control, 1, 1)
    return socket.socket(fileno=handles[0]) if handles else None


class _Host:
    def __init__(self, control: socket.socket, places: Places) -> None:
        self._control = control
        self._places = places
        self._running: dict[int, int] = {}
        """The number of the copy, by process id."""
        self._count = 0

    def serve(self) -> None:
        """Fork for each socket until no more come; then end what is still running."""
        waiting = select.poll()
        waiting.register(self._control, select.POLLIN)
        while True:
            if waiting.poll(_TICK_MS if self._running else None):
                line = _next_line(self._control)
                if line is None:
                    break
                self._begin(line)
            self._clear(os.WNOHANG)
        for child in self._running:
            os.kill(child, signal.SIGKILL)
        self._clear(0)
        self._places.close()

    def _begin(self, line: socket.socket) -> None:
        self._count += 1
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self._control.close()
            _work(self._places, self._count, line)
        self._running[child] = self._count
        line.close()

    def _clear(self, how: int) -> None:
        """Remove the copies of children that have ended."""
        while self._running:
            child, _ = os.waitpid(-1, how)
            if not child:
                return
            self._places.remove(self._running.pop(child))


def _work(places: Places, number: int, line: socket.socket) -> None:
    """Work in a copy, in this process, as the socket says; then end the process."""
    try:
        end_with_parent()
        os.setpgid(0, 0)  # a Ctrl-C in the terminal is for nebula to handle
        place = places.enter(number)
        send(line, HeldStill(places.held_still, place.whole))
        work: Work = receive_now(line)
        work(place, line)
    except BaseException as problem:  # noqa: BLE001 - this process ends here, and whoever began it is told why
        with suppress(OSError):  # the other side has gone
            send(line, PlaceFailed(f"{type(problem).__name__}: {problem}"))
    finally:
        hang_up(line)
        os._exit(0)
