"""Who is let in (SPEC §11, last bullets): Host, Origin and token, for the page and for the WebSocket."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from conversation_rig import Failed, command, serving, talk


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    from conftest import Bench

    folder = tmp_path_factory.mktemp("guard")
    (folder / "project").mkdir()
    (folder / "home").mkdir()
    return Bench(folder / "project", folder / "home")


@pytest.fixture(scope="module")
def nebula(bench):
    with serving(bench, "nebula") as running:
        yield running


@pytest.fixture(scope="module")
def vizprompt(bench):
    with serving(bench, "vizprompt") as running:
        yield running


async def try_socket(server, origin=None, host=None, token=None, path="/") -> int:
    """101 when the handshake succeeded and hello was answered, else the status of the refusal."""
    headers = {}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    if host:
        headers["Host"] = host
    url = f"ws://{host or server.host}{path}"
    try:
        async with connect(
            url,
            host="127.0.0.1",
            port=server.port,
            origin=origin,
            additional_headers=headers and {key: value for key, value in headers.items() if key != "Host"},
            proxy=None,
            open_timeout=60,
        ) as connection:
            await connection.send('{"action": "hello"}')
            return 101 if json.loads(await connection.recv())["status"] == "success" else 401
    except InvalidStatus as refusal:
        return refusal.response.status_code


OTHERS = [
    ("http://evil.example", None),
    ("https://evil.example", None),
    ("null", None),
    ("http://127.0.0.1:1", None),
    ("http://localhost", None),
    ("https://127.0.0.1:{port}", None),
    ("http://127.0.0.1:{port}.evil.example", None),
    ("file://", None),
    (None, "evil.example"),
    (None, "evil.example:{port}"),
    (None, "127.0.0.1.nip.io:{port}"),
    (None, "127.0.0.1:1"),
    ("http://evil.example:{port}", "evil.example:{port}"),
]
OWN = [
    (None, None),
    ("http://127.0.0.1:{port}", None),
    ("http://localhost:{port}", "localhost:{port}"),
]


def filled(server, text):
    return text and text.format(port=server.port)


@pytest.mark.parametrize(("origin", "host"), OTHERS)
async def test_strangers_are_refused_even_with_the_token(nebula, vizprompt, origin, host):
    for server in (nebula, vizprompt):
        status = await try_socket(server, filled(server, origin), filled(server, host), server.token)
        assert status == 403


@pytest.mark.parametrize(("origin", "host"), OWN)
async def test_our_own_page_and_programs_are_let_in(nebula, vizprompt, origin, host):
    for server in (nebula, vizprompt):
        assert await try_socket(server, filled(server, origin), filled(server, host), server.token) == 101


async def test_the_token_in_all_three_places(nebula):
    assert await try_socket(nebula, token=nebula.token) == 101
    assert await try_socket(nebula, path=f"/?token={nebula.token}") == 101
    assert await try_socket(nebula, path=f"/ws?token={nebula.token}") == 101
    async with talk(nebula, token="") as client:
        answer = await client.ask("hello", token=nebula.token)
        assert answer["data"]["modes"] == ["agent", "plan"]
        assert (await client.ask("list_flows"))["status"] == "success"


async def test_the_hello_that_shows_the_token_also_sets_the_language(nebula):
    async with talk(nebula, token="") as client:
        await client.ask("hello", token=nebula.token, lang="ja")
        with pytest.raises(Failed, match="'node_id' は文字列"):
            await client.ask("get_node", node_id=5)


async def test_a_wrong_token_is_refused(nebula):
    assert await try_socket(nebula, token="wrong") == 401
    assert await try_socket(nebula, path="/?token=wrong") == 401


@pytest.mark.parametrize(
    "first",
    [
        {"action": "list_flows"},
        {"action": "hello"},
        {"action": "hello", "data": {"token": "wrong"}},
        {"action": "hello", "data": {"token": "日本"}},
        {"action": "hello", "data": {"token": 5}},
        "no json",
    ],
)
async def test_without_the_token_the_first_message_is_the_last(nebula, first):
    async with talk(nebula, token="") as client:
        await client.connection.send(json.dumps({**first, "id": 3}) if isinstance(first, dict) else first)
        answer = await client.receive()
        assert answer["status"] == "error"
        if isinstance(first, dict) and first.get("data", {}).get("token") != 5:
            assert (answer["error"]["code"], answer["id"]) == ("unauthorized", 3)
        with pytest.raises(ConnectionClosed):
            await client.receive()


async def test_vizprompt_serve_needs_no_token_on_loopback(vizprompt):
    assert "#" not in vizprompt.address
    assert await try_socket(vizprompt) == 101


def get(server, path="/", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        connection.close()


def test_the_page_is_served_with_strict_headers(nebula):
    status, headers, body = get(nebula)
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = headers["content-security-policy"]
    for part in ("default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"):
        assert part in policy
    assert "unsafe" not in policy
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers
    assert nebula.token.encode() not in body


def test_the_page_refuses_strangers_too(nebula):
    assert get(nebula, Host="evil.example")[0] == 403
    assert get(nebula, Origin="http://evil.example")[0] == 403
    assert get(nebula, **{"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert get(nebula, "/web/index.js", Origin="null")[0] == 403


@pytest.mark.parametrize(
    "path",
    ["/web/../server/gate.py", "/web/%2e%2e/server/gate.py", "/web//etc/passwd", "/web/", "/web/a\\b"],
)
def test_nothing_but_the_pages_files_is_served(nebula, path):
    assert get(nebula, path)[0] == 404


def test_all_else_asks_for_the_token(nebula):
    for path in (
        "/first",
        "/first/",
        "//first",
        "/FIRST",
        "/first?flow=main",
        f"/first?token={nebula.token}",
        "/nothing",
    ):
        status, headers, body = get(nebula, path)
        assert (status, json.loads(body)["error"]["code"]) == (401, "unauthorized"), path
        assert "link" not in headers
    shown = {"Authorization": f"Bearer {nebula.token}"}
    assert get(nebula, "/nothing", **shown)[0] == 404
    assert get(nebula, "/first", **shown)[0] == 200
    assert get(nebula, "/first", Authorization="Bearer wrong")[0] == 401
    assert "link" not in get(nebula)[1], "a browser could not show it the token"


@pytest.mark.parametrize(("origin", "host"), OTHERS)
def test_strangers_get_no_first_look(nebula, vizprompt, origin, host):
    for server in (nebula, vizprompt):
        given = {"Authorization": f"Bearer {server.token}"} if server.token else {}
        if origin:
            given["Origin"] = filled(server, origin)
        if host:
            given["Host"] = filled(server, host)
        assert get(server, "/first", **given)[0] == 403
        assert get(server, "/first", **given | {"Sec-Fetch-Site": "cross-site"})[0] == 403


def test_every_file_the_page_names_is_there(nebula):
    import re

    wanted, seen = ["/"], set()
    while wanted:
        path = wanted.pop()
        if path in seen:
            continue
        seen.add(path)
        status, _, body = get(nebula, path)
        assert status == 200, path
        folder = path.rsplit("/", 1)[0]
        for found in re.findall(r"""(?:from|import|href=|src=|url\()\s*["']?((?:\.{0,2}/)[^"'\s)]+)""", body.decode()):
            from urllib.parse import urljoin

            wanted.append(urljoin(f"{folder}/", found))
    assert any(path.endswith(".js") for path in seen)
    assert any(path.endswith(".css") for path in seen)


def ended(bench, kind, *args, **env):
    done = subprocess.run(
        command(kind, *args), cwd=bench.project, env=bench.env(**env), capture_output=True, timeout=60, check=False
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_off_loopback_a_token_is_needed(bench):
    for kind, args in (("vizprompt", ()), ("nebula", ("--no-token",))):
        code, out, err = ended(bench, kind, "--host", "0.0.0.0", "--port", "0", *args)
        assert (code, out, err.count("\n")) == (64, "", 1)
        assert "token" in err


def test_a_port_in_use_is_one_clear_line(bench):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for kind in ("vizprompt", "nebula"):
            code, out, err = ended(bench, kind, "--port", str(port))
            assert (code, out, err.count("\n")) == (1, "", 1)
            assert f"127.0.0.1:{port}" in err


def test_bad_usage(bench):
    assert ended(bench, "nebula", "--port", "x")[0] == 64
    assert ended(bench, "nebula", "--token", "a", "--no-token")[0] == 64
    assert ended(bench, "nebula", "--root", "nowhere")[0] == 64
    code, out, _ = ended(bench, "nebula", "--help")
    assert code == 0 and "--token" in out


async def test_a_token_of_ones_own_and_none(bench):
    with serving(bench, "nebula", "--token", "a b/ü#") as server:
        assert server.token == "a b/ü#"
        async with talk(server, token="") as client:
            assert (await client.ask("hello", token="a b/ü#"))["status"] == "success"
    with serving(bench, "nebula", "--no-token") as server:
        assert "#" not in server.address
        assert await try_socket(server) == 101
    with serving(bench, "vizprompt", EC_TOKEN="secret") as server:
        assert await try_socket(server) == 401
        assert await try_socket(server, token="secret") == 101


async def test_interrupting_ends_in_good_order_with_clients_connected(bench):
    with serving(bench, "nebula") as server:
        assert len(server.token) >= 43
        async with talk(server) as client:
            await client.ask("subscribe")
            assert server.stop(signal.SIGINT) == 130
            with pytest.raises(ConnectionClosed):
                await client.receive()
