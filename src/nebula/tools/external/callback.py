"""Receive the answer of a sign-in: a server on loopback to which the browser is sent back, for one answer."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qs, urlsplit

from nebula.errors import NebulaError

if TYPE_CHECKING:
    from mcp.shared.auth import AuthorizationCodeResult

PATIENCE_S = 300.0
_LONGEST_REQUEST = 16 * 1024
_READ_S = 10.0
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class NoAnswer(NebulaError):
    """The browser brought a refusal, or nothing."""


class Callback:
    """Listens while it is entered; `address` is where the sign-in server sends people back to."""

    def __init__(self, page: str) -> None:
        self._page = page
        self._state = ""
        self._answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self.address = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_LONGEST_REQUEST)
        self.address = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/callback"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._server.wait_closed(), 1)

    def expect(self, address: str) -> None:
        """Read from the sign-in address what the answer must contain. Raises NoAnswer."""
        parts = urlsplit(address)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
            raise NoAnswer("the address to sign in at is not safe: {address}", address=address[:200])
        self._state = (parse_qs(parts.query).get("state") or [""])[-1]

    async def wait(self) -> AuthorizationCodeResult:
        """Return the code that the browser brought. Raises NoAnswer."""
        from mcp.shared.auth import AuthorizationCodeResult

        try:
            found = await asyncio.wait_for(self._answer, PATIENCE_S)
        except TimeoutError:
            raise NoAnswer("nobody signed in within {seconds:.0f} s", seconds=PATIENCE_S) from None
        if "error" in found:
            raise NoAnswer("{reason}", reason=(found.get("error_description") or found["error"])[:200])
        return AuthorizationCodeResult(code=found["code"], state=found["state"], iss=found.get("iss"))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _READ_S)
            found = _read_answer(head)
            # Any page can send a browser here: only the answer to our own question counts.
            is_ours = bool(self._state) and secrets.compare_digest(found.get("state", ""), self._state)
            if is_ours and not self._answer.done() and ("code" in found or "error" in found):
                self._answer.set_result(found)
            body = self._page.encode() if is_ours else b""
            status = "200 OK" if is_ours else "404 Not Found"
            kind = "text/html; charset=utf-8"
            writer.write(
                f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
                "Content-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\n"
                "Connection: close\r\n\r\n".encode()
                + body
            )
            await writer.drain()
        writer.close()


def _read_answer(head: bytes) -> dict[str, str]:
    method, _, rest = head.partition(b" ")
    target = rest.partition(b" ")[0].decode("ascii", "replace")
    parts = urlsplit(target)
    if method != b"GET" or parts.path != "/callback":
        return {}
    fields: dict[str, Any] = parse_qs(parts.query)
    return {name: values[-1] for name, values in fields.items()}
