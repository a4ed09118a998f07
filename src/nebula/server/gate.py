"""One gate in front of every server, before routing, for HTTP requests and WebSockets alike.

    app = Gate(app, Rules(hosts=own_hosts("127.0.0.1", 8787), token="…"), audit=log.record)

In this order: Host, Origin, token, trace id, size of the body. Whoever fails is answered here in our one error form
and never reaches the app. The response carries `x-trace-id`, and one audit record is made for each request before
its response leaves, whatever the request held and however it ended.

An app behind the gate finds its `Passage` in `scope["nebula.passage"]`: the trace id, the whole body (already read and
within the limit), whether the token was shown, and what the audit record will say, which the app may make more telling.
Browsers are kept out by Host and Origin; a program without an Origin is let in. `X-Forwarded-*` headers mean nothing.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections.abc import Callable
from hmac import compare_digest
from typing import TYPE_CHECKING, Final

from nebula.events import new_trace_id
from nebula.server.asgi import App, Message, Receive, Scope, Send, tell_admitted
from nebula.server.refusals import Headers, Refusal, error_body, internal_error
from nebula.value import record, value

if TYPE_CHECKING:
    from nebula.workspace.audit import AuditLog

LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
BODY_ALLOWANCE: Final = 64 * 1024
MAX_DRAINED: Final = 256 * 1024 * 1024
"""How much of a body that is too large is read and dropped, so that its sender still reads the answer."""
STATUS_CLIENT_GONE: Final = 499
PASSAGE: Final = "nebula.passage"
OPEN_PATH: Final = "/healthz"
"""This path needs no token; Host and Origin are checked for it, too."""

_UUID = re.compile(rb"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
_ONCE = frozenset({b"authorization", b"content-length", b"content-type", b"host", b"origin", b"x-trace-id"})


def body_limit(max_bytes: int) -> int:
    """Return the largest body for a text of `max_bytes`: JSON may need six bytes for one."""
    return 6 * max_bytes + BODY_ALLOWANCE


@value
class Rules:
    """The rules by which a gate lets requests pass."""

    hosts: frozenset[str]
    """Our own values of `Host`, in lower case, with the port; see `own_hosts`. With http:// before them they are ours
    as `Origin`, too."""
    port_of_any_address: int = 0
    """When listening on all addresses: any numeric address with this port is ours, too, since a number cannot be
    rebound."""
    token: str = ""
    """It has to be sent as `Authorization: Bearer`; empty: none is needed."""
    for_browsers: bool = False
    """Browsers cannot set headers on a WebSocket: `?token=` counts as well, and a WebSocket without a token passes; the
    app must ask for the token while `Passage.authorized` is false."""
    max_body: int = body_limit(524_288)
    body_timeout_s: float = 60.0

    def __repr__(self) -> str:
        return f"Rules({sorted(self.hosts)})"  # a token is shown to nobody, not even in a traceback

    def knows_host(self, host: str) -> bool:
        return host in self.hosts or (self.port_of_any_address > 0 and self._is_address(host))

    def knows_origin(self, origin: str) -> bool:
        scheme, _, host = origin.partition("://")
        return scheme == "http" and self.knows_host(host)

    def asks_token(self, path: str) -> bool:
        return bool(self.token) and path != OPEN_PATH

    def _is_address(self, host: str) -> bool:
        name, _, port = host.rpartition(":")
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return port == str(self.port_of_any_address)


def own_hosts(host: str, port: int, *also: str) -> frozenset[str]:
    """Return the `Host` values of a server bound to this host and port; browsers leave out port 80."""
    written = f"[{host}]" if ":" in host else host
    names = {name.lower() for name in (*LOOPBACK_NAMES, written, *also)}
    return frozenset(f"{name}:{port}" for name in names) | (names if port == 80 else frozenset())


@record
class Passage:
    """One request on its way through the gate, and what the audit log will record of it."""

    trace_id: str
    method: str
    path: str
    size: int = 0
    """Bytes of the text that was read or written, if the app knows them, else of the request's body."""
    authorized: bool = True
    body: bytes = b""
    content_type: str = ""
    recorded: bool = False
    renames: tuple[int, int] | None = None
    """For a request that lists moved files: how many, and how many of them the index has now."""


Record = Callable[[Passage, int], None]
"""Called once for each request, with the passage and the status of its response."""


