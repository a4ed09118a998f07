"""What a client is allowed before anybody knows who it is: so many connections, so much time, so many bytes.

uvicorn waits for ever for the rest of a request, and the system hands out a limited number of sockets: whoever opened
enough of them and fell silent would stop the server without showing a token. Here every connection whose client owes
us something (the rest of a request, a first word, taking its answer) stands in a row. Time runs for each of them, and
when there are too many the one at the front, which kept us waiting longest, has to go. A request under way and a
WebSocket that showed the token never do.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import MutableMapping
from typing import Any, Final, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request as Handshake

from nebula.events import new_trace_id
from nebula.server.asgi import WELCOME, App
from nebula.server.large_messages import LargeMessages
from nebula.server.refusals import error_body
from nebula.value import value

ACCEPTED_AT_ONCE: Final = 64
"""How many clients are let in before the connections made so far are counted again."""
MOST_CONNECTIONS: Final = 512
FEWEST_CONNECTIONS: Final = 32
GRACE_S: Final = 10
"""How long requests under way may take to finish when the server is asked to stop."""
PONG_WITHIN_S: Final = 120.0
"""Behind a large message, which we may let wait until others are done, a sign of life comes late."""
_OWING_STATES: Final = (h11.IDLE, h11.SEND_BODY)
_REASONS: Final = {400: "Bad Request", 408: "Request Timeout", 503: "Service Unavailable"}


def most_connections() -> int:
    """As many as leave half of the files this process may open to everything else."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(MOST_CONNECTIONS, max(FEWEST_CONNECTIONS, files // 2 - 2 * ACCEPTED_AT_ONCE))


@value
class ConnectionLimits:
    connections: int = MOST_CONNECTIONS
    head_s: float = 10.0
    """For a request up to its blank line."""
    rest_s: float = 75.0
    """For its body, and for taking the answer; the gate, which can say why, is quicker with the body."""
    first_message_bytes: int = 64 * 1024
    """Of a WebSocket that has not shown the token."""
    large_messages: int = 4
    """Of those that did: so many have more than a small message in our memory at the same time."""


class Connections:
    def __init__(self, most: int) -> None:
        self._most = most
        self._open: set[asyncio.Protocol] = set()
        self._owing: dict[asyncio.Protocol, asyncio.Transport] = {}

    def opened(self, connection: asyncio.Protocol) -> bool:
        """False: there are too many, and all of them have something to do."""
        if len(self._open) >= self._most:
            longest = next(iter(self._owing), None)
            if longest is None:
                return False
            self._owing[longest].abort()
            self.closed(longest)
        self._open.add(connection)
        return True

    def owes(self, connection: asyncio.Protocol, transport: asyncio.Transport) -> None:
        if connection in self._open:
            self._owing.setdefault(connection, transport)

    def owes_nothing(self, connection: asyncio.Protocol) -> None:
        self._owing.pop(connection, None)

    def closed(self, connection: asyncio.Protocol) -> None:
        self._open.discard(connection)
        self._owing.pop(connection, None)


