"""Fetch one page: from addresses that were checked before, within limits of time and size, as text.

The connection goes to the addresses that `look_up` found and judged, never to what the name means a moment later.
"""

from __future__ import annotations

import codecs
import contextlib
import http.client
import ipaddress
import os
import re
import socket
import ssl
import time
import zlib

from nebula.errors import NebulaError
from nebula.llm.http.proxies import basic_auth, proxy_for
from nebula.llm.http.url import Url
from nebula.messages import strip_control_characters
from nebula.tools.web.html_text import html_to_text
from nebula.value import value

MOST_SECONDS = 30.0
MOST_BYTES = 2 * 1024 * 1024
_CHUNK = 64 * 1024
_AGENT = "nebula (fetchUrl)"
_TEXT = re.compile(r"text/|application/(?:[\w.+-]*\+)?(?:json|xml|javascript|yaml|toml)|application/x-(?:sh|ndjson)")
_HTML = ("text/html", "application/xhtml+xml")
_SLOW = ("idna", "punycode")
"""Encodings of names, not of pages: Python reads them in a time that grows with the square of the length."""
_REDIRECTS = (301, 302, 303, 307, 308)


class NotFetched(NebulaError):
    """Raised where the page could not be fetched; the sentence says why."""


class Deadline:
    """The time that one call has left, and its connection, which is closed when the call is given up."""

    def __init__(self, seconds: float = MOST_SECONDS) -> None:
        self.seconds = seconds
        self.restart()
        self.socket: socket.socket | None = None

    def restart(self) -> None:
        self._end = time.monotonic() + self.seconds

    def left(self) -> float:
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise NotFetched("it took longer than {seconds} seconds", seconds=round(self.seconds))
        return seconds

    def give_up(self) -> None:
        self._end = 0.0
        if self.socket is not None:
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)


@value
class Target:
    """A page, and the addresses of its host."""

    url: Url
    addresses: tuple[str, ...] = ()
    """Empty where only a proxy can look the host up."""
    private: bool = False
    """One of the addresses belongs to this machine or to a private network."""
    proxy: Url | None = None


@value
class Page:
    status: int
    text: str = ""
    location: str | None = None
    """Of a redirect: its target."""
    cut: bool = False


def look_up(url: Url) -> Target:
    """Return the addresses of a host. Raises OSError where it has none."""
    proxy = proxy_for(url, os.environ)
    try:
        found = socket.getaddrinfo(url.host, url.port, type=socket.SOCK_STREAM)
    except OSError:
        if proxy is None:
            raise
        return Target(url, private=url.is_loopback or "." not in url.host, proxy=proxy)
    addresses = tuple(dict.fromkeys(str(each[4][0]) for each in found))
    return Target(url, addresses, any(map(is_private, addresses)), proxy)


