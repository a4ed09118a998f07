"""fetchUrl over TLS and through proxies: whose certificate counts, what a proxy is told, and what a page never sees."""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from nebula.events import Approval
from nebula.messages import AssistantToolUse, Json
from nebula.tools.approval import Approvals, Decision
from nebula.tools.contract import Call, ToolFailure
from nebula.tools.web.fetch_url import fetch_url

HOST = "page.example"
PASSWORD = "Basic " + b64encode(b"user:pa ss").decode()


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.asked.append((self.path, dict(self.headers)))  # type: ignore[attr-defined]
        body = b"the page"
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Proxy(Site):
    """Answers pages itself, and leads every tunnel to one site; without the password to none."""

    def do_CONNECT(self) -> None:
        self.server.asked.append((self.path, dict(self.headers)))  # type: ignore[attr-defined]
        if self.headers["Proxy-Authorization"] != PASSWORD:
            self.send_error(407)
            return
        self.send_response(200)
        self.end_headers()
        with socket.create_connection(self.server.leads_to) as other:  # type: ignore[attr-defined]
            pair = {self.connection: other, other: self.connection}
            while ready := select.select(list(pair), [], [], 10)[0]:
                for each in ready:
                    if not (data := each.recv(65_536)):
                        return
                    pair[each].sendall(data)


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler], tls: ssl.SSLContext | None = None) -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.asked = []
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def secure_site(certificate: tuple[Path, Path]) -> Iterator[Any]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with serving(Site, context) as server:
        yield server


@pytest.fixture(autouse=True)
def no_proxies_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def fetch(url: str) -> tuple[Any, list[Approval]]:
    """Return what the model is told, and the questions, each answered with yes."""
    questions: list[Approval] = []

    async def agree(question: Approval) -> Decision:
        questions.append(question)
        return Decision(True)

    use = AssistantToolUse("c", "fetchUrl", "fetchUrl", {"url": url}, {"url": url})
    (block,) = asyncio.run(fetch_url(Approvals(agree), {"url": url}, Call(use))).content
    assert isinstance(block, Json)
    return block.value, questions


def test_a_certificate_that_the_user_trusts_is_enough(
    secure_site: Any, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    told, _ = fetch(f"https://127.0.0.1:{secure_site.server_port}/a")
    assert told["content"] == "the page" and [path for path, _ in secure_site.asked] == ["/a"]


def test_one_that_nobody_vouches_for_is_not_talked_to(secure_site: Any) -> None:
    with pytest.raises(ToolFailure, match="certificate"):
        fetch(f"https://127.0.0.1:{secure_site.server_port}/a")
    assert secure_site.asked == []


def test_one_of_another_name_is_not_talked_to(
    secure_site: Any, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    with pytest.raises(ToolFailure, match="certificate"):
        fetch(f"https://localhost:{secure_site.server_port}/a")
    assert secure_site.asked == []


def test_a_page_is_asked_of_the_proxy_with_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Proxy) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://user:pa%20ss@127.0.0.1:{proxy.server_port}")
        told, questions = fetch(f"http://{HOST}/a?b=1")
    ((asked, headers),) = proxy.asked
    assert (asked, headers["Host"], headers["Proxy-Authorization"]) == (f"http://{HOST}/a?b=1", HOST, PASSWORD)
    assert told["content"] == "the page" and [each.text for each in questions] == [f"http://{HOST}/a?b=1"]


def test_a_tunnel_is_checked_like_a_line_and_the_page_never_sees_the_password(
    secure_site: Any, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(Proxy) as proxy:
        proxy.leads_to = secure_site.server_address
        monkeypatch.setenv("HTTPS_PROXY", f"http://user:pa%20ss@127.0.0.1:{proxy.server_port}")
        with pytest.raises(ToolFailure, match="certificate"):
            fetch(f"https://{HOST}/a")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        told, _ = fetch(f"https://{HOST}/a")
    assert told["content"] == "the page" and {path for path, _ in proxy.asked} == {f"{HOST}:443"}
    ((asked, headers),) = secure_site.asked
    assert asked == "/a" and "Proxy-Authorization" not in headers


def test_a_proxy_that_refuses_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Proxy) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://user:wrong@127.0.0.1:{proxy.server_port}")
        with pytest.raises(ToolFailure) as failed:
            fetch(f"https://{HOST}/a")
    said = str(failed.value)
    assert f"127.0.0.1:{proxy.server_port}/ refused the connection" in said and "wrong" not in said


def test_a_host_that_no_proxy_names_is_asked_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Proxy) as proxy, serving(Site) as site:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.server_port}")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        told, _ = fetch(f"http://127.0.0.1:{site.server_port}/a")
    assert told["content"] == "the page" and proxy.asked == [] and len(site.asked) == 1