class LimitedConfig(uvicorn.Config):
    """How uvicorn runs our apps; `websocket_bytes` above 0 allows WebSockets with messages of that size."""

    def __init__(self, app: App, *, websocket_bytes: int = 0, limits: ConnectionLimits | None = None) -> None:
        super().__init__(
            app,
            http=LimitedHttp,
            ws=LimitedWebSocket if websocket_bytes else "none",
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
        self.limits = limits or ConnectionLimits(most_connections())
        self.open_connections = Connections(self.limits.connections)
        self.large_messages = LargeMessages(self.limits.large_messages)


class LimitedHttp(H11Protocol):
    def __init__(self, config: LimitedConfig, *args: Any, **named: Any) -> None:
        super().__init__(config, *args, **named)
        self._limits, self._open = config.limits, config.open_connections
        self._unread = False
        """The client does not take what we send."""
        self._awaited: object = None
        """What the clock runs for."""
        self._clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._open.opened(self):
            self._settle()
        else:
            _answer(transport, 503, "busy", "Too many connections are open; try again in a moment.")

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.closed(self)
        self._stop_clock()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._settle()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._settle()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = True
        self._settle()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread = False
        self._settle()

    def _settle(self) -> None:
        """Notes whether the client owes us something, and since when."""
        awaited: object = self.conn.their_state if self.conn.their_state in _OWING_STATES else None
        if self._unread:
            awaited = h11.SEND_RESPONSE
        if awaited is None:
            self._open.owes_nothing(self)
        else:
            self._open.owes(self, self.transport)
        if awaited is h11.IDLE and self.timeout_keep_alive_task is not None and not self.conn.trailing_data[0]:
            awaited = None  # between two requests uvicorn's own clock runs, and a shorter one
        if awaited is not self._awaited:
            self._stop_clock()
            self._awaited = awaited
            if awaited is not None:
                seconds = self._limits.head_s if awaited is h11.IDLE else self._limits.rest_s
                self._clock = self.loop.call_later(seconds, self._too_slow)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _too_slow(self) -> None:
        said_something, _ = self.conn.trailing_data
        if self._awaited is h11.IDLE and said_something:
            _answer(self.transport, 408, "timeout", "The request did not arrive in time.")
        else:
            self.transport.abort()

    def _should_upgrade(self) -> bool:
        # HTTP/1.0 knows no upgrade: a server has to overlook the header (RFC 9110, 7.8).
        return self.scope["http_version"] == "1.1" and super()._should_upgrade()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._open.closed(self)
        self._stop_clock()
        self._awaited = self.conn.their_state
        super().handle_websocket_upgrade(event)

    def send_400_response(self, msg: str) -> None:
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            _answer(self.transport, 400, "malformed_request", msg)
        else:
            self.transport.close()


class LimitedWebSocket(WebSocketsSansIOProtocol):
    def __init__(self, config: LimitedConfig, *args: Any, **named: Any) -> None:
        super().__init__(config, *args, **named)
        self._open, self._large, self._rest_s = config.open_connections, config.large_messages, config.limits.rest_s
        self._unread_bytes = 0
        """Of a message that is still arriving."""
        self.conn.max_message_size = config.limits.first_message_bytes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._open.opened(self)
        self._open.owes(self, self.transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.closed(self)
        self._large.gone(self)
        super().connection_lost(exc)

    def handle_connect(self, event: Handshake) -> None:
        super().handle_connect(event)
        if self.response.status_code == 101:
            cast("MutableMapping[str, Any]", self.scope)[WELCOME] = self._welcome

    def _welcome(self) -> None:
        """The client is known now."""
        self._open.owes_nothing(self)
        self.conn.max_message_size = self.config.ws_max_size

    def data_received(self, data: bytes) -> None:
        self._unread_bytes += len(data)
        super().data_received(data)
        self._large.arriving(self, self.transport, self._unread_bytes, self._rest_s)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            # Stricter than the HTTP parser before it, and it says nothing by itself.
            self.handshake_initiated = True
            _answer(self.transport, 400, "malformed_request", "The handshake is malformed.")

    def send_receive_event_to_app(self) -> None:
        if self.curr_msg_data_type == "text" and not _is_utf8(b"".join(self.frames)):
            self.frames = []
            self.conn.fail(1007, "a text message must be UTF-8")
            self.handle_parser_exception()
            return
        self._unread_bytes = 0
        self._large.arrived(self)
        super().send_receive_event_to_app()

    async def receive(self) -> Any:
        self._large.done(self)  # whoever asks for the next message is done with the last
        return await super().receive()


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _answer(transport: asyncio.Transport, status: int, code: str, message: str) -> None:
    """Says one thing to a client that no app has heard of, and hangs up."""
    trace_id = new_trace_id()
    body = error_body(code, message, trace_id)
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        f"x-trace-id: {trace_id}\r\nconnection: close\r\n\r\n"
    )
    transport.write(head.encode() + body)
    transport.close()
