"""Bad input by the hundred: no escape, no 5xx, no hang, one audit line each."""

from __future__ import annotations

import itertools
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway_rig import Gateway, gateway_in_thread
from nebula.workspace.guard.judge import Policy
from nebula.workspace.local import open_workspace

SECRET = "the secret outside"
SLOWEST_S = 30.0


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("attacks")
    folder = base / "app"
    (folder / "sub").mkdir(parents=True)
    (base / "app-evil").mkdir()
    for outside in (base / "secret.txt", base / "app-evil" / "secret.txt", base / "app.txt"):
        outside.write_text(SECRET, encoding="utf-8")
    (folder / "a.txt").write_text("inside\n", encoding="utf-8")
    (folder / ".env.txt").write_text(SECRET, encoding="utf-8")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text(SECRET, encoding="utf-8")
    (folder / ".git" / "config.txt").write_text("of git: may be read, never written", encoding="utf-8")
    (folder / "up").symlink_to("..")
    (folder / "out.txt").symlink_to(base / "secret.txt")
    (folder / "dangling.txt").symlink_to(base / "not-there.txt")
    (folder / "sub" / "loop.txt").symlink_to("loop.txt")
    (folder / "proc").symlink_to("/proc/self")
    os.mkfifo(folder / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as endpoint:
        here = Path.cwd()
        os.chdir(folder)  # the path of a socket must be short
        endpoint.bind("socket.txt")
        os.chdir(here)
    return folder


@pytest.fixture(scope="module")
def gateway(root: Path) -> Iterator[Gateway]:
    with (
        open_workspace(str(root), Policy(max_bytes=50_000)) as workspace,
        gateway_in_thread(workspace, root) as running,
    ):
        yield running


def climbing() -> Iterator[str]:
    ups = [
        "..",
        "../",
        "..\\",
        "..//",
        "./..",
        "sub/../..",
        "sub/../../app-evil",
        "../app-evil",
        "../app",
        ".../..",
        "up",
    ]
    for up, leaf in itertools.product(ups, ["secret.txt", "/secret.txt", "app.txt", "../secret.txt", "./secret.txt"]):
        yield f"{up}/{leaf}"
    for depth in range(1, 40):
        yield "../" * depth + "etc/passwd"
        yield "sub/" * depth + "../" * (depth + 1) + "secret.txt"


def absolute(root: Path) -> Iterator[str]:
    for place in (
        "/etc/passwd",
        "//etc/passwd",
        "/",
        "//",
        "/proc/self/environ",
        "/dev/zero",
        "/dev/stdin",
        "/dev/fd/0",
    ):
        yield from (
            place,
            f"{place}/",
            f"{place}.txt",
            f".{place}/..",
            f"file://{place}",
            f"~{place}",
            f"\\\\?\\{place}",
        )
    yield from (
        str(root / "a.txt"),
        str(root.parent / "secret.txt"),
        f"{root}-evil/secret.txt",
        f"{root}/../secret.txt",
    )
    yield from (
        r"C:\Windows\win.ini",
        "C:/Windows/win.ini",
        "C:a.txt",
        r"\\server\share\x.txt",
        "~root/.ssh/id_rsa",
        "$HOME/x.txt",
    )


def encoded() -> Iterator[str]:
    dots = [
        "%2e%2e",
        "%252e%252e",
        "..%2f",
        "..%5c",
        "..%c0%af",
        "‥",
        "．．",
        "․․",
        "。。",
        "..\u200b",
        "\u202e..",
        "..\ufeff",
    ]
    slashes = ["/", "∕", "／", "⁄", "\\", "＼", "%2f"]
    for dot, slash in itertools.product(dots, slashes):
        yield f"{dot}{slash}secret.txt"


def odd_names() -> Iterator[str]:
    for code in [*range(0x20), 0x7F, *range(0x80, 0xA0)]:
        yield f"a{chr(code)}.txt"
        yield f"{chr(code)}../secret.txt"
    for mark in ("\u202a", "\u202e", "\u2066", "\u200b", "\ufeff", "\U000e0041", "\u2028", "\ufffe", "\ufdd0"):
        yield from (f"a{mark}.txt", f".gi{mark}t/config.txt", f"{mark}")
    yield from (
        "",
        ".",
        "..",
        "...",
        "....",
        " ",
        "  .txt",
        ".txt",
        "a.txt ",
        "a.txt.",
        "a.txt...",
        "a.txt/",
        "a.txt/.",
        "a.txt/x.txt",
    )
    yield from (
        "x" * 256,
        "x" * 256 + ".txt",
        "あ" * 86 + ".txt",
        "/".join(["d"] * 3_000) + "/x.txt",
        "x" * 100_000,
        "/" * 10_000,
    )
    yield from (
        "a.txt::$DATA",
        "a.txt:stream",
        "CON",
        "nul.txt",
        "aux.txt",
        "sub/loop.txt",
        "dangling.txt",
        "out.txt",
        "pipe.txt",
    )
    yield from (
        "socket.txt",
        "proc/environ",
        "proc/root/etc/passwd",
        "proc/fd/0",
        "up/app/a.txt",
        "sub",
        "*",
        "?.txt",
        "-rf",
        "a\x00.txt",
    )


def guarded() -> Iterator[str]:
    spelled = [
        ".git",
        ".GIT",
        ".Git",
        ".git.",
        ".git ",
        ".git..",
        "git~1",
        "GIT~1",
        ".gıt",
        ".g\u200cit",
        "．git",
        ".ｇｉｔ",
        ".git::$INDEX",
    ]
    spelled += [
        ".nebula",
        ".NEBULA",
        ".nebula ",
        ".nebula.",
        "sub/.git",
        "sub/.GIT",
        ".vscode",
        ".github",
        ".claude",
        ".codex",
        ".agents",
    ]
    for folder, leaf in itertools.product(
        spelled, ["config", "config.txt", "hooks/pre-commit", "x/../config.txt", "x.json"]
    ):
        yield f"{folder}/{leaf}"
    yield from (
        ".env",
        ".env.txt",
        ".ENV.txt",
        ".env.local",
        "sub/.env",
        "id_rsa",
        "id_ed25519.txt",
        "key.pem",
        ".npmrc",
        ".mcp.json",
    )


def all_paths(root: Path) -> list[str]:
    return [*climbing(), *absolute(root), *encoded(), *odd_names(), *guarded()]


def files_of(base: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(base)): path.read_bytes()
        for path in sorted(base.rglob("*"))
        if path.is_file() and not path.is_symlink() and "app/.nebula" not in path.as_posix()
    }