def recorder(audit: AuditLog | None, from_status: int = 0) -> Record | None:
    """Return a function that writes requests to the audit log: all, or only those whose response has at least this
    status."""
    if audit is None:
        return None

    def record(passage: Passage, status: int) -> None:
        if status >= from_status:
            audit.record(passage.trace_id, passage.method, passage.path, passage.size, status, passage.renames)

    return record


class Gate:
    def __init__(self, app: App, rules: Rules, audit: Record | None = None) -> None:
        self.app = app
        self.rules = rules
        self._audit = audit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers, repeated = _pick(scope["headers"])
        given = headers.get(b"x-trace-id")
        trace_id = given.decode() if given and _UUID.fullmatch(given) else new_trace_id()
        passage = Passage(trace_id, scope.get("method", "WEBSOCKET"), scope["path"])
        scope[PASSAGE] = passage
        door = self._http if scope["type"] == "http" else self._websocket
        try:
            await door(scope, receive, send, passage, headers, repeated)
        finally:
            # Used only if nothing was recorded: cancelled, or nobody left to answer.
            self._record(passage, STATUS_CLIENT_GONE)

    async def _http(
        self, scope: Scope, receive: Receive, send: Send, passage: Passage, headers: dict[bytes, bytes], repeated: bytes
    ) -> None:
        started = False

        async def stamped(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                self._record(passage, message["status"])  # no answer is sent that is not in the audit log
                started = True
                message["headers"] = _add_headers(list(message.get("headers", ())), passage)
            await send(message)

        try:
            self._admit(scope, passage, headers, repeated)
            if b"content-length" in headers or b"transfer-encoding" in headers:
                passage.body = await self._read(receive, headers)
                passage.size = len(passage.body)
                receive = _replay_body(passage.body, receive)
            await self.app(scope, receive, stamped)
        except Refusal as refusal:
            await _answer(stamped, refusal, passage)
        except _ClientGone:
            return
        except asyncio.CancelledError:  # the server is being stopped, and does not wait any longer
            if not started:
                await _answer(
                    stamped, Refusal("The server is being stopped; ask again.", status=503, code="stopped"), passage
                )
        except Exception:
            if not started:
                await _answer(stamped, internal_error(), passage)
            raise  # the server logs it; the client is told nothing of it

    async def _websocket(
        self, scope: Scope, receive: Receive, send: Send, passage: Passage, headers: dict[bytes, bytes], repeated: bytes
    ) -> None:
        async def stamped(message: Message) -> None:
            if message["type"] == "websocket.accept":
                message["headers"] = [*message.get("headers", ()), (b"x-trace-id", passage.trace_id.encode())]
                self._record(passage, 101)
            elif message["type"] == "websocket.http.response.start":
                self._record(passage, message["status"])
            elif message["type"] == "websocket.close":
                self._record(passage, 403)  # used only before it was accepted
            await send(message)

        try:
            self._admit(scope, passage, headers, repeated)
        except Refusal as refusal:
            await receive()
            await _deny(scope, stamped, refusal, passage)
            return
        if passage.authorized:
            tell_admitted(scope)
        await self.app(scope, receive, stamped)

    def _admit(self, scope: Scope, passage: Passage, headers: dict[bytes, bytes], repeated: bytes) -> None:
        if repeated:
            raise Refusal(
                "The header '{name}' was sent more than once.",
                status=400,
                code="malformed_headers",
                name=repeated.decode(),
            )
        if b"content-length" in headers and b"transfer-encoding" in headers:
            # A proxy in front may go by the other one, and take for a body what would be the next request here.
            raise Refusal(
                "The length of the body was given in two ways.", status=400, code="malformed_headers", headers=_CLOSE
            )
        if not self.rules.knows_host(_text(headers, b"host").lower()):
            raise Refusal("This server does not answer to that Host.", status=403, code="foreign_host")
        origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site", b"none")
        if (origin is not None and not self.rules.knows_origin(origin.decode("latin-1").lower())) or site not in {
            b"same-origin",
            b"none",
        }:
            raise Refusal("This server does not answer to pages of another origin.", status=403, code="foreign_origin")
        if self.rules.asks_token(scope["path"]) and not self._shows_token(scope, headers):
            passage.authorized = False
            if scope["type"] == "http" or not self.rules.for_browsers or _has_sent_token(scope, headers):
                raise Refusal(
                    "Send the server's token as 'Authorization: Bearer …'.",
                    status=401,
                    code="unauthorized",
                    headers=[(b"www-authenticate", b"Bearer")],
                )
        if headers.get(b"x-trace-id") is not None and passage.trace_id.encode() != headers[b"x-trace-id"]:
            raise Refusal("The header 'x-trace-id' must be a UUID.", status=400, code="malformed_trace_id")
        passage.content_type = _text(headers, b"content-type")

    def _shows_token(self, scope: Scope, headers: dict[bytes, bytes]) -> bool:
        scheme, _, shown = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer" and self._is_token(shown.strip()):
            return True
        return self.rules.for_browsers and self._is_token(_query_token(scope))

    def _is_token(self, shown: bytes) -> bool:
        return compare_digest(shown, self.rules.token.encode())

    async def _read(self, receive: Receive, headers: dict[bytes, bytes]) -> bytes:
        declared = _text(headers, b"content-length")
        if declared.isdigit() and int(declared[:20]) > self.rules.max_body and b"expect" in headers:
            raise self._too_large()  # its sender waits for an answer before sending the rest
        try:
            async with asyncio.timeout(self.rules.body_timeout_s):
                return await self._collect(receive)
        except TimeoutError:
            raise Refusal(
                "The body of the request did not arrive in time.", status=408, code="timeout", headers=_CLOSE
            ) from None

    async def _collect(self, receive: Receive) -> bytes:
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _ClientGone
            part = message.get("body", b"")
            size += len(part)
            if size <= self.rules.max_body:
                parts.append(part)
            else:
                parts.clear()
                if size > MAX_DRAINED:
                    raise self._too_large()
            if not message.get("more_body", False):
                break
        if size > self.rules.max_body:
            raise self._too_large()
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _too_large(self) -> Refusal:
        return Refusal(
            "The request is larger than the {limit} bytes allowed.",
            status=413,
            code="too_large",
            headers=_CLOSE,
            limit=self.rules.max_body,
        )

    def _record(self, passage: Passage, status: int) -> None:
        if not passage.recorded:
            passage.recorded = True
            if self._audit is not None:
                self._audit(passage, status)


_CLOSE: Headers = [(b"connection", b"close")]
_CAREFUL: Headers = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]


