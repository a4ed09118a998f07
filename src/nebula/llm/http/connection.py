"""One connection to a server: bytes in, bytes out, TLS, and the tunnel through a proxy."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
from collections.abc import Mapping
from functools import cache
from typing import cast

from nebula.language import Sentence
from nebula.llm.errors import AuthError, UnavailableError
from nebula.llm.http.proxies import basic_auth
from nebula.llm.http.url import Url
from nebula.value import value

MAX_PROXY_ANSWER_BYTES = 64 * 1024
PAUSE_READING_AT = 1024 * 1024
KNOWN_CA_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")


@value
class Route:
    """How to reach an origin; connections with equal routes are interchangeable."""

    scheme: str
    host: str
    port: int
    proxy: Url | None = None

    @property
    def is_tunnelled(self) -> bool:
        return self.proxy is not None and self.scheme == "https"


class HttpConnection(asyncio.Protocol):
    """A transport and what has arrived on it. Reading is for one task at a time."""

    def __init__(self, route: Route, loop: asyncio.AbstractEventLoop) -> None:
        self.route = route
        self.loop = loop
        self.transport: asyncio.Transport | None = None
        self.is_open = False
        self.bytes_received = 0
        self._arrived = bytearray()
        self._eof = False
        self._error: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        self._reading_paused = False

    # called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.use(transport)

    def data_received(self, data: bytes) -> None:
        self.bytes_received += len(data)
        self._arrived += data
        if len(self._arrived) > PAUSE_READING_AT and self.transport is not None and not self._reading_paused:
            self._reading_paused = True
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        self._eof = True
        self.is_open = False
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._eof = True
        self.is_open = False
        self._error = self._error or exc
        self._wake()
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    def pause_writing(self) -> None:
        self._drained = self.loop.create_future()

    def resume_writing(self) -> None:
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        self._drained = None

    # called by us

    def use(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.is_open = True

    @property
    def has_unread(self) -> bool:
        return bool(self._arrived)

    async def write(self, data: bytes) -> None:
        if self.transport is None:
            raise ConnectionResetError("not connected")
        self.transport.write(data)
        if self._drained is not None:
            await self._drained

    async def read(self) -> bytes:
        """Return what has arrived, waiting for at least one byte; empty at the end. Raises OSError when it broke."""
        while not self._arrived:
            if self._eof:
                if isinstance(self._error, OSError):
                    raise self._error
                return b""
            self._reader = self.loop.create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        data = bytes(self._arrived)
        self._arrived.clear()
        if self._reading_paused and self.transport is not None:
            self._reading_paused = False
            self.transport.resume_reading()
        return data

    def abort(self) -> None:
        """Close at once; the other side sees it."""
        self.is_open = False
        if self.transport is not None and not self.loop.is_closed():
            self.transport.abort()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)


async def connect(route: Route, environ: Mapping[str, str], timeout_s: float) -> HttpConnection:
    """Open a connection. Raises `UnavailableError` (or `AuthError` when a proxy refuses our credentials)."""
    via = route.proxy
    where: str | Sentence = f"{route.host}:{route.port}"
    if via:
        where = Sentence("{server} through the proxy {proxy}", server=where, proxy=via.shown)
    connection = HttpConnection(route, asyncio.get_running_loop())
    try:
        async with asyncio.timeout(timeout_s):
            await _open(connection, environ)
    except TimeoutError:
        connection.abort()
        raise UnavailableError(
            "No connection to {where} within {seconds:g} s. Check the address and the network.",
            where=where,
            seconds=timeout_s,
        ) from None
    except ssl.SSLCertVerificationError as error:
        connection.abort()
        raise UnavailableError(
            "The certificate of {where} could not be verified ({reason}). If it is signed by an authority of your own, "
            "set SSL_CERT_FILE to that authority's certificate.",
            where=where,
            reason=error.verify_message,
            retryable=False,
        ) from None
    except OSError as error:
        connection.abort()
        raise _cannot_connect(where, error) from None
    except BaseException:
        connection.abort()
        raise
    return connection


async def _open(connection: HttpConnection, environ: Mapping[str, str]) -> None:
    route, loop = connection.route, connection.loop
    first = route.proxy or Url(route.scheme, route.host, route.port, "/")
    context = tls_context(environ) if first.scheme == "https" else None
    transport, _ = await loop.create_connection(
        lambda: connection,
        first.host,
        first.port,
        ssl=context,
        happy_eyeballs_delay=0.25 if not _is_address(first.host) else None,
    )
    sock = transport.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if route.is_tunnelled:
        await _tunnel(connection, first)
        upgraded = await loop.start_tls(transport, connection, tls_context(environ), server_hostname=route.host)
        if upgraded is None:
            raise ConnectionResetError("the proxy closed the tunnel")
        connection.use(upgraded)


async def _tunnel(connection: HttpConnection, proxy: Url) -> None:
    route = connection.route
    host = f"[{route.host}]" if ":" in route.host else route.host
    lines = [f"CONNECT {host}:{route.port} HTTP/1.1", f"Host: {host}:{route.port}"]
    if proxy.userinfo:
        lines.append("Proxy-Authorization: " + basic_auth(proxy.userinfo))
    await connection.write(("\r\n".join(lines) + "\r\n\r\n").encode("ascii"))
    answer = b""
    while b"\r\n\r\n" not in answer:
        data = await connection.read()
        answer += data
        if not data or len(answer) > MAX_PROXY_ANSWER_BYTES:
            raise ConnectionResetError("the proxy gave no answer to CONNECT")
    status = answer.split(b" ", 2)[1:2]
    if status == [b"200"]:
        return
    code = status[0].decode("latin-1") if status else "?"
    if code == "407":
        raise AuthError(
            "The proxy {proxy} wants a user and password. Put them into HTTPS_PROXY (http://user:password@host:port).",
            proxy=proxy.shown,
        )
    raise UnavailableError(
        "The proxy {proxy} refused the way to {server} (status {code}). Check HTTPS_PROXY and NO_PROXY.",
        proxy=proxy.shown,
        server=f"{route.host}:{route.port}",
        code=code,
    )


def tls_context(environ: Mapping[str, str]) -> ssl.SSLContext:
    """Return a context that verifies against SSL_CERT_FILE or SSL_CERT_DIR where set, else against the system's
    authorities."""
    file = environ.get("SSL_CERT_FILE") or None
    folder = environ.get("SSL_CERT_DIR") or None
    if file is None and folder is None:
        return _system_context()
    for name, path in (("SSL_CERT_FILE", file), ("SSL_CERT_DIR", folder)):
        if path is not None and not os.path.exists(path):
            raise UnavailableError("{name} names {path}, which does not exist.", name=name, path=path, retryable=False)
    return _context_of(file, folder)


@cache
def _context_of(file: str | None, folder: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=file, capath=folder)
    except ssl.SSLError:
        raise UnavailableError(
            "SSL_CERT_FILE ({path}) holds no readable certificates.", path=file, retryable=False
        ) from None


@cache
def _system_context() -> ssl.SSLContext:
    paths = ssl.get_default_verify_paths()
    if not (paths.cafile or paths.capath):
        # An interpreter built elsewhere may look for authorities where this machine keeps none.
        bundle = next((path for path in KNOWN_CA_BUNDLES if os.path.exists(path)), None)
        return ssl.create_default_context(cafile=bundle)
    return ssl.create_default_context()


def _cannot_connect(where: str | Sentence, error: OSError) -> UnavailableError:
    if isinstance(error, ssl.SSLError):
        return UnavailableError(
            "No TLS connection to {where}: {reason}. Does the server speak https?",
            where=where,
            reason=error.reason or error,
        )
    if isinstance(error, socket.gaierror):
        return UnavailableError(
            "The name in {where} could not be looked up. Check the address and the network.", where=where
        )
    if isinstance(error, ConnectionRefusedError) or error.errno == errno.ECONNREFUSED:
        return UnavailableError(
            "Nothing answers at {where}. Is the server running, and is the address right?", where=where
        )
    # asyncio joins several failures ("Multiple exceptions: …") into one text; its first line is enough.
    reason = error.strerror or str(error) or type(error).__name__
    return UnavailableError(
        "No connection to {where}: {reason}. Check the address and the network.",
        where=where,
        reason=reason.splitlines()[0],
    )


def _is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdecimal()