class Judge:
    """Sends, and checks what must hold of every answer."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.count = 0

    def send(self, endpoint: str, body: Any) -> tuple[int, bytes]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        started = time.monotonic()
        reply = self.gateway.post(endpoint, data)
        self.count += 1
        shown = data[:200]
        assert time.monotonic() - started < SLOWEST_S, shown
        assert reply.status < 500, (shown, reply.body)
        assert SECRET.encode() not in reply.body, shown
        assert b"root:" not in reply.body and str(self.gateway.root.parent).encode() not in reply.body, shown
        if reply.status != 200:
            assert reply.code, shown
        return reply.status, reply.body


@pytest.mark.slow
def test_bad_paths(gateway: Gateway, root: Path) -> None:
    paths = all_paths(root)
    assert len(set(paths)) >= 400
    judge = Judge(gateway)
    lines = len(gateway.audited())
    before = files_of(root.parent)
    for path in paths:
        judge.send("read_file", {"path": path})
        judge.send("write_file", {"path": path, "content": "!", "mode": "append"})
    after = files_of(root.parent)
    # Odd names that stay inside may be made; everything outside, and all that is guarded, is as it was.
    inside = {name for name in after if name.startswith("app/") and name not in before} | {"app/a.txt"}
    assert {name: text for name, text in after.items() if name not in inside} == {
        name: text for name, text in before.items() if name not in inside
    }
    assert not any(part.lower().startswith((".git", ".env", ".nebula")) for name in inside for part in name.split("/"))
    assert judge.count == 2 * len(paths) >= 800
    assert len(gateway.audited()) - lines == judge.count


def odd_bodies() -> Iterator[bytes]:
    values = [
        "null", "true", "0", "-1", "1.5", "1e400", "NaN", "-Infinity", '""', '"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', "[]", "{}",
        '["a.txt"]', '{"$ref":"#"}', "9" * 500, '"' + "x" * 5_000 + '"', "[" * 300 + "]" * 300, '"\\x"', "'a.txt'", "undefined",
    ]  # fmt: skip
    for field, value in itertools.product(
        ("path", "content", "mode", "extensions", "max_items", "keyword", "__proto__"), values
    ):
        others = {"path": '"a.txt"', "content": '""', "mode": '"create"'}
        others[field] = value
        yield ("{" + ",".join(f'"{name}":{text}' for name, text in others.items()) + "}").encode()
    yield from (
        b"",
        b"\x00",
        b"\xff" * 10,
        b"{" * 5_000,
        b'{"a":' * 3_000,
        b"]",
        b'{"path":"a.txt"',
        b"\xef\xbb\xbf{}",
        b"-",
    )


@pytest.mark.slow
def test_bad_bodies(gateway: Gateway, root: Path) -> None:
    judge = Judge(gateway)
    before = files_of(root.parent)
    for body in odd_bodies():
        for endpoint in (
            "list_files", "read_file", "write_file", "search_files", "list_tree", "probe", "check_write", "roll_back"
        ):  # fmt: skip
            judge.send(endpoint, body)
    assert judge.count >= 800
    assert files_of(root.parent) == before


RAW = [
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/9.9\r\nhost: x\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"POST /read_file HTTP/1.1\r\nhost: {host}\r\ncontent-length: -5\r\n\r\n",
    b"POST /read_file HTTP/1.1\r\nhost: {host}\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n{}",
    b"POST /read_file HTTP/1.1\r\nhost: {host}\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /read_file HTTP/1.1\r\nhost: {host}\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n",
    b"POST /read_file HTTP/1.1\r\nhost: {host}\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    b"GET " + b"/x" * 50_000 + b" HTTP/1.1\r\nhost: {host}\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nhost: {host}\r\n" + b"x-a: b\r\n" * 5_000 + b"\r\n",
    b"GET /healthz HTTP/1.1\r\nhost: {host}\r\nx: a\r\n b\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nhost : {host}\r\n\r\n",
    b"GET http://evil.example/healthz HTTP/1.1\r\nhost: {host}\r\n\r\n",
    b"CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example:443\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nhost: {host}\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
    b"GET /healthz HTTP/1.0\r\n\r\n",
    b"\r\n" * 1_000,
]


@pytest.mark.parametrize("raw", RAW, ids=lambda raw: repr(raw[:30]))
def test_broken_http_is_survived(gateway: Gateway, raw: bytes) -> None:
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=SLOWEST_S) as connection:
        connection.sendall(raw.replace(b"{host}", f"127.0.0.1:{gateway.port}".encode()))
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        try:
            while chunk := connection.recv(65_536):
                answer += chunk
        except ConnectionError:
            pass
    assert b" 500 " not in answer.split(b"\r\n")[0] and b"Traceback" not in answer
    assert gateway.ask("GET", "/healthz").status == 200
