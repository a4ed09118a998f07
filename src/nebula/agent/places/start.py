"""Begin work in places: starts the process that makes them, and hands it one socket for each piece of work."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Final

import nebula
from nebula.agent.places.wire import PlaceOrder, send
from nebula.config import Settings
from nebula.llm.catalog import is_configured
from nebula.providers import PROVIDERS

if TYPE_CHECKING:
    from nebula.agent.places.host import Work

_START: Final = "import sys; sys.path.append(sys.argv[1]); from nebula.agent.places.host import main; main()"
_SOURCE: Final = os.path.dirname(os.path.dirname(os.path.abspath(nebula.__file__)))
_END_TIMEOUT_S: Final = 10.0
_USED_BY_ALL: Final = (
    "concurrent.futures.thread",
    "nebula.llm.context_limit",
    "nebula.llm.dialect.where_needed",
    "nebula.sandbox.toolchains",
    "nebula.tools.commands.backstage",
    "nebula.tools.commands.change_set",
    "nebula.workspace.writing.change_sets",
)
"""Modules that are loaded on first use elsewhere; in a place the first use would come once in every place."""


def modules_ahead(work: str, settings: Iterable[Settings]) -> tuple[str, ...]:
    """Return the modules that every place is going to use: that of the work, and the connectors that are set up."""
    all_settings = list(settings)
    rows = [row for row in PROVIDERS.values() if any(is_configured(row, each) for each in all_settings)]
    return (work, *_USED_BY_ALL, *(row.connector.partition(":")[0] for row in rows))


class PlaceHost:
    """The process that makes the places of one project. It is ended by `close`, and by the end of this process."""

    def __init__(self, order: PlaceOrder) -> None:
        control, theirs = socket.socketpair()
        with theirs, ExitStack() as opened:
            opened.enter_context(control)
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _START, _SOURCE, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                cwd=order.settings.root,
            )
            opened.pop_all()
        self._control = control
        with suppress(OSError):  # it has ended already, which whoever begins work finds
            send(self._control, order)

    def begin(self, work: Work) -> socket.socket:
        """Have `work` done in a place of its own, and return the socket that it tells of itself over. Blocks for as
        long as much of the work has to be sent."""
        ours, theirs = socket.socketpair()
        with suppress(OSError):  # its process is gone: then the line has ended, which the reader finds
            with theirs:
                socket.send_fds(self._control, [b"x"], [theirs.fileno()])
            send(ours, work)
        return ours

    def close(self) -> None:
        """End all work that is still being done."""
        self._control.close()
        try:
            self._process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
