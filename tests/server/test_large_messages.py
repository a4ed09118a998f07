"""Whoever sends a large message waits for those before it; whoever does not finish one makes room for the others."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from nebula.server.large_messages import SMALL, LargeMessages

WHOLE = SMALL * 3


class Taking(asyncio.Protocol):
    """Takes one message of WHOLE bytes; `large` is shared by all."""

    def __init__(self, large: LargeMessages, rest_s: float) -> None:
        self.large, self.rest_s, self.size = large, rest_s, 0
        self.waits, self.complete = asyncio.Event(), asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.size += len(data)
        if self.size >= WHOLE:
            self.large.arrived(self)
            self.complete.set()
        self.large.arriving(self, self.transport, self.size, self.rest_s)
        if not self.transport.is_reading():
            self.waits.set()

    def connection_lost(self, _: Exception | None) -> None:
        self.large.gone(self)


class Served:
    def __init__(self, most: int, rest_s: float) -> None:
        self.large, self.rest_s = LargeMessages(most), rest_s
        self.connections: list[Taking] = []

    async def __aenter__(self) -> Served:
        def connection() -> Taking:
            self.connections.append(Taking(self.large, self.rest_s))
            return self.connections[-1]

        self.server = await asyncio.get_running_loop().create_server(connection, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()
        for each in self.connections:
            each.transport.abort()

    async def send(self, size: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(*self.server.sockets[0].getsockname())
        writer.write(bytes(size))
        return reader, writer


async def test_the_next_waits_until_the_first_is_done() -> None:
    async with asyncio.timeout(10), Served(most=1, rest_s=60) as served:
        _, first = await served.send(WHOLE)
        while not served.connections:  # noqa: ASYNC110 - it is made by the server's own task
            await asyncio.sleep(0.001)
        [one] = served.connections
        await one.complete.wait()
        _, second = await served.send(WHOLE)
        while len(served.connections) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        two = served.connections[1]
        await two.waits.wait()
        assert SMALL < two.size < WHOLE and not two.complete.is_set()
        served.large.done(two)  # it asks for its next message: it has not been given one
        assert not two.transport.is_reading()
        served.large.done(one)
        await two.complete.wait()
        for each in (first, second):
            each.close()


async def test_half_a_message_does_not_keep_the_others_waiting_for_ever() -> None:
    async with asyncio.timeout(10), Served(most=1, rest_s=0.2) as served:
        reader, stalled = await served.send(SMALL + 1)
        while not served.connections or served.connections[0].size <= SMALL:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        _, second = await served.send(WHOLE)
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
        await served.connections[1].complete.wait()
        for each in (stalled, second):
            each.close()


async def test_who_asks_for_the_next_message_before_it_is_there_keeps_its_place() -> None:
    async with asyncio.timeout(10), Served(most=1, rest_s=60) as served:
        _, half = await served.send(SMALL + 1)
        while not served.connections or served.connections[0].size <= SMALL:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        served.large.done(served.connections[0])
        _, second = await served.send(WHOLE)
        while len(served.connections) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        await served.connections[1].waits.wait()
        for each in (half, second):
            each.close()
