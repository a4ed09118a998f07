"""The HTTP client: lines, addresses, TLS, proxies."""

from __future__ import annotations

import ssl
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nebula.config.addresses import without_credentials
from nebula.llm.errors import AuthError, BadReplyError, NotFoundError, UnavailableError
from nebula.llm.http.client import HttpClient
from nebula.llm.http.connection import tls_context
from nebula.llm.http.proxies import basic_auth, proxy_for
from nebula.llm.http.sse import NdjsonParser, SseParser
from nebula.llm.http.url import parse_url, percent_decode
from nebula.llm.openai import OpenAIModel
from rows import each_row
from scripted_model import ScriptedModel
from scripted_model.proxy import ScriptedProxy


def pieces(body: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(body), *(cut % (len(body) + 1) for cut in cuts)})
    return [body[a:b] for a, b in pairwise(places)]


@given(
    st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=("Cs",))), max_size=5),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.integers(0, 1000)),
    st.booleans(),
)
def test_events_survive_any_line_end_and_any_cut(texts: list[str], end: str, cuts: list[int], bom: bool) -> None:
    stream = "".join(f": comment{end}id: 7{end}data: {text}{end}{end}" for text in texts)
    body = (b"\xef\xbb\xbf" if bom else b"") + stream.encode()
    parser = SseParser()
    assert [event for piece in pieces(body, cuts) for event in parser.feed(piece)] == texts


def test_an_event_may_have_several_lines_and_an_unfinished_one_is_not_given() -> None:
    parser = SseParser()
    assert parser.feed(b"data: a\ndata:b\n\ndata: unfinished\n") == ["a\nb"]


def test_a_line_end_split_over_two_pieces_is_one_line_end() -> None:
    parser = SseParser()
    heard = [parser.feed(piece) for piece in (b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n")]
    assert heard == [[], [], ["a\nb"], []]


@given(st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=("Cs",)), min_size=1)), st.lists(st.integers(0, 1000)))  # fmt: skip
def test_lines_of_json_survive_any_cut(texts: list[str], cuts: list[int]) -> None:
    texts = [text for text in texts if text.strip()]
    parser = NdjsonParser()
    body = "\r\n".join(texts).encode()
    heard = [line for piece in pieces(body, cuts) for line in parser.feed(piece)] + parser.flush()
    assert [line.strip() for line in heard if line.strip()] == [text.strip() for text in texts if text.encode().strip()]


def test_a_line_without_end_is_given_up() -> None:
    parser = NdjsonParser()
    with pytest.raises(BadReplyError):
        for _ in range(40):
            parser.feed(b"x" * 1024 * 1024)


@each_row(
    ("text", "authority", "target", "shown"),
    [
        ("http://localhost:11434", "localhost:11434", "/", "http://localhost:11434/"),
        ("HTTPS://API.example.com/v1/chat?x=1#f", "api.example.com", "/v1/chat?x=1", "https://api.example.com/v1/chat"),
        ("http://user:p%40ss@host/x", "host", "/x", "http://host/x"),
        ("http://[::1]:8080/v1", "[::1]:8080", "/v1", "http://[::1]:8080/v1"),
        ("http://host?q=1", "host", "/?q=1", "http://host/"),
        ("http://日本.example/あ b", "xn--wgv71a.example", "/%E3%81%82%20b", "http://xn--wgv71a.example/%E3%81%82%20b"),
    ],
)
def test_addresses(text: str, authority: str, target: str, shown: str) -> None:
    url = parse_url(text)
    assert (url.authority, url.target, url.shown) == (authority, target, shown)


@each_row("text", ["", "localhost:1", "ftp://x", "http://", "http://h:99999", "http://u:secret@h:x/?k=1"])
def test_what_is_no_address_is_told_without_secrets(text: str) -> None:
    with pytest.raises(NotFoundError) as error:
        parse_url(text)
    assert "secret" not in str(error.value) and "k=1" not in str(error.value)


def test_credentials_are_left_out_and_decoded() -> None:
    assert without_credentials("https://u:p@h/x?key=1") == "https://h/x"
    assert percent_decode("p%40s%zz%E3%81%82") == "p@s%zzあ"
    assert basic_auth("user:p%40ss") == "Basic dXNlcjpwQHNz"


@each_row(
    ("url", "environ", "expected"),
    [
        ("https://api.example.com", {}, None),
        ("https://api.example.com", {"HTTPS_PROXY": "http://p:1"}, "http://p:1/"),
        ("https://api.example.com", {"https_proxy": "p:1", "HTTPS_PROXY": "http://q:1"}, "http://p:1/"),
        ("https://api.example.com", {"HTTP_PROXY": "http://p:1"}, None),
        ("https://api.example.com", {"ALL_PROXY": "http://p:1"}, "http://p:1/"),
        ("https://api.example.com", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, None),
        ("https://api.example.com", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "other, .example.com"}, None),
        ("https://api.example.com", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example.com"}, None),
        ("https://example.com.evil", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example.com"}, "http://p:1/"),
        ("https://notexample.com", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example.com"}, "http://p:1/"),
        ("http://10.1.2.3", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, None),
        ("http://11.1.2.3", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, "http://p:1/"),
        ("http://h:81", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "h:80"}, "http://p:1/"),
        ("http://h:80", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "h:80"}, None),
        # a proxy elsewhere cannot reach this machine's loopback
        ("http://localhost:11434", {"HTTP_PROXY": "http://proxy.corp:1"}, None),
        ("http://localhost:11434", {"HTTP_PROXY": "http://127.0.0.1:1"}, "http://127.0.0.1:1/"),
    ],
)
def test_which_proxy(url: str, environ: dict[str, str], expected: str | None) -> None:
    proxy = proxy_for(parse_url(url), environ)
    assert (proxy.shown if proxy else None) == expected


