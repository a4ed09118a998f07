"""The gate by itself: who is let through, for requests and WebSockets, and what is recorded of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from nebula.events import new_trace_id
from nebula.server.asgi import Message, Receive, Scope, Send
from nebula.server.gate import PASSAGE, Gate, Passage, Rules, body_limit, own_hosts
from nebula.server.serving import Listener, is_loopback, rules_for
from rows import each_row

PORT = 8787
TOKEN = "s3cret-ß"
RULES = Rules(hosts=own_hosts("127.0.0.1", PORT))


@dataclass
class Visit:
    """One connection through a gate to an app that echoes, and what came of it."""

    rules: Rules = RULES
    sent: list[Message] = field(default_factory=list)
    recorded: list[tuple[str, str, int]] = field(default_factory=list)
    reached: list[Passage] = field(default_factory=list)
    fails: BaseException | None = None

    async def http(
        self,
        headers: Sequence[tuple[str, str]] = (("host", f"127.0.0.1:{PORT}"),),
        *,
        path: str = "/x",
        parts: Sequence[bytes] = (),
        query: bytes = b"",
        gone: bool = False,
        method: str = "POST",
    ) -> int:
        messages: list[Message] = [
            {"type": "http.request", "body": part, "more_body": gone or index + 1 < len(parts)}
            for index, part in enumerate(parts)
        ]
        messages.append({"type": "http.disconnect"})
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
        scope = {"type": "http", "method": method, "path": path, "headers": raw, "query_string": query}

        async def receive() -> Message:
            return messages.pop(0)

        await self._gate()(scope, receive, self._send)
        return int(self.sent[0]["status"]) if self.sent else 0

    async def websocket(
        self, headers: Sequence[tuple[str, str]], *, query: bytes = b"", can_answer: bool = True
    ) -> Message:
        raw = [(name.encode(), value.encode()) for name, value in headers]
        extensions: dict[str, Any] = {"websocket.http.response": {}} if can_answer else {}
        scope = {"type": "websocket", "path": "/ws", "headers": raw, "query_string": query, "extensions": extensions}

        async def receive() -> Message:
            return {"type": "websocket.connect"}

        await self._gate()(scope, receive, self._send)
        return self.sent[0]

    @property
    def error(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.sent[1]["body"])["error"]
        return found

    def _gate(self) -> Gate:
        def record(passage: Passage, status: int) -> None:
            self.recorded.append((passage.trace_id, passage.path, status))

        return Gate(self._app, self.rules, record)

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.reached.append(scope[PASSAGE])
        if self.fails is not None:
            raise self.fails
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.accept"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": scope[PASSAGE].body})

    async def _send(self, message: Message) -> None:
        self.sent.append(message)


def ours(*more: tuple[str, str]) -> list[tuple[str, str]]:
    return [("host", f"127.0.0.1:{PORT}"), *more]


HOSTS = [
    (f"127.0.0.1:{PORT}", 200),
    (f"localhost:{PORT}", 200),
    (f"LOCALHOST:{PORT}", 200),
    (f"[::1]:{PORT}", 200),
    ("127.0.0.1", 403),
    ("127.0.0.1:80", 403),
    ("localhost:9999", 403),
    (f"evil.example:{PORT}", 403),
    (f"127.0.0.1.evil.example:{PORT}", 403),
    (f"localhost.:{PORT}", 403),
    (f"user@127.0.0.1:{PORT}", 403),
    (f"127.0.0.1:{PORT}, evil.example", 403),
    (f"127.1:{PORT}", 403),
    (f"2130706433:{PORT}", 403),
    (f"0.0.0.0:{PORT}", 403),
    ("", 403),
]


@each_row(("host", "status"), HOSTS)
async def test_host(host: str, status: int) -> None:
    visit = Visit()
    assert await visit.http([("host", host)]) == status
    assert bool(visit.reached) == (status == 200)
    assert [line[2] for line in visit.recorded] == [status]


async def test_no_host_and_two_hosts() -> None:
    assert await Visit().http([]) == 403
    assert await Visit().http(ours(("host", f"127.0.0.1:{PORT}"))) == 400
    assert await Visit().http(ours(("x-forwarded-host", "evil.example"))) == 200
    forwarded = [("host", "evil.example"), ("x-forwarded-host", f"127.0.0.1:{PORT}")]
    assert await Visit().http(forwarded) == 403


async def test_a_body_has_one_length() -> None:
    """A proxy that goes by the other one would take the next request for a body, or a body for the next request."""
    visit = Visit()
    assert await visit.http(ours(("content-length", "5"), ("transfer-encoding", "chunked"))) == 400
    assert not visit.reached and (b"connection", b"close") in visit.sent[0]["headers"]


ORIGINS = [
    (f"http://127.0.0.1:{PORT}", 200),
    (f"http://localhost:{PORT}", 200),
    (f"http://[::1]:{PORT}", 200),
    ("http://localhost:3000", 403),
    ("http://127.0.0.1", 403),
    (f"https://127.0.0.1:{PORT}", 403),
    ("http://evil.example", 403),
    (f"http://127.0.0.1:{PORT}.evil.example", 403),
    (f"http://127.0.0.1:{PORT}/", 403),
    (f"http://evil@127.0.0.1:{PORT}", 403),
    ("null", 403),
    ("", 403),
    ("file://", 403),
    ("chrome-extension://abc", 403),
]


@each_row(("origin", "status"), ORIGINS)
@each_row("kind", ["http", "websocket"])
async def test_origin(origin: str, status: int, kind: str) -> None:
    visit = Visit()
    if kind == "http":
        assert await visit.http(ours(("origin", origin))) == status
    else:
        first = await visit.websocket(ours(("origin", origin)))
        expected = "websocket.accept" if status == 200 else "websocket.http.response.start"
        assert first["type"] == expected
        assert first.get("status", 200) == status
    assert bool(visit.reached) == (status == 200)
    assert len(visit.recorded) == 1


@each_row(("site", "status"), [("none", 200), ("same-origin", 200), ("same-site", 403), ("cross-site", 403), ("", 403)])
async def test_where_a_browser_says_it_comes_from(site: str, status: int) -> None:
    assert await Visit().http(ours(("sec-fetch-site", site))) == status


GUARDED = Rules(hosts=own_hosts("127.0.0.1", PORT), token="s3cret")
TOKENS = [
    ([("authorization", "Bearer s3cret")], 200),
    ([("authorization", "bearer s3cret")], 200),
    ([("authorization", "Bearer  s3cret ")], 200),
    ([], 401),
    ([("authorization", "Bearer wrong")], 401),
    ([("authorization", "Bearer ")], 401),
    ([("authorization", "Bearer")], 401),
    ([("authorization", "s3cret")], 401),
    ([("authorization", "Basic s3cret")], 401),
    ([("authorization", "Bearer s3cre")], 401),
    ([("authorization", "Bearer s3crett")], 401),
    ([("authorization", "Bearer S3CRET")], 401),
    ([("authorization", "Bearer \xff\xfe")], 401),
    ([("authorization", "Bearer s3cret"), ("authorization", "Bearer s3cret")], 400),
    ([("x-token", "s3cret")], 401),
]


@each_row(("headers", "status"), TOKENS)
async def test_token(headers: list[tuple[str, str]], status: int) -> None:
    visit = Visit(GUARDED)
    assert await visit.http(ours(*headers)) == status
    if status == 401:
        assert (b"www-authenticate", b"Bearer") in visit.sent[0]["headers"]
    assert "s3cret" not in repr(GUARDED)


async def test_a_token_may_hold_any_text() -> None:
    rules = Rules(hosts=RULES.hosts, token=TOKEN)
    shown = f"Bearer {TOKEN}".encode().decode("latin-1")
    assert await Visit(rules).http(ours(("authorization", shown))) == 200


async def test_the_open_path_needs_no_token_but_the_right_host() -> None:
    assert await Visit(GUARDED).http(path="/healthz") == 200
    assert await Visit(GUARDED).http(path="/healthz/") == 401
    assert await Visit(GUARDED).http([("host", "evil.example")], path="/healthz") == 403


async def test_token_in_the_query_only_where_allowed() -> None:
    assert await Visit(GUARDED).http(query=b"token=s3cret") == 401
    rules = Rules(hosts=RULES.hosts, token="s3cret", for_browsers=True)
    assert await Visit(rules).http(query=b"token=s3cret") == 200
    assert await Visit(rules).http(query=b"token=wrong") == 401
    assert (await Visit(rules).websocket(ours(), query=b"a=1&token=s3cret"))["type"] == "websocket.accept"


async def test_a_websocket_may_show_its_token_later_where_allowed() -> None:
    late = Rules(hosts=RULES.hosts, token="s3cret", for_browsers=True)
    visit = Visit(late)
    assert (await visit.websocket(ours()))["type"] == "websocket.accept"
    assert visit.reached[0].authorized is False
    visit = Visit(late)
    await visit.websocket(ours(("authorization", "Bearer s3cret")))
    assert visit.reached[0].authorized is True
    assert (await Visit(late).websocket(ours(), query=b"token=wrong"))["status"] == 401
    assert (await Visit(late).websocket(ours(("authorization", "Bearer wrong"))))["status"] == 401
    assert (await Visit(GUARDED).websocket(ours()))["status"] == 401
    assert await Visit(late).http() == 401, "a request has no later"


async def test_a_websocket_refused_by_a_server_that_can_only_close() -> None:
    visit = Visit()
    first = await visit.websocket([("host", "evil.example")], can_answer=False)
    assert first["type"] == "websocket.close"
    assert [line[2] for line in visit.recorded] == [403]


TRACES = [
    "not-a-uuid", "", " ", "0192f0c1", "0192f0c1-2345-7abc-8def-0123456789a", "0192f0c1-2345-7abc-8def-0123456789abc",
    "{0192f0c1-2345-7abc-8def-0123456789ab}", "urn:uuid:0192f0c1-2345-7abc-8def-0123456789ab", "x" * 9000,
    "0192f0c1-2345-7abc-8def-0123456789ag", "0192f0c123457abc8def0123456789ab", "\xb2192f0c1-2345-7abc-8def-0123456789ab",
    "0192f0c1-2345-7abc-8def-0123456789ab\n",
]  # fmt: skip


@each_row("trace", TRACES)
async def test_a_malformed_trace_id_is_refused_and_replaced(trace: str) -> None:
    visit = Visit()
    assert await visit.http(ours(("x-trace-id", trace))) == 400
    assert visit.error["code"] == "malformed_trace_id"
    returned = dict(visit.sent[0]["headers"])[b"x-trace-id"].decode()
    assert returned == visit.error["trace_id"] == visit.recorded[0][0] != trace


@pytest.mark.parametrize("make", [new_trace_id, lambda: new_trace_id().upper()])
async def test_a_trace_id_is_kept_or_made(make: Any) -> None:
    trace_id = make()
    visit = Visit()
    assert await visit.http(ours(("x-trace-id", trace_id))) == 200
    assert dict(visit.sent[0]["headers"])[b"x-trace-id"].decode() == trace_id == visit.recorded[0][0]
    visit = Visit()
    await visit.http()
    assert len(dict(visit.sent[0]["headers"])[b"x-trace-id"]) == 36


SMALL = Rules(hosts=RULES.hosts, max_body=10, body_timeout_s=0.05)


@pytest.mark.parametrize(
    ("parts", "status"),
    [([b"0123456789"], 200), ([b"01234", b"56789"], 200), ([b"01234", b"", b"567890"], 413), ([b"x" * 11], 413)],
)
async def test_the_body_is_counted_while_it_comes(parts: list[bytes], status: int) -> None:
    visit = Visit(SMALL)
    assert await visit.http(ours(("transfer-encoding", "chunked")), parts=parts) == status
    assert [line[2] for line in visit.recorded] == [status]
    if status == 200:
        assert visit.reached[0].body == b"".join(parts) == visit.sent[1]["body"]


async def test_a_sender_that_asks_first_is_told_before_it_sends() -> None:
    visit = Visit(SMALL)
    assert await visit.http(ours(("content-length", "11"), ("expect", "100-continue"))) == 413


async def test_a_client_that_leaves_is_recorded_once() -> None:
    visit = Visit(SMALL)
    assert await visit.http(ours(("content-length", "10")), parts=[b"01"], gone=True) == 0
    assert [line[2] for line in visit.recorded] == [499]
    assert not visit.reached


async def test_a_body_that_never_comes_ends_in_408() -> None:
    visit = Visit(SMALL)
    sent: list[Message] = []

    async def never() -> Message:
        await asyncio.sleep(60)
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/x",
        "headers": [(b"host", f"127.0.0.1:{PORT}".encode()), (b"content-length", b"5")],
    }  # fmt: skip
    await visit._gate()(scope, never, send)
    assert sent[0]["status"] == 408
    assert [line[2] for line in visit.recorded] == [408]


async def test_a_failing_app_is_answered_recorded_and_not_hidden() -> None:
    visit = Visit(fails=RuntimeError("/home/user/secret.txt"))
    with pytest.raises(RuntimeError):
        await visit.http()
    assert visit.sent[0]["status"] == 500
    assert visit.error["code"] == "internal_error" and "secret" not in visit.sent[1]["body"].decode()
    assert [line[2] for line in visit.recorded] == [500]


async def test_a_request_that_is_not_waited_for_when_the_server_stops_is_told_so() -> None:
    visit = Visit(fails=asyncio.CancelledError())
    assert await visit.http() == 503
    assert visit.error["code"] == "stopped"
    assert [line[2] for line in visit.recorded] == [503]


async def test_answers_are_neither_kept_nor_guessed_at() -> None:
    visit = Visit()
    await visit.http()
    assert (b"cache-control", b"no-store") in visit.sent[0]["headers"]
    assert (b"x-content-type-options", b"nosniff") in visit.sent[0]["headers"]


def test_listening_everywhere_takes_numeric_addresses_but_no_names() -> None:
    rules = rules_for(Listener(None, "0.0.0.0", PORT), "files.lan", token="t")  # type: ignore[arg-type]
    for host in (f"192.168.1.7:{PORT}", f"[fe80::1]:{PORT}", f"127.0.0.1:{PORT}", f"files.lan:{PORT}"):
        assert rules.knows_host(host), host
    for host in ("192.168.1.7", "192.168.1.7:1", f"evil.example:{PORT}", f"[x]:{PORT}", f":{PORT}", ""):
        assert not rules.knows_host(host), host


def test_port_80_goes_without_saying() -> None:
    assert {"localhost", "localhost:80", "127.0.0.1"} <= own_hosts("127.0.0.1", 80)
    assert "localhost" not in own_hosts("127.0.0.1", 8787)


@each_row(
    ("host", "alone"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False),
     ("192.168.0.1", False), ("example.org", False), ("", False)],
)  # fmt: skip
def test_what_is_loopback(host: str, alone: bool) -> None:
    assert is_loopback(host) is alone


def test_the_body_limit_leaves_room_for_escapes() -> None:
    text = "\x01" * 524_288
    assert len(json.dumps({"path": "a.txt", "content": text, "mode": "create"})) < body_limit(524_288)
