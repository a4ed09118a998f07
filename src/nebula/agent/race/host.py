"""The process that makes the places of a race and forks into its tries.

It has one thread, and has loaded whatever a try needs before it forks: so a try begins in milliseconds. It ends when
its standard input is closed, as it is when nebula is killed, and every try ends with it.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import socket
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Final

from nebula.agent.race.attempt import run_attempt
from nebula.agent.race.wire import HeldStill, RaceOrder, TryFailed, send
from nebula.config import Settings, load_settings
from nebula.files.beneath import FOLDER_FLAGS
from nebula.files.system.machine import end_with_parent
from nebula.llm.catalog import is_configured
from nebula.providers import PROVIDERS
from nebula.sandbox.errors import SandboxError
from nebula.sandbox.git_settings import settings_of_copies
from nebula.sandbox.remembered import AVAILABLE, recall
from nebula.sandbox.tries.places import HIDDEN, Copies, Overlays, Places
from nebula.tools.commands.layers import CommandLayers
from nebula.value import replace

_TICK_MS: Final = 200
_USED_BY_TRIES: Final = (
    "concurrent.futures.thread",
    "nebula.llm.context_limit",
    "nebula.llm.dialect.where_needed",
    "nebula.sandbox.toolchains",
    "nebula.tools.commands.backstage",
    "nebula.tools.commands.change_set",
    "nebula.workspace.writing.change_sets",
)
"""Modules that are loaded on first use elsewhere; here the first use would come once in every try."""


def main() -> None:
    """Carry out the order that stands on the standard input; the arguments are the sockets of the tries."""
    lines = [socket.socket(fileno=int(number)) for number in sys.argv[2].split(",")]
    order: RaceOrder = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by nebula itself
    root = os.path.realpath(order.root)
    settings = [
        load_settings(root, overrides=dict(order.overrides) | ({"model": model} if model else {}))
        for model in order.models
    ]
    load_ahead(settings)
    try:
        places, copies = _make_places(root, settings[0], order)
    except (SandboxError, OSError) as problem:
        for line in lines:
            send(line, TryFailed(str(problem)))
        return
    for line in lines:
        send(line, HeldStill(places.held_still, copies))
    running = {}
    for number, line in enumerate(lines, 1):
        child = os.fork()
        if child == 0:
            _be_try(number, lines, places, settings[number - 1], order)
        running[child] = line
    for line in lines:
        line.close()
    _wait(set(running))
    places.close()


def load_ahead(settings: Iterable[Settings]) -> None:
    """Load what every try is going to use, once for all of them; also the connectors that these settings configure."""
    rows = [row for row in PROVIDERS.values() if any(is_configured(row, each) for each in settings)]
    for name in (*_USED_BY_TRIES, *(row.connector.partition(":")[0] for row in rows)):
        import_module(name)


def _make_places(root: str, settings: Settings, order: RaceOrder) -> tuple[Places, bool]:
    layers = CommandLayers(settings, order.allow)
    found = layers.secret_finder.find(root, HIDDEN)
    project = os.open(root, FOLDER_FLAGS)
    try:
        shown = dict.fromkeys(found.masked, b"") | settings_of_copies(project, found.settings)
        known = recall(settings.home)
        if not order.plain_copies and layers.available and (known is None or known[0] == AVAILABLE):
            return Overlays(root, shown, project), False
        return Copies(root, shown, project, settings.home), True
    finally:
        os.close(project)


def _be_try(number: int, lines: list[socket.socket], places: Places, settings: Settings, order: RaceOrder) -> None:
    """Carry out one try in this process, and end it."""
    line = lines[number - 1]
    try:
        end_with_parent()
        os.setpgid(0, 0)  # a Ctrl-C at the terminal is nebula's to hear
        for other in lines:
            if other is not line:
                other.close()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        place = places.enter(number)
        run_attempt(order, number, replace(settings, root=place.root), place, line)
    except BaseException as problem:  # noqa: BLE001 - this process ends here, and the race is told why
        send(line, TryFailed(f"{type(problem).__name__}: {problem}"))
    finally:
        line.close()
        os._exit(0)


def _wait(running: set[int]) -> None:
    """Wait until every try has ended; where nebula is gone end them."""
    waiting = select.poll()
    waiting.register(0, select.POLLIN)
    gone = False
    while running:
        if not gone and waiting.poll(_TICK_MS):
            gone = True
            for child in running:
                os.kill(child, signal.SIGKILL)
        pid, _ = os.waitpid(-1, 0 if gone else os.WNOHANG)
        running.discard(pid)
