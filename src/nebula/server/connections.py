"""How many connections, how much time and how many bytes a client gets before anybody knows who it is.

uvicorn's own settings bound the size of a head (`h11_max_incomplete_event_size`), of a message (`ws_max_size`) and the
pause between two requests (`timeout_keep_alive`). Three limits cannot be had by settings. A first request, or the rest
of one, is awaited for ever. A connection more than `limit_concurrency` is refused, so that silent clients keep all
others out. And a WebSocket may send a whole message before it shows the token.

So each connection of uvicorn stands behind a `GuardedConnection`, which is an asyncio protocol that passes everything
on, and in front of the app `tell_requests` says when a request has come. A client owes us something while we wait for
a request, its body or its token, or while it does not take an answer. When there are too many connections, the one
that has owed for the longest is closed. A request under way and a WebSocket that showed the token never are.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from collections.abc import Callable
from typing import Any, Final, cast

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from nebula.events import new_trace_id
from nebula.server.asgi import ADMITTED, App, Message, Receive, Scope, Send
from nebula.server.refusals import error_body
from nebula.value import value

ACCEPTED_AT_ONCE: Final = 64
"""How many clients are accepted before the connections are counted again."""
MOST_CONNECTIONS: Final = 512
FEWEST_CONNECTIONS: Final = 32
GRACE_S: Final = 10
"""How long running requests may take to finish after the server was asked to stop."""
PONG_WITHIN_S: Final = 120.0
"""A client that sends a large message over a slow line answers a ping late."""
_REASONS: Final = {400: "Bad Request", 408: "Request Timeout", 503: "Service Unavailable"}
_CLOSE_TOO_BIG: Final = b"\x88\x02\x03\xf1"
"""A frame that closes a WebSocket with 1009."""


def most_connections() -> int:
    """Return how many connections leave half of the process's file descriptors for everything else."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(MOST_CONNECTIONS, max(FEWEST_CONNECTIONS, files // 2 - 2 * ACCEPTED_AT_ONCE))


@value
class ConnectionLimits:
    connections: int = MOST_CONNECTIONS
    head_s: float = 10.0
    """For a request up to its blank line. The gate limits the body, and reports the reason."""
    unread_s: float = 75.0
    """For reading the answer."""
    first_message_bytes: int = 64 * 1024
    """For a WebSocket that has not shown the token."""


class LimitedConfig(uvicorn.Config):
    """Uvicorn's configuration for our apps; `websocket_bytes` above 0 allows WebSockets with messages of that size."""

    def __init__(self, app: App, *, websocket_bytes: int = 0, limits: ConnectionLimits | None = None) -> None:
        connections = Connections(limits or ConnectionLimits(most_connections()))

        def http(**named: Any) -> GuardedConnection:
            return GuardedConnection(connections, H11Protocol(**named))

        def websocket(**named: Any) -> GuardedWebSocket:
            return GuardedWebSocket(connections, WebSocketsSansIOProtocol(**named))

        super().__init__(
            tell_requests(app, connections),
            http=cast("Any", http),
            ws=cast("Any", websocket) if websocket_bytes else "none",
            ws_max_size=websocket_bytes or 1,
            ws_per_message_deflate=False,
            ws_ping_timeout=PONG_WITHIN_S,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="on",
            loop="asyncio",
            timeout_graceful_shutdown=GRACE_S,
            backlog=ACCEPTED_AT_ONCE,
        )


class ClientConnection:
    """One connection, and since when we have been waiting for its client."""

    def __init__(
        self, transport: asyncio.Transport, limits: ConnectionLimits, owing: dict[ClientConnection, None]
    ) -> None:
        self.transport = transport
        self.limits = limits
        self.shows_token = False
        """Whether the client of a WebSocket has shown the token, and so may send large messages."""
        self.requests = 0
        """How many requests the app has got on it."""
        self._under_way = 0
        self._owing = owing
        self._clock: asyncio.TimerHandle | None = None
        self._has_sent = False
        owing[self] = None
        self._start_clock(limits.head_s, self._end_head)

    def hear(self) -> None:
        """Note that bytes have come: after an answer they begin the next request."""
        self._has_sent = True
        if not self._under_way and self._clock is None:
            self._start_clock(self.limits.head_s, self._end_head)

    def begin_request(self) -> None:
        """Note that a request has reached the app, perhaps without its body."""
        self.requests += 1
        self._under_way += 1
        self._stop_clock()

    def settle(self) -> None:
        """Note that we no longer wait for the client: its whole request is here, or its token."""
        self._owing.pop(self, None)

    def end_request(self) -> None:
        self._under_way -= 1
        if not self._under_way:
            self._has_sent = False
            self._owing.setdefault(self)

    def pause_answer(self) -> None:
        """Note that the client does not read what we send."""
        self._owing.setdefault(self)
        self._start_clock(self.limits.unread_s, self.transport.abort)

    def resume_answer(self) -> None:
        self._stop_clock()
        if self._under_way:
            self.settle()

    def close(self) -> None:
        self._stop_clock()
        self._owing.pop(self, None)

    def _start_clock(self, seconds: float, call: Callable[[], None]) -> None:
        self._stop_clock()
        self._clock = asyncio.get_running_loop().call_later(seconds, call)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _end_head(self) -> None:
        if self._has_sent:
            _answer(self.transport, 408, "timeout", "The request did not arrive in time.")
        else:
            self.transport.abort()


