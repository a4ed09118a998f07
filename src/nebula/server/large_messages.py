"""A few large messages at once: the others are not read any further until there is room.

A prompt with images is much larger than anything else that clients send. Hundreds of clients may be connected, and each
of them may send one; what all of them together have in our memory stays within what a few of them need.
"""

from __future__ import annotations

import asyncio
from typing import Final

SMALL: Final = 1 << 20
"""Bytes of a message that never has to wait."""


class LargeMessages:
    def __init__(self, most: int) -> None:
        self._most = most
        self._inside: dict[asyncio.Protocol, asyncio.TimerHandle | None] = {}
        """With the clock that runs while the rest is awaited."""
        self._waiting: dict[asyncio.Protocol, tuple[asyncio.Transport, float]] = {}

    def arriving(self, connection: asyncio.Protocol, transport: asyncio.Transport, size: int, rest_s: float) -> None:
        """So much of a message has come; what makes a large one of it waits its turn, then has `rest_s` seconds."""
        if size <= SMALL or connection in self._inside or connection in self._waiting:
            return
        if len(self._inside) < self._most:
            self._enter(connection, transport, rest_s)
        else:
            transport.pause_reading()
            self._waiting[connection] = transport, rest_s

    def arrived(self, connection: asyncio.Protocol) -> None:
        """It is complete; from here on its client keeps nobody waiting."""
        if clock := self._inside.get(connection):
            clock.cancel()
            self._inside[connection] = None

    def done(self, connection: asyncio.Protocol) -> None:
        """What arrived last has been dealt with."""
        if connection in self._inside and self._inside[connection] is None:
            self._leave(connection)

    def gone(self, connection: asyncio.Protocol) -> None:
        self._waiting.pop(connection, None)
        if connection in self._inside:
            self.arrived(connection)
            self._leave(connection)

    def _leave(self, connection: asyncio.Protocol) -> None:
        del self._inside[connection]
        if self._waiting:
            following = next(iter(self._waiting))
            transport, rest_s = self._waiting.pop(following)
            self._enter(following, transport, rest_s)
            transport.resume_reading()

    def _enter(self, connection: asyncio.Protocol, transport: asyncio.Transport, rest_s: float) -> None:
        self._inside[connection] = asyncio.get_running_loop().call_later(rest_s, transport.abort)
