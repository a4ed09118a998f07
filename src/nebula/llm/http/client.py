"""A small HTTP/1.1 client for streaming answers: kept-alive connections, time-outs, proxies, a cancel that closes.

What it does not do, on purpose: follow redirects (a key must not travel to another host), ask for compression,
keep cookies.
"""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from time import monotonic

from nebula.llm.errors import BadReplyError, UnavailableError
from nebula.llm.http.connection import HttpConnection, Route, connect
from nebula.llm.http.http1 import CutOff, NotHttp, ResponseReader, write_head
from nebula.llm.http.proxies import basic_auth, proxy_for
from nebula.llm.http.url import Url, parse_url
from nebula.value import value

MAX_WHOLE_BODY_BYTES = 32 * 1024 * 1024
MAX_STREAM_BYTES = 512 * 1024 * 1024
IDLE_CONNECTION_S = 50.0
DRAIN_S = 0.25
IDLE_CONNECTIONS_PER_ROUTE = 4
USER_AGENT = "nebula"
_MANY_NEW_OBJECTS = 10_000
JOINED_BYTES = 256 * 1024

Headers = Sequence[tuple[str, str]]


@value
class Timeouts:
    connect_s: float = 15.0
    first_byte_s: float = 180.0
    idle_s: float = 300.0
    notice_s: float = 15.0
    """After so long a silence the user hears that we still wait."""


DEFAULT_TIMEOUTS = Timeouts()


class HttpResponse:
    """Status and headers; the body is read once, by `read_piece()` or `read()`."""

    def __init__(self, url: Url, connection: HttpConnection, reader: ResponseReader, idle_s: float) -> None:
        self.url = url
        self.status = reader.status
        self.headers = reader.headers
        self._connection = connection
        self._reader = reader
        self._idle_s = idle_s
        self._bytes = 0

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def read(self, max_bytes: int = MAX_WHOLE_BODY_BYTES) -> bytes:
        body = bytearray()
        while (piece := await self.read_piece()) is not None:
            body += piece
            if len(body) > max_bytes:
                raise self._too_long(max_bytes)
        return bytes(body)

    async def read_piece(self) -> bytes | None:
        """Return the next piece of the body as it arrives, None at its end. Raises `UnavailableError` when it is cut.

        A server sends a chunk for every few letters; all that arrived together are one piece, for each costs its way.
        """
        while True:
            try:
                arrived = self._reader.read_body()
            except CutOff:
                raise UnavailableError(
                    "The answer of {server} was cut off in the middle.", server=self.url.shown
                ) from None
            except NotHttp as problem:
                raise _not_http(self.url, problem) from None
            if arrived:
                self._bytes += len(arrived)
                if self._bytes > MAX_STREAM_BYTES:
                    raise self._too_long(MAX_STREAM_BYTES)
                return arrived
            if self._reader.is_finished:
                return None
            self._reader.feed(await self._receive())

    async def drain(self) -> None:
        """Read to the end, for a moment only, so that the connection can be used again."""
        try:
            async with asyncio.timeout(DRAIN_S):
                while await self.read_piece() is not None:
                    pass
        except (TimeoutError, UnavailableError):
            return  # what we wanted has been read; the connection is simply not kept

    async def _receive(self) -> bytes:
        try:
            async with asyncio.timeout(self._idle_s):
                return await self._connection.read()
        except TimeoutError:
            raise UnavailableError(
                "{server} fell silent for {seconds:g} s.", server=self.url.shown, seconds=self._idle_s
            ) from None
        except OSError as error:
            raise UnavailableError(
                "The connection to {server} broke: {reason}.", server=self.url.shown, reason=error.strerror or error
            ) from None

    def _too_long(self, limit: int) -> BadReplyError:
        return BadReplyError("The answer of {server} is longer than {limit} bytes.", server=self.url.shown, limit=limit)


@value
class _Idle:
    connection: HttpConnection
    since: float


