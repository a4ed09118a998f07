"""What strangers can do to a server before they show a token: nothing that others notice."""

from __future__ import annotations

import asyncio
import base64
import os
import resource
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from conversation_rig import Server, serving, talk
from gateway_rig import gateway_command, served
from nebula.server.asgi import App, Receive, Scope, Send
from nebula.server.connections import ConnectionLimits
from nebula.server.gate import Gate, Rules, own_hosts
from nebula.server.serving import listen

pytestmark = pytest.mark.slow

MIB = 1 << 20
KEY = base64.b64encode(b"0123456789abcdef").decode()


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    from conftest import Bench

    folder = tmp_path_factory.mktemp("strangers")
    (folder / "project").mkdir()
    (folder / "home").mkdir()
    return Bench(folder / "project", folder / "home")


@pytest.fixture(scope="module")
def nebula(bench) -> Iterator[Server]:
    with serving(bench, "nebula") as running:
        yield running


def dial(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def all_of(connection: socket.socket) -> bytes:
    """Everything up to the end of the connection; a reset is an end as well."""
    parts = []
    try:
        while part := connection.recv(65_536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def handshake(port: int, *extra: bytes) -> bytes:
    lines = [
        b"GET / HTTP/1.1",
        b"host: 127.0.0.1:%d" % port,
        b"connection: Upgrade",
        b"upgrade: websocket",
        b"sec-websocket-version: 13",
        b"sec-websocket-key: " + KEY.encode(),
        *extra,
    ]
    return b"\r\n".join([*lines, b"", b""])


def peak_memory(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    raise AssertionError("this system tells no peak memory")


# Handshakes


@pytest.mark.parametrize(
    "header",
    [b"x-strange: a\x01b", b"x-strange: a\x7fb", b"cookie: " + b"c" * 9000, *[b"\r\n".join([b"x: y"] * 200)]],
    ids=["control", "delete", "long line", "many lines"],
)
def test_a_malformed_handshake_is_answered_and_ended(nebula: Server, header: bytes) -> None:
    with dial(nebula.port) as connection:
        connection.sendall(handshake(nebula.port, header))
        assert all_of(connection).startswith(b"HTTP/1.1 400 ")


def frame(opcode: int, payload: bytes) -> bytes:
    size = len(payload)
    head = bytes([0x80 | opcode, 0x80 | size]) if size < 126 else bytes([0x80 | opcode, 0xFF]) + struct.pack("!Q", size)
    return head + b"\0\0\0\0" + payload


@pytest.mark.parametrize("known", [False, True])
def test_a_text_that_is_not_utf8_closes_with_1007(nebula: Server, known: bool) -> None:
    shown = [b"authorization: Bearer " + nebula.token.encode()] if known else []
    with dial(nebula.port) as connection:
        connection.sendall(handshake(nebula.port, *shown))
        assert b" 101 " in connection.recv(65_536)
        connection.sendall(frame(1, b'{"action": "\xff\xfe"}'))
        closing = all_of(connection)
    assert closing[0] == 0x88 and struct.unpack("!H", closing[2:4])[0] == 1007
    assert nebula.errors == []


# Size


async def test_a_large_first_message_ends_the_connection(nebula: Server) -> None:
    before = peak_memory(nebula.process.pid)

    async def shout() -> int:
        async with connect(
            nebula.socket_url, proxy=None, max_size=None, compression=None, open_timeout=None, ping_interval=None
        ) as connection:
            try:
                await connection.send("x" * (31 * MIB))
                await connection.recv()
            except ConnectionClosed as closed:
                return closed.rcvd.code if closed.rcvd else 1006
        return 0

    codes = await asyncio.gather(*(shout() for _ in range(24)))
    assert set(codes) <= {1006, 1008, 1009}  # too large; or, on a busy machine, too late
    assert peak_memory(nebula.process.pid) - before < 48 * MIB


async def test_whoever_showed_the_token_may_say_more(nebula: Server) -> None:
    for token in (nebula.token, ""):
        async with talk(nebula, token=token) as client:
            if not token:
                await client.ask("hello", token=nebula.token)
            answer = await client.ask("create_node", prompt="x" * 200_000, response="")
            assert answer["node_id"]
            await client.ask("delete_node", node_id=answer["node_id"])


# Number


@contextmanager
def few_files(most: int) -> Iterator[None]:
    """What is started here may open so many files; we ourselves may open more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(
    "half",
    [b"GET / HTTP/1.1\r\nhost: 127", b"POST / HTTP/1.1\r\nhost: {host}\r\ncontent-length: 9\r\n\r\nabc", b"", None],
    ids=["half a head", "half a body", "nothing", "half a greeting"],
)
async def test_1400_silent_clients_stop_nobody(bench, half: bytes | None) -> None:
    with ExitStack() as stack:
        with few_files(1024):
            server = stack.enter_context(serving(bench, "nebula"))
        said = handshake(server.port) if half is None else half.replace(b"{host}", server.host.encode())
        async with talk(server) as client:
            for _ in range(1400):
                connection = stack.enter_context(dial(server.port))
                connection.sendall(said)
            async with talk(server) as late:
                assert (await late.ask("list_flows"))["status"] == "success"
            assert (await client.ask("list_flows"))["status"] == "success", "whoever was there stays"
        assert len(os.listdir(f"/proc/{server.process.pid}/fd")) < 800
    # `serving` sees to it that nothing was printed.


def test_1400_silent_clients_do_not_stop_the_gateway_either(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("still here", encoding="utf-8")
    with ExitStack() as stack:
        with few_files(1024):
            gateway = stack.enter_context(gateway_command(tmp_path, env={"EC_TOKEN": "t"}))
        assert gateway.process is not None and gateway.process.stderr is not None
        for _ in range(1400):
            stack.enter_context(dial(gateway.port)).sendall(b"POST /read_file HTTP/1.1\r\nhost: 127")
        assert gateway.post("read_file", {"path": "a.txt"}).json == {"content": "still here"}
        gateway.process.terminate()
        assert gateway.process.stderr.read() == ""


# Time and number, closer


SENT = threading.Event()
"""The large answer was taken, or its connection given up."""


async def _slow_app(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        for kind in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{kind}.complete"})
        return
    if scope["path"] == "/wait":
        await receive()
    size = 1 << 26 if scope["path"] == "/large" else 2
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % size)]})
    await send({"type": "http.response.body", "body": b"x" * size, "more_body": True})
    await send({"type": "http.response.body"})  # waits until what stands before it was taken
    if scope["path"] == "/large":
        SENT.set()


@contextmanager
def held_short(**limits: float) -> Iterator[int]:
    listener = listen("127.0.0.1", 0)
    app: App = Gate(_slow_app, Rules(own_hosts("127.0.0.1", listener.port), body_timeout_s=30))
    with served(app, listener, ConnectionLimits(**limits)):  # type: ignore[arg-type]
        yield listener.port


def get(port: int, path: str = "/", more: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{more}\r\n".encode()


def told_in_time(port: int, words: bytes) -> bytes:
    """What comes back for this, and no more. Who could not say it in time, on a busy machine, says it again."""
    while True:
        with dial(port) as connection, suppress(ConnectionError):
            connection.sendall(words)
            if answer := all_of(connection):
                return answer


def test_half_a_head_is_timed_out() -> None:
    with held_short(head_s=0.2) as port:
        assert told_in_time(port, b"GET / HTTP/1.1\r\nho").startswith(b"HTTP/1.1 408 ")
        with dial(port) as silent:
            assert all_of(silent) == b""


def test_half_a_second_request_is_timed_out_as_well() -> None:
    with held_short(head_s=0.4) as port, dial(port) as connection:
        connection.sendall(get(port))
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200 ")
        connection.sendall(b"GET / HTTP/1.1\r\nho")
        assert b"HTTP/1.1 408 " in all_of(connection)


def test_an_answer_nobody_reads_is_timed_out() -> None:
    with held_short(unread_s=0.3) as port, dial(port) as deaf:
        deaf.sendall(get(port, "/large"))
        assert SENT.wait(60), "it waits for somebody who takes nothing"
        assert len(all_of(deaf)) < 1 << 26


def test_half_a_body_makes_room() -> None:
    with held_short(connections=2) as port, ExitStack() as stack:
        halves = [stack.enter_context(dial(port)) for _ in range(2)]
        for half in halves:
            half.sendall(get(port, "/", "content-length: 10\r\nexpect: 100-continue\r\n"))
            assert half.recv(65_536).startswith(b"HTTP/1.1 100 ")
            half.sendall(b"abc")
        with dial(port) as new:
            new.sendall(get(port, "/", "connection: close\r\n"))
            assert all_of(new).startswith(b"HTTP/1.1 200 ")
        halves[1].sendall(b"defghij")
        assert halves[1].recv(65_536).startswith(b"HTTP/1.1 200 "), "the other is still there"


def test_the_longest_silence_makes_room() -> None:
    with held_short(connections=4) as port, ExitStack() as stack:
        silent = [stack.enter_context(dial(port)) for _ in range(4)]
        for connection in silent:
            connection.sendall(b"GET /")
        with dial(port) as new:
            new.sendall(get(port, "/", "connection: close\r\n"))
            assert all_of(new).startswith(b"HTTP/1.1 200 ")
        assert all_of(silent[0]) == b""
        silent[3].sendall(b" HTTP/1.1\r\nhost: 127.0.0.1:%d\r\nconnection: close\r\n\r\n" % port)
        assert all_of(silent[3]).startswith(b"HTTP/1.1 200 "), "the others are still there"


def test_where_all_are_busy_the_next_is_told_so() -> None:
    arrived = threading.Semaphore(0)

    async def forever(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await receive()
            arrived.release()
            await receive()  # until it goes
            return
        await _slow_app(scope, receive, send)

    listener = listen("127.0.0.1", 0)
    with served(forever, listener, ConnectionLimits(connections=2)), ExitStack() as stack:
        for _ in range(2):
            busy = stack.enter_context(dial(listener.port))
            busy.sendall(get(listener.port))
            assert arrived.acquire(timeout=60)
        with dial(listener.port) as new:
            assert all_of(new).startswith(b"HTTP/1.1 503 ")


def test_a_malformed_request_is_answered_and_ended() -> None:
    with held_short() as port, dial(port) as connection:
        connection.sendall(b"no http\r\n\r\n")
        assert all_of(connection).startswith(b"HTTP/1.1 400 ")


def test_what_follows_a_body_with_two_lengths_is_no_request() -> None:
    with held_short() as port, dial(port) as connection:
        lengths = "transfer-encoding: chunked\r\ncontent-length: 99\r\n"
        connection.sendall(get(port, "/", lengths) + b"0\r\n\r\n" + get(port))
        assert all_of(connection).count(b"HTTP/1.1 ") == 1