class _ClientGone(Exception):
    """Raised when the client disconnected before its request was complete."""


def _pick(headers: list[tuple[bytes, bytes]]) -> tuple[dict[bytes, bytes], bytes]:
    """Return the headers by name, and the first one that came twice but may not."""
    picked: dict[bytes, bytes] = {}
    repeated = b""
    for name, content in headers:
        if name in picked and name in _ONCE:
            repeated = repeated or name
        picked[name] = content
    return picked, repeated


def _text(headers: dict[bytes, bytes], name: bytes) -> str:
    return headers.get(name, b"").decode("latin-1")


def _query_token(scope: Scope) -> bytes:
    from urllib.parse import parse_qs

    query: bytes = scope.get("query_string", b"")
    shown = parse_qs(query.decode("latin-1")).get("token", [""])
    return shown[0].encode("utf-8", "replace")


def _has_sent_token(scope: Scope, headers: dict[bytes, bytes]) -> bool:
    """Return whether a token was sent. A wrong one is refused at once; without one there is time for a first
    message."""
    return b"authorization" in headers or bool(_query_token(scope))


def _add_headers(headers: list[tuple[bytes, bytes]], passage: Passage) -> list[tuple[bytes, bytes]]:
    """Return the headers with the trace id, and with those that forbid caching and guessing the type unless the app
    sets them."""
    names = {name for name, _ in headers}
    headers.append((b"x-trace-id", passage.trace_id.encode()))
    headers += [header for header in _CAREFUL if header[0] not in names]
    return headers


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that yields the body that was read already, then whatever the server sends next."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


async def _answer(send: Send, refusal: Refusal, passage: Passage, kind: str = "http") -> None:
    body = error_body(refusal.code, str(refusal), passage.trace_id)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *refusal.headers]
    await send({"type": f"{kind}.response.start", "status": refusal.status, "headers": headers})
    await send({"type": f"{kind}.response.body", "body": body})


async def _deny(scope: Scope, send: Send, refusal: Refusal, passage: Passage) -> None:
    """Refuse a WebSocket before it opens: with a proper answer if the server can send one."""
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1008, "reason": str(refusal)})
    else:
        await _answer(send, refusal, passage, "websocket.http")