class HttpClient:
    """Requests over pooled connections. Not bound to one origin; close it with `aclose()`."""

    def __init__(self, *, timeouts: Timeouts = DEFAULT_TIMEOUTS, environ: Mapping[str, str] | None = None) -> None:
        self._timeouts = timeouts
        self._environ = os.environ if environ is None else environ
        self._idle: dict[Route, list[_Idle]] = {}

    @asynccontextmanager
    async def request(
        self, method: str, url: str, *, headers: Headers = (), body: bytes = b"", timeouts: Timeouts | None = None
    ) -> AsyncIterator[HttpResponse]:
        """Return the response, its body unread. Leaving the block before the body's end closes the connection."""
        target = parse_url(url)
        limits = timeouts or self._timeouts
        proxy = proxy_for(target, self._environ)
        route = Route(target.scheme, target.host, target.port, proxy)
        head = _request_head(method, target, route, headers, len(body))
        connection, reader = await self._exchange(route, head, body, target, limits)
        try:
            yield HttpResponse(target, connection, reader, limits.idle_s)
        finally:
            self._give_back(connection, reader)

    async def aclose(self) -> None:
        for waiting in self._idle.values():
            for idle in waiting:
                idle.connection.abort()
        self._idle.clear()

    async def _exchange(
        self, route: Route, head: bytes, body: bytes, target: Url, limits: Timeouts
    ) -> tuple[HttpConnection, ResponseReader]:
        while True:
            kept = self._take(route)
            connection = kept or await connect(route, self._environ, limits.connect_s)
            received_before = connection.bytes_received
            try:
                return connection, await _ask(connection, head, body, target, limits)
            except _ClosedEarly:
                connection.abort()
                # A kept connection that the server closed meanwhile says nothing about the server: ask once more.
                if kept is None or connection.bytes_received > received_before:
                    raise UnavailableError(
                        "{server} closed the connection without an answer.", server=target.shown
                    ) from None
            except BaseException:
                connection.abort()
                raise

    def _take(self, route: Route) -> HttpConnection | None:
        waiting = self._idle.get(route, [])
        loop = asyncio.get_running_loop()
        while waiting:
            idle = waiting.pop()
            connection = idle.connection
            if connection.loop is not loop:
                continue
            if connection.is_open and not connection.has_unread and monotonic() - idle.since < IDLE_CONNECTION_S:
                return connection
            connection.abort()
        return None

    def _give_back(self, connection: HttpConnection, reader: ResponseReader) -> None:
        reusable = reader.leaves_open and connection.is_open and not connection.has_unread
        waiting = self._idle.setdefault(connection.route, [])
        if reusable and len(waiting) < IDLE_CONNECTIONS_PER_ROUTE:
            waiting.append(_Idle(connection, monotonic()))
        else:
            connection.abort()


class _ClosedEarly(Exception):
    """The connection ended before the head of a response was complete."""


def _request_head(method: str, target: Url, route: Route, headers: Headers, body_bytes: int) -> bytes:
    lines = [("Host", target.authority), ("User-Agent", USER_AGENT), ("Accept-Encoding", "identity"), *headers]
    given = {name.lower() for name, _ in headers}
    if target.userinfo and "authorization" not in given:
        lines.append(("Authorization", basic_auth(target.userinfo)))
    if body_bytes or method == "POST":
        lines.append(("Content-Length", str(body_bytes)))
    form = target.target
    if route.proxy is not None and not route.is_tunnelled:
        form = f"{target.scheme}://{target.authority}{target.target}"
        if route.proxy.userinfo:
            lines.append(("Proxy-Authorization", basic_auth(route.proxy.userinfo)))
    try:
        return write_head(method, form, lines)
    except NotHttp:
        # The offending value may be a key with a line break in it, so it is not shown.
        raise BadReplyError(
            "The request to {server} cannot be written: a header value holds characters that HTTP does not allow. "
            "Check the API key for stray characters, spaces or line breaks.",
            server=target.shown,
        ) from None


def _clear_up_meanwhile() -> None:
    """Collect garbage while an answer is awaited: a command starts without that, and what its start left behind makes
    room for what the end of the turn loads."""
    if gc.get_count()[0] > _MANY_NEW_OBJECTS:
        asyncio.get_running_loop().call_soon(gc.collect, 0)


async def _ask(connection: HttpConnection, head: bytes, body: bytes, target: Url, limits: Timeouts) -> ResponseReader:
    """Send a request; return the reader of its response, whose head is whole. Raises _ClosedEarly, ModelError."""
    # A large body goes by itself: joining would copy it. Both together are one packet, and one call of the system.
    parts = [head + body] if len(body) <= JOINED_BYTES else [head, body]
    try:
        async with asyncio.timeout(limits.first_byte_s):
            for part in parts:
                await connection.write(part)
            reader = ResponseReader()
            if body:  # a question without one is asked before the request that counts
                _clear_up_meanwhile()
            while not reader.read_head():
                reader.feed(await connection.read())
    except TimeoutError:
        raise UnavailableError(
            "{server} gave no answer within {seconds:g} s. The server may be overloaded.",
            server=target.shown,
            seconds=limits.first_byte_s,
        ) from None
    except (CutOff, OSError):
        raise _ClosedEarly from None
    except NotHttp as problem:
        raise _not_http(target, problem) from None
    if reader.headers.get("content-encoding", "").lower() not in ("identity", ""):
        raise BadReplyError("{server} sent a compressed answer that was not asked for.", server=target.shown)
    return reader


def _not_http(target: Url, problem: NotHttp) -> BadReplyError:
    return BadReplyError(
        "{server} does not speak HTTP as expected ({problem}). Check the address.",
        server=target.shown,
        problem=str(problem),
    )