def is_private(address: str) -> bool:
    """Return whether an address is not public; an IPv6 address may contain such an IPv4 address."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    inner: list[ipaddress.IPv4Address | None] = []
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = [parsed.ipv4_mapped, parsed.sixtofour, *(parsed.teredo or ())]
        if parsed in ipaddress.ip_network("64:ff9b::/96"):
            inner.append(ipaddress.IPv4Address(int(parsed) & 0xFFFF_FFFF))
    return not parsed.is_global or parsed.is_multicast or any(each and not each.is_global for each in inner)


def fetch(target: Target, deadline: Deadline) -> Page:
    """Request one page and return it, or its redirect. Raises NotFetched, OSError."""
    connection = _Pinned(target, deadline)
    try:
        url = target.url
        through_proxy = target.proxy is not None and url.scheme == "http"
        asked = f"http://{url.authority}{url.target}" if through_proxy else url.target
        connection.request("GET", asked, headers=_headers(target, through_proxy))
        with connection.getresponse() as answer:
            if answer.status in _REDIRECTS and (location := answer.getheader("Location")):
                return Page(answer.status, location=location)
            return _read(answer, deadline)
    except (http.client.HTTPException, OSError) as problem:
        deadline.left()  # it was closed because time was up: that is the reason then
        if isinstance(problem, OSError):
            raise
        raise NotFetched("the answer is not HTTP ({problem})", problem=type(problem).__name__) from None
    finally:
        connection.close()


def _headers(target: Target, through_proxy: bool) -> dict[str, str]:
    headers = {
        "Host": target.url.authority,
        "User-Agent": _AGENT,
        "Accept": "text/*, application/json, application/xml;q=0.9, */*;q=0.1",
        "Accept-Encoding": "gzip",
        "Connection": "close",
    }
    if through_proxy and target.proxy is not None and target.proxy.userinfo:
        headers["Proxy-Authorization"] = basic_auth(target.proxy.userinfo)
    return headers


class _Pinned(http.client.HTTPConnection):
    """A connection to one of the addresses that were checked, or to the proxy."""

    def __init__(self, target: Target, deadline: Deadline) -> None:
        super().__init__(target.url.host, target.url.port)
        self._target = target
        self._deadline = deadline

    def connect(self) -> None:
        url, proxy = self._target.url, self._target.proxy
        if proxy is not None:
            self.sock = socket.create_connection((proxy.host, proxy.port), self._deadline.left())
            if url.scheme == "https":
                self._open_tunnel(url, proxy)
        else:
            self.sock = self._reach_one()
        self._deadline.socket = self.sock
        if url.scheme == "https":
            context = ssl.create_default_context()
            self.sock = context.wrap_socket(self.sock, server_hostname=url.host)
        self._deadline.socket = self.sock

    def _reach_one(self) -> socket.socket:
        problem: OSError | None = None
        for address in self._target.addresses:
            try:
                return socket.create_connection((address, self._target.url.port), min(self._deadline.left(), 10.0))
            except OSError as failed:
                problem = failed
        raise problem or OSError("the host has no address")

    def _open_tunnel(self, url: Url, proxy: Url) -> None:
        lines = [f"CONNECT {url.host}:{url.port} HTTP/1.1", f"Host: {url.host}:{url.port}"]
        if proxy.userinfo:
            lines.append(f"Proxy-Authorization: {basic_auth(proxy.userinfo)}")
        self.sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("ascii"))
        answer = b""
        while not answer.endswith(b"\r\n\r\n") and len(answer) < _CHUNK and (byte := self.sock.recv(1)):
            answer += byte
        if not re.match(rb"HTTP/1\.[01] 200\b", answer):
            raise NotFetched("the proxy {proxy} refused the connection", proxy=proxy.shown)


def _read(answer: http.client.HTTPResponse, deadline: Deadline) -> Page:
    kind = (answer.getheader("Content-Type") or "text/plain").lower()
    if not _TEXT.match(kind.strip()):
        raise NotFetched("it is {kind}, not text", kind=kind.partition(";")[0][:80])
    packed, cut = _read_body(answer, deadline)
    body, cut_here = _unpack(packed, answer.getheader("Content-Encoding") or "")
    text = _decode(body, kind)
    if kind.startswith(_HTML):
        text = html_to_text(text)
    return Page(answer.status, text, cut=cut or cut_here)


def _read_body(answer: http.client.HTTPResponse, deadline: Deadline) -> tuple[bytes, bool]:
    """Return the body up to the size limit, and whether it was longer."""
    parts: list[bytes] = []
    size = 0
    while size < MOST_BYTES:
        deadline.left()
        part = answer.read1(min(_CHUNK, MOST_BYTES - size))
        if not part:
            return b"".join(parts), False
        parts.append(part)
        size += len(part)
    return b"".join(parts), True


def _unpack(body: bytes, encoding: str) -> tuple[bytes, bool]:
    if encoding.strip().lower() not in ("gzip", "x-gzip", "deflate"):
        return body, False
    reader = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        return reader.decompress(body, MOST_BYTES), bool(reader.unconsumed_tail)
    except zlib.error:
        raise NotFetched("what it sent cannot be unpacked") from None


def _decode(body: bytes, kind: str) -> str:
    declared = re.search(r"charset=[\"']?([\w.:-]+)", kind)
    in_page = re.search(rb"<meta[^>]{0,200}charset=[\"']?([\w.:-]+)", body[:4096], re.IGNORECASE)
    name = declared[1] if declared else in_page[1].decode("ascii") if in_page else "utf-8"
    try:
        text = body.decode("utf-8" if codecs.lookup(name).name in _SLOW else name, "replace")
    except (LookupError, ValueError):
        text = body.decode("utf-8", "replace")
    return strip_control_characters(text)