def test_a_proxy_of_another_kind_is_told_without_its_password() -> None:
    with pytest.raises(UnavailableError) as error:
        proxy_for(parse_url("https://h"), {"HTTPS_PROXY": "socks5://u:secret@p:1"})
    assert "socks5://p:1" in str(error.value) and "secret" not in str(error.value)


@pytest.fixture
def tls_server(certificate: tuple[Path, Path]) -> ScriptedModel:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return ScriptedModel(tls=context)


async def names(server: ScriptedModel, environ: dict[str, str], key: str = "k") -> list[str]:
    model = OpenAIModel(server.openai_url, key, environ=environ)
    try:
        return [info.name for info in await model.list_models()]
    finally:
        await model.aclose()


async def test_a_certificate_is_verified_against_ssl_cert_file(
    certificate: tuple[Path, Path], tls_server: ScriptedModel
) -> None:
    with tls_server as server:
        assert await names(server, {"SSL_CERT_FILE": str(certificate[0])}) == ["gpt-4.1-mini", "gpt-4.1-nano"]
        with pytest.raises(UnavailableError) as error:
            await names(server, {})
    assert "SSL_CERT_FILE" in str(error.value) and not error.value.retryable


def test_a_missing_certificate_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"SSL_CERT_FILE names .*nowhere"):
        tls_context({"SSL_CERT_FILE": str(tmp_path / "nowhere")})
    (tmp_path / "junk").write_text("no certificate", encoding="utf-8")
    with pytest.raises(UnavailableError, match="no readable certificates"):
        tls_context({"SSL_CERT_FILE": str(tmp_path / "junk")})


async def test_https_asked_of_a_plain_server_is_told() -> None:
    with ScriptedModel() as server:
        model = OpenAIModel(server.openai_url.replace("http:", "https:"), "k", environ={})
        with pytest.raises(UnavailableError, match="speak https"):
            await model.list_models()
        await model.aclose()


async def test_plain_requests_go_through_a_proxy() -> None:
    with ScriptedModel() as server, ScriptedProxy() as proxy:
        assert len(await names(server, {"HTTP_PROXY": proxy.url})) == 2
        line, headers = proxy.requests[0]
        assert line == f"GET {server.openai_url}/models HTTP/1.1"
        assert headers["host"] == f"127.0.0.1:{server.port}"
        assert await names(server, {"HTTP_PROXY": proxy.url, "NO_PROXY": "127.0.0.1"})
        assert len(proxy.requests) == 1


async def test_tls_requests_are_tunnelled_and_the_proxy_sees_no_key(
    certificate: tuple[Path, Path], tls_server: ScriptedModel
) -> None:
    authorization = basic_auth("user:p%40ss")
    with tls_server as server, ScriptedProxy(authorization=authorization) as proxy:
        through = proxy.url.replace("//", "//user:p%40ss@")
        environ = {"SSL_CERT_FILE": str(certificate[0]), "HTTPS_PROXY": through}
        assert len(await names(server, environ, key="sk-secret")) == 2
        line, headers = proxy.requests[0]
        assert line == f"CONNECT 127.0.0.1:{server.port} HTTP/1.1"
        assert headers["proxy-authorization"] == authorization
        assert "sk-secret" not in str(proxy.requests)
        with pytest.raises(AuthError) as error:
            await names(server, environ | {"HTTPS_PROXY": proxy.url.replace("//", "//user:wrong@")})
        assert "HTTPS_PROXY" in str(error.value) and "wrong" not in str(error.value)


async def test_a_body_beyond_its_limit_is_given_up() -> None:
    with ScriptedModel(models={"openai": ["x" * 1000] * 100}) as server:
        client = HttpClient(environ={})
        async with client.request("GET", server.openai_url + "/models") as response:
            with pytest.raises(BadReplyError):
                await response.read(max_bytes=10_000)
        await client.aclose()


async def test_credentials_in_the_address_are_sent_as_basic_auth() -> None:
    with ScriptedModel() as server:
        client = HttpClient(environ={})
        async with client.request("GET", server.url.replace("//", "//u:p@") + "/v1/models") as response:
            await response.read()
        await client.aclose()
        assert server.requests[0].headers["authorization"] == basic_auth("u:p")
        assert server.requests[0].headers["accept-encoding"] == "identity"
