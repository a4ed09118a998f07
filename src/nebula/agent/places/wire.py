"""What the process of a place and the one that began it say to each other: whole Python values, over a socket."""

from __future__ import annotations

import asyncio
import copyreg
import pickle
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Any, Final

from nebula.config import Settings
from nebula.language import Sentence
from nebula.value import value

_LENGTH: Final = 8


@value
class PlaceOrder:
    """What the process that makes the places of one project is told."""

    settings: Settings
    allow: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    """They are loaded before the first place is entered."""
    hidden: tuple[str, ...] = (".nebula",)
    """Paths of the project that are not in its places."""
    shows_graph: bool = True
    """The conversation can be read in a place."""
    own_records: bool = False
    """What nebula derives from a project is the place's own, and gone with it."""


@value
class HeldStill:
    """What there is to know of a place."""

    held_still: bool
    copies: bool

    @property
    def remark(self) -> Sentence | None:
        """Return what is less than it should be."""
        if self.copies:
            return Sentence("This machine has no overlays: the work is done in copies of the project.")
        if not self.held_still:
            return Sentence("The project is too large to be held still: what you change meanwhile may be seen there.")
        return None


@value
class PlaceFailed:
    """Work that ended without a result: there was no place, or something that nobody expected."""

    problem: str


def send(line: socket.socket, said: object) -> None:
    """Send one value; blocks while the reader is behind."""
    body = pickle.dumps(said)
    line.sendall(len(body).to_bytes(_LENGTH, "big") + body)


def receive_now(line: socket.socket) -> Any:
    """Return the next value, waiting for it. Raises EOFError where the other side has ended."""
    return pickle.loads(_read(line, int.from_bytes(_read(line, _LENGTH), "big")))  # noqa: S301 - from our own process


async def receive(reader: asyncio.StreamReader) -> object | None:
    """Return the next value; None where the other side has ended."""
    try:
        length = int.from_bytes(await reader.readexactly(_LENGTH), "big")
        return pickle.loads(await reader.readexactly(length))  # type: ignore[no-any-return]  # noqa: S301 - from our own process
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def hang_up(line: socket.socket) -> None:
    """Close it with nothing unread: else the other side hears of a broken line before it has read what was sent."""
    with suppress(OSError):  # there is nothing more
        while line.recv(1 << 10, socket.MSG_DONTWAIT):
            pass
    line.close()


@contextmanager
def interrupted_by(line: socket.socket) -> Iterator[None]:
    """Interrupt the task of this block once something comes over the line, as its end does."""
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
    """Read so many bytes and not one more: behind them may come a descriptor."""
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


def _pack_mapping(mapping: MappingProxyType[Any, Any]) -> tuple[Callable[..., Any], tuple[dict[Any, Any]]]:
    return _mapping, (dict(mapping),)


copyreg.pickle(MappingProxyType, _pack_mapping)  # settings and requests hold mappings that nobody can change
