"""Begin work in copies of a project: send the project to the process that makes them, and one socket for each piece of
work."""

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
"""Modules that are elsewhere loaded on first use; here each copy would load them again."""


def modules_ahead(settings: Iterable[Settings]) -> tuple[str, ...]:
    """Return the modules that every piece of work will use beside its own, such as the configured connectors."""
    all_settings = list(settings)
    rows = [row for row in PROVIDERS.values() if any(is_configured(row, each) for each in all_settings)]
    return (*_USED_BY_ALL, *(row.connector.partition(":")[0] for row in rows))


def give_order(process: HostProcess, order: PlaceOrder) -> None:
    """Send the process its project; whoever started the process closes it."""
    with suppress(OSError):  # it has ended already, which `begin_work` notices
        send(process.control, order)


def begin_work(process: HostProcess, work: Work) -> socket.socket:
    """Have `work` done in a new copy, and return the socket over which it reports. Blocks until the work is sent."""
    ours, theirs = socket.socketpair()
    with suppress(OSError):  # its process is gone: then the socket is closed, which the reader notices
        with theirs:
            socket.send_fds(process.control, [b"x"], [theirs.fileno()])
        send(ours, work)
    return ours
