"""Signing in to an MCP server that the official SDK protects by OAuth, with a browser that follows where it is sent."""

from __future__ import annotations

import json
import secrets
import socket
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import pytest
import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from conftest import Bench, Ran
from gateway_rig import QuickServer
from in_process import run_here
from scripted_model import Call, ScriptedModel, Turn

pytestmark = pytest.mark.slow

BROWSER = """
import sys, urllib.request
from urllib.parse import parse_qs, urlsplit
asked = parse_qs(urlsplit(sys.argv[1]).query)
back = asked["redirect_uri"][0]
for trick in ("?code=stolen&state=guessed", "?state=guessed", "/../callback?code=x", ""):
    try:
        urllib.request.urlopen(back + trick)
    except Exception as problem:
        assert "404" in str(problem), problem
print(urllib.request.urlopen(sys.argv[1]).read().decode())
"""


class Authority(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Signs in whoever comes, as long as `agrees` says so."""

    def __init__(self) -> None:
        self.agrees = True
        self.lifetime = 3600
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        assert client_info.client_id is not None
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        if not self.agrees:
            raise AuthorizeError("access_denied", "not today")
        code = secrets.token_urlsafe(24)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=str(client.client_id),
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=True,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._issue(str(client.client_id))

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        del self.refresh[refresh_token.token]
        return self._issue(str(client.client_id))

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)

    def _issue(self, client_id: str) -> OAuthToken:
        token, again = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        ends = int(time.time()) + self.lifetime
        self.access[token] = AccessToken(token=token, client_id=client_id, scopes=[], expires_at=ends)
        self.refresh[again] = RefreshToken(token=again, client_id=client_id, scopes=[])
        return OAuthToken(access_token=token, expires_in=self.lifetime, refresh_token=again)


class Wiki:
    def __init__(self, url: str, authority: Authority) -> None:
        self.url = url
        self.authority = authority


@pytest.fixture
def wiki() -> Iterator[Wiki]:
    """A server with one tool, for people who are signed in."""
    authority = Authority()
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        base = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = MCPServer(
            "wiki",
            auth_server_provider=authority,
            auth=AuthSettings.model_validate(
                {
                    "issuer_url": base,
                    "resource_server_url": f"{base}/mcp",
                    "validate_token_resource": False,
                    "client_registration_options": ClientRegistrationOptions(enabled=True),
                }
            ),
        )

        @server.tool()
        def find(word: str) -> str:
            """Finds a page."""
            return f"{word} is in the wiki"

        running = QuickServer(uvicorn.Config(server.streamable_http_app(), log_level="error"))
        thread = threading.Thread(target=running.run, args=([listener],), daemon=True)
        thread.start()
        assert running.running.wait(30)
        yield Wiki(f"{base}/mcp", authority)
        running.stop()
        thread.join(30)


@pytest.fixture
def signed_up(bench: Bench, wiki: Wiki) -> Bench:
    """The wiki is configured, and a browser is there."""
    browser = bench.home.parent / "browser"
    browser.write_text(f"#!{sys.executable}\n{BROWSER}")
    browser.chmod(0o755)
    assert run_here(bench, "nebula", "mcp", "add", "wiki", wiki.url).code == 0
    return bench


def log_in(bench: Bench) -> Ran:
    return bench.run("nebula", "mcp", "login", "wiki", BROWSER=f"{bench.home.parent / 'browser'} %s")


def kept(bench: Bench) -> list[Path]:
    return sorted((bench.home / ".nebula" / "mcp-sign-in").glob("*.json"))


def look_up(bench: Bench, word: str) -> str:
    """Have the model use the wiki's tool and repeat the word; return the result that it saw."""
    with ScriptedModel([Turn("", [Call("wiki__find", {"word": word})]), Turn(f"Found {word}.")]) as server:
        run_here(bench, "nebula", "-p", "look it up", "--yes", **server.env())
        return json.dumps(server.turns[-1].json["messages"][-1])


def test_after_a_sign_in_the_tools_work_and_tokens_are_refreshed(signed_up: Bench, wiki: Wiki) -> None:
    before = run_here(signed_up, "nebula", "mcp", "test", "wiki")
    assert before.code == 1 and "nebula mcp login wiki" in before.out + before.err

    done = log_in(signed_up)
    assert done.code == 0 and "Signed in to wiki." in done.out, done.err
    [file] = kept(signed_up)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert "wiki__find" in run_here(signed_up, "nebula", "mcp", "test", "wiki").out
    assert "nebula is in the wiki" in look_up(signed_up, "nebula")

    first = json.loads(file.read_text())
    wiki.authority.access.clear()
    file.write_text(json.dumps(first | {"expires_at": time.time() - 1}))
    assert "wiki__find" in run_here(signed_up, "nebula", "mcp", "test", "wiki").out
    second = json.loads(file.read_text())
    assert second["tokens"]["access_token"] != first["tokens"]["access_token"] and len(wiki.authority.clients) == 1

    wiki.authority.access.clear()
    wiki.authority.refresh.clear()
    file.write_text(json.dumps(second | {"expires_at": time.time() - 1}))
    ended = run_here(signed_up, "nebula", "mcp", "test", "wiki")
    assert ended.code == 1 and "nebula mcp login wiki" in ended.out + ended.err

    assert run_here(signed_up, "nebula", "mcp", "logout", "wiki").code == 0
    assert kept(signed_up) == []


def test_a_no_in_the_browser_is_said_and_nothing_is_kept(signed_up: Bench, wiki: Wiki) -> None:
    wiki.authority.agrees = False
    done = log_in(signed_up)
    assert done.code == 1 and "not today" in done.err and "Traceback" not in done.err
    assert kept(signed_up) == []


def test_a_server_of_the_same_name_gets_no_token(signed_up: Bench, wiki: Wiki) -> None:
    assert log_in(signed_up).code == 0
    other = wiki.url.replace("/mcp", "/other?" + urlencode({"x": 1}))
    assert run_here(signed_up, "nebula", "mcp", "add", "wiki", other).code == 0
    assert "Nobody is signed in to wiki." in run_here(signed_up, "nebula", "mcp", "logout", "wiki").out
    assert len(kept(signed_up)) == 1


def test_tokens_that_a_server_says_aloud_reach_no_record(signed_up: Bench) -> None:
    assert log_in(signed_up).code == 0
    token = json.loads(kept(signed_up)[0].read_text())["tokens"]["access_token"]
    assert "in the wiki" in look_up(signed_up, token)
    records = [each for each in signed_up.home.rglob("*") if each.is_file() and each.parent.name != "mcp-sign-in"]
    records += [each for each in signed_up.project.rglob("*") if each.is_file()]
    assert records and not [each for each in records if token.encode() in each.read_bytes()]
