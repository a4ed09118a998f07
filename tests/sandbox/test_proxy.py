"""A command that may reach some hosts reaches these, and nothing else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nebula.sandbox.command import run
from nebula.sandbox.contract import Command, CommandResult
from nebula.sandbox.proxy import is_listed
from rows import each_row

ELSEWHERE = "127.0.0.2"
"""This machine under an address that a layer's own loopback has as well: only the proxy leads out to it."""


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        text = f"{self.path} {self.headers.get('Proxy-Authorization')}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    server = ThreadingHTTPServer((ELSEWHERE, 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def ran(project: Path, line: str, *hosts: str) -> CommandResult:
    with run(Command(str(project), line, hosts=hosts)) as done:
        return done


def python(code: str) -> str:
    return f"/usr/bin/env python3 - <<'END'\n{code}\nEND"


FETCH = "import urllib.request\nprint(urllib.request.urlopen('http://{host}:{port}/a/b?c=d').read().decode())"
TUNNEL = """
import os, socket
host, port = os.environ["https_proxy"].removeprefix("http://").split(":")
with socket.create_connection((host, int(port))) as there:
    there.sendall(b"CONNECT {host}:{port} HTTP/1.1\\r\\n\\r\\n")
    print(there.recv(100).split(b"\\r\\n")[0].decode())
    there.sendall(b"GET /inside HTTP/1.0\\r\\n\\r\\n")
    print(b"".join(iter(lambda: there.recv(1000), b"")).decode().splitlines()[-1])
"""


def test_a_listed_host_is_reached(tmp_path: Path, port: int) -> None:
    done = ran(tmp_path, python(FETCH.format(host=ELSEWHERE, port=port)), f"{ELSEWHERE}:{port}")
    assert done.output == "/a/b?c=d None\n"
    assert done.refused_hosts == ()


def test_a_tunnel_to_a_listed_host(tmp_path: Path, port: int) -> None:
    done = ran(tmp_path, python(TUNNEL.format(host=ELSEWHERE, port=port)), f"{ELSEWHERE}:{port}")
    assert done.output.splitlines() == ["HTTP/1.1 200 Connected", "/inside None"]


@pytest.mark.parametrize("ask", [FETCH, TUNNEL])
def test_another_host_is_not(tmp_path: Path, port: int, ask: str) -> None:
    done = ran(tmp_path, python(ask.format(host=ELSEWHERE, port=port)), "example.org")
    assert "403" in done.output
    assert done.refused_hosts == (f"{ELSEWHERE}:{port}",)


def test_there_is_no_way_around_the_proxy(tmp_path: Path, port: int) -> None:
    direct = f"import socket\nsocket.create_connection(('{ELSEWHERE}', {port}), 2)"
    done = ran(tmp_path, python(direct), f"{ELSEWHERE}:{port}")
    assert "ConnectionRefusedError" in done.output


@pytest.mark.parametrize("rubbish", ["b'x' * 200000", "b'GET\\r\\n\\r\\n'", "b'\\xff \\xff \\xff\\r\\n\\r\\n'", "b''"])
def test_rubbish_ends_nothing(tmp_path: Path, port: int, rubbish: str) -> None:
    code = f"""
import os, socket
host, port = os.environ["http_proxy"].removeprefix("http://").split(":")
with socket.create_connection((host, int(port))) as there:
    try:
        there.sendall({rubbish})
        there.shutdown(socket.SHUT_WR)
        there.recv(10)
    except OSError:
        pass
"""
    fetch = FETCH.format(host=ELSEWHERE, port=port)
    assert ran(tmp_path, python(code + fetch), f"{ELSEWHERE}:{port}").output == "/a/b?c=d None\n"


@each_row(
    ("host", "port", "listed"),
    [
        ("example.org", 443, True),
        ("EXAMPLE.org", 80, True),
        ("example.org", 22, False),
        ("sub.example.org", 443, False),
        ("badexample.org", 443, False),
        ("a.below.net", 443, True),
        ("below.net", 443, False),
        ("notbelow.net", 443, False),
        ("other.org", 8443, True),
        ("other.org", 443, False),
        ("", 443, False),
    ],
)
def test_what_a_list_of_hosts_means(host: str, port: int, listed: bool) -> None:
    assert is_listed(["example.org", "*.below.net", "other.org:8443"], host, port) is listed