class Connections:
    """The open connections by the client's address, by which the app finds its connection."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._open: dict[object, ClientConnection] = {}
        self._owing: dict[ClientConnection, None] = {}
        """The connections whose clients keep us waiting, the longest wait first."""

    def find(self, client: object) -> ClientConnection | None:
        return self._open.get(client)

    def open(self, transport: asyncio.Transport) -> ClientConnection | None:
        """Return the new connection; None if there are too many and none of them can be closed."""
        if len(self._open) >= self._limits.connections:
            longest = next(iter(self._owing), None)
            if longest is None:
                return None
            longest.transport.abort()
            self.close(longest)
        connection = self._open[address_of(transport)] = ClientConnection(transport, self._limits, self._owing)
        return connection

    def close(self, connection: ClientConnection) -> None:
        connection.close()
        address = address_of(connection.transport)
        if self._open.get(address) is connection:
            del self._open[address]


def address_of(transport: asyncio.BaseTransport) -> object:
    """Return the client's address in the form of `scope["client"]`."""
    found = transport.get_extra_info("peername")
    return tuple(found[:2]) if isinstance(found, tuple) else found


class GuardedConnection(asyncio.Protocol):
    """Passes everything on to `inner`, and reports it to `connections`."""

    def __init__(self, connections: Connections, inner: asyncio.Protocol) -> None:
        self.inner = inner
        self.connections = connections
        self.connection: ClientConnection | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.connection = self.connections.open(cast("asyncio.Transport", transport))
        if self.connection is None:
            _answer(transport, 503, "busy", "Too many connections are open; try again in a moment.")
        else:
            self.inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self.connection is not None:
            self.connection.hear()
            self.inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self.inner.eof_received()

    def pause_writing(self) -> None:
        if self.connection is not None:
            self.connection.pause_answer()
            self.inner.pause_writing()

    def resume_writing(self) -> None:
        if self.connection is not None:
            self.connection.resume_answer()
            self.inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.connection is not None:
            self.connections.close(self.connection)
            self.inner.connection_lost(exc)


class GuardedWebSocket(GuardedConnection):
    """Takes over a connection whose client asked for a WebSocket."""

    _received = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.connection = self.connections.find(address_of(transport))
        self.inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        connection = self.connection
        if connection is None:
            return
        is_first, self._received = not self._received, self._received + len(data)
        if not connection.shows_token and self._received > connection.limits.first_message_bytes:
            connection.transport.write(_CLOSE_TOO_BIG)
            connection.transport.close()
            return
        self.inner.data_received(data)
        if is_first:  # the app is called in the next round of the loop
            asyncio.get_running_loop().call_soon(self._refuse_malformed, connection, connection.requests)

    def _refuse_malformed(self, connection: ClientConnection, before: int) -> None:
        """Answer a handshake that `inner` did not understand and did not answer."""
        if connection.requests == before and not connection.transport.is_closing():
            _answer(connection.transport, 400, "malformed_request", "The handshake is malformed.")

    def pause_writing(self) -> None:
        self.inner.pause_writing()  # the hub limits the time of clients that do not read

    def resume_writing(self) -> None:
        self.inner.resume_writing()


def tell_requests(app: App, connections: Connections) -> App:
    """Return `app` wrapped so that its connection learns when a request comes in, is complete, and is answered."""

    async def told(scope: Scope, receive: Receive, send: Send) -> None:
        connection = None if scope["type"] == "lifespan" else connections.find(scope.get("client"))
        if connection is None:
            await app(scope, receive, send)
            return

        async def receive_body() -> Message:
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body", False):
                connection.settle()
            return message

        def show_token() -> None:
            connection.shows_token = True
            connection.settle()

        connection.begin_request()
        if scope["type"] == "websocket":
            scope[ADMITTED] = show_token
        elif not {b"content-length", b"transfer-encoding"} & {name for name, _ in scope["headers"]}:
            connection.settle()
        try:
            await app(scope, receive_body, send)
        finally:
            connection.end_request()

    return told


def hide_bad_text(record: logging.LogRecord) -> bool:
    """Return False for uvicorn's traceback of a text that is not UTF-8: strangers may send that."""
    return not str(record.msg).startswith("Invalid UTF-8")


def _answer(transport: asyncio.BaseTransport, status: int, code: str, message: str) -> None:
    """Send one error to a client whose request reached no app, and close the connection."""
    trace_id = new_trace_id()
    body = error_body(code, message, trace_id)
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        f"x-trace-id: {trace_id}\r\nconnection: close\r\n\r\n"
    )
    cast("asyncio.Transport", transport).write(head.encode() + body)
    transport.close()
