"""Begin work in places: tells the process that makes them over which project, and hands it one socket for each piece
of work."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from nebula.agent.places.process import HostProcess
from nebula.agent.places.wire import PlaceOrder, send
from nebula.config import Settings
from nebula.llm.catalog import is_configured
from nebula.providers import PROVIDERS

if TYPE_CHECKING:
    from nebula.agent.places.host import Work

_USED_BY_ALL: Final = (
    "concurrent.futures.thread",
    "nebula.llm.context_limit",
    "nebula.llm.dialect.where_needed",
    "nebula.sandbox.home.toolchains",
    "nebula.tools.commands.backstage",
    "nebula.tools.commands.change_set",
    "nebula.workspace.writing.change_sets",
)
"""Modules that are loaded on first use elsewhere; in a place the first use would come once in every place."""


def modules_ahead(settings: Iterable[Settings]) -> tuple[str, ...]:
    """Return the modules that every place is going to use beside that of the work: the connectors that are set up are
    among them."""
    all_settings = list(settings)
    rows = [row for row in PROVIDERS.values() if any(is_configured(row, each) for each in all_settings)]
    return (*_USED_BY_ALL, *(row.connector.partition(":")[0] for row in rows))


def give_order(process: HostProcess, order: PlaceOrder) -> None:
    """Tell the process over which project it makes places: whoever started it closes it."""
    process.is_idle = False
    with suppress(OSError):  # it has ended already, which whoever begins work finds
        send(process.control, order)


def begin_work(process: HostProcess, work: Work) -> socket.socket:
    """Have `work` done in a place of its own, and return the socket that it tells of itself over. Blocks for as long as
    much of the work has to be sent."""
    ours, theirs = socket.socketpair()
    with suppress(OSError):  # its process is gone: then the line has ended, which the reader finds
        with theirs:
            socket.send_fds(process.control, [b"x"], [theirs.fileno()])
        send(ours, work)
    return ours
