"""What a race and its tries say to each other: whole Python values, over a socket between processes of ours."""

from __future__ import annotations

import asyncio
import pickle
import socket
from typing import Any, Final

from nebula.events import Stamped
from nebula.value import value

_LENGTH: Final = 8


@value
class RaceOrder:
    """What the process that makes the places is told."""

    root: str
    prompt: str
    models: tuple[str, ...]
    """One name for each try; empty: the configured one."""
    trace_ids: tuple[str, ...]
    overrides: tuple[tuple[str, Any], ...] = ()
    """What the command line sets."""
    parents: tuple[str, ...] = ()
    session_id: str = ""
    allow: tuple[str, ...] = ()
    mode: str = "agent"
    fresh: bool = False
    """The tries know nothing of the turns that lead to `parents`."""
    plain_copies: bool = False
    """Make the places without overlays, as on a machine that has none."""


@value
class TryEvent(Stamped):
    """An event of a try, with the number of the try."""

    number: int = 0

    def to_json(self) -> dict[str, Any]:
        return Stamped.to_json(self) | {"try": self.number}


@value
class KeptChange:
    """What a try did to one path, in the journal's names of states; the contents come beside it."""

    path: str
    before: str | None
    after: str | None


@value
class TryChanges:
    changes: tuple[KeptChange, ...] = ()


@value
class TryContent:
    """The content of a file, or the target of a link, that a change names."""

    content: bytes


@value
class TryFailed:
    """A try that ended without a last event."""

    problem: str


@value
class HeldStill:
    """What there is to know of the places."""

    held_still: bool
    copies: bool


def send(line: socket.socket, said: object) -> None:
    """Send one value; blocks while the reader is behind."""
    body = pickle.dumps(said)
    line.sendall(len(body).to_bytes(_LENGTH, "big") + body)


async def receive(reader: asyncio.StreamReader) -> object | None:
    """Return the next value; None where the other side has ended."""
    try:
        length = int.from_bytes(await reader.readexactly(_LENGTH), "big")
        return pickle.loads(await reader.readexactly(length))  # type: ignore[no-any-return]  # noqa: S301 - from our own process
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
