"""What the two processes on either side of a copy send each other: whole Python values, over a socket."""

from __future__ import annotations

import asyncio
import copyreg
import pickle
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Any, Final

from nebula.config import Settings
from nebula.language import Sentence
from nebula.value import value

_LENGTH: Final = 8


@value
class PlaceOrder:
    """What the process that makes the copies of one project has to know."""

    settings: Settings
    allow: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    """Modules to load before the first copy is used."""
    hidden: tuple[str, ...] = (".nebula",)
    """Paths of the project that are left out of its copies."""
    shows_graph: bool = True
    """The conversation graph can be read in a copy."""
    own_records: bool = False
    """Files that nebula derives from a project belong to the copy, and are removed with it."""


@value
class HeldStill:
    """What the work reports of its copy at the start."""

    held_still: bool
    copies: bool

    @property
    def remark(self) -> Sentence | None:
        """Return a remark on what is missing in the copy."""
        if self.copies:
            return Sentence("This machine has no overlays: the work is done in copies of the project.")
        if not self.held_still:
            return Sentence(
                "The project is too large to be copied in one moment: what you change meanwhile may appear in the copy."
            )
        return None


@value
class PlaceFailed:
    """Raised for work that ended without a result: there was no copy, or something unexpected failed."""

    problem: str


def send(line: socket.socket, said: object) -> None:
    """Send one value; blocks until the reader has caught up."""
    body = pickle.dumps(said)
    line.sendall(len(body).to_bytes(_LENGTH, "big") + body)


def receive_now(line: socket.socket) -> Any:
    """Wait for the next value and return it. Raises EOFError where the other side has ended."""
    return pickle.loads(_read(line, int.from_bytes(_read(line, _LENGTH), "big")))  # noqa: S301 - from our own process


async def receive(reader: asyncio.StreamReader) -> object | None:
    """Return the next value; None where the other side has ended."""
    try:
        length = int.from_bytes(await reader.readexactly(_LENGTH), "big")
        return pickle.loads(await reader.readexactly(length))  # type: ignore[no-any-return]  # noqa: S301 - from our own process
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def hang_up(line: socket.socket) -> None:
    """Close the socket after reading all that came: otherwise the other side gets an error before it has read what was
    sent."""
    with suppress(OSError):  # nothing more to read
        while line.recv(1 << 10, socket.MSG_DONTWAIT):
            pass
    line.close()


@contextmanager
def interrupted_by(line: socket.socket) -> Iterator[None]:
    """Interrupt the task of this block when something arrives on the socket, or the other side closes it."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None  # noqa: S101 - a loop is running it

    def stop() -> None:
        loop.remove_reader(line.fileno())
        task.cancel()

    loop.add_reader(line.fileno(), stop)
    try:
        yield
    finally:
        loop.remove_reader(line.fileno())


def _read(line: socket.socket, length: int) -> bytes:
    """Read exactly `length` bytes: the next ones may carry a descriptor."""
    parts = []
    while length:
        part = line.recv(min(length, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _mapping(content: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(content)


copyreg.pickle(MappingProxyType, lambda mapping: (_mapping, (dict(mapping),)))  # settings and requests hold them
