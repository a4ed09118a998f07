"""Whoever sends a large message waits for those before it; whoever does not finish one makes room for the others."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from nebula.server.large_messages import SMALL, LargeMessages

WHOLE = SMALL * 3


class Taking(asyncio.Protocol):
    """Takes one message of WHOLE bytes; `large` is shared by all."""

    def __init__(self, served: Served) -> None:
        self.made, self.large, self.rest_s, self.size = served.made, served.large, served.rest_s, 0
        self.is_large, self.waits, self.complete = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.made.put_nowait(self)

    def data_received(self, data: bytes) -> None:
        self.size += len(data)
        if self.size >= WHOLE:
            self.large.arrived(self)
            self.complete.set()
        self.large.arriving(self, self.transport, self.size, self.rest_s)
        if self.size > SMALL:
            self.is_large.set()
        if not self.transport.is_reading():
            self.waits.set()

    def connection_lost(self, _: Exception | None) -> None:
        self.large.gone(self)


class Served:
    """One large message at a time."""

    def __init__(self) -> None:
        self.large = LargeMessages(1)
        self.made: asyncio.Queue[Taking] = asyncio.Queue()
        self.rest_s = 60.0

    async def __aenter__(self) -> Served:
        self.server = await asyncio.get_running_loop().create_server(lambda: Taking(self), "127.0.0.1", 0)
        self.senders: list[asyncio.StreamWriter] = []
        self.takers: list[Taking] = []
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()
        for sender in self.senders:
            sender.close()
        for taker in self.takers:
            taker.transport.abort()

    async def send(self, size: int, rest_s: float = 60) -> tuple[asyncio.StreamReader, Taking]:
        """Somebody sends so much; where they would hear an answer, and how the server takes it."""
        self.rest_s = rest_s
        reader, writer = await asyncio.open_connection(*self.server.sockets[0].getsockname())
        writer.write(bytes(size))
        self.senders.append(writer)
        self.takers.append(await self.made.get())
        return reader, self.takers[-1]


async def test_the_next_waits_until_the_first_is_done() -> None:
    async with Served() as served:
        _, one = await served.send(WHOLE)
        await one.complete.wait()
        _, two = await served.send(WHOLE)
        await two.waits.wait()
        assert SMALL < two.size < WHOLE and not two.complete.is_set()
        served.large.done(two)  # it asks for its next message: it has not been given one
        assert not two.transport.is_reading()
        served.large.done(one)
        await two.complete.wait()


async def test_half_a_message_does_not_keep_the_others_waiting_for_ever() -> None:
    async with Served() as served:
        reader, stalled = await served.send(SMALL + 1, rest_s=0.1)
        await stalled.is_large.wait()
        _, second = await served.send(WHOLE)
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
        await second.complete.wait()


async def test_who_asks_for_the_next_message_before_it_is_there_keeps_its_place() -> None:
    async with Served() as served:
        _, half = await served.send(SMALL + 1)
        await half.is_large.wait()
        served.large.done(half)
        _, second = await served.send(WHOLE)
        await second.waits.wait()
