"""Sign in to an MCP server by OAuth, and keep the result in a file.

The official client finds the sign-in server, registers there and asks for tokens, by the code flow with PKCE. Tokens
are kept by the address of the MCP server, not by its name: a project whose server has the same name as one of yours
gets none of your tokens.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from nebula.errors import NebulaError
from nebula.files.digest import digest
from nebula.files.folder import Folder
from nebula.files.home import make_private
from nebula.files.reading import UnreadableFile, read_below
from nebula.tools.external.callback import Callback

if TYPE_CHECKING:
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthToken

FOLDER = "mcp-sign-in"
MAX_BYTES = 256 * 1024
_SECRET_FIELDS = ("access_token", "refresh_token")


class SignInFailed(NebulaError):
    """Raised where nobody has signed in: the server or the person refused, or time was up."""


class SignInNeeded(NebulaError):
    """Raised where the server demands a sign-in, for the first time or again."""

    def __init__(self, name: str) -> None:
        super().__init__("it wants a sign-in: nebula mcp login {name}", name=name)


class SignInFile:
    """The registration and tokens of one server, as the official client stores them, and what it would forget over a
    restart."""

    def __init__(self, home: str, url: str) -> None:
        self._folder = os.path.join(home, FOLDER)
        self._name = f"{digest(url.encode())[:32]}.json"
        self._url = url

    def read(self) -> dict[str, Any]:
        """Return what is kept; empty where there is no file, or none that can be read."""
        try:
            found = json.loads(read_below(self._folder, self._name, MAX_BYTES) or b"{}")
        except (UnreadableFile, OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) and found.get("url") == self._url else {}

    def write(self, **parts: Any) -> None:
        make_private(self._folder)
        kept = {**self.read(), "url": self._url, **parts}
        with Folder.at(self._folder) as here:
            here.replace(self._name, json.dumps(kept).encode(), perm=0o600)

    def forget(self) -> bool:
        """Remove the file; return whether there was one."""
        with suppress(FileNotFoundError), Folder.at(self._folder) as here:
            return here.remove(self._name)
        return False

    @property
    def secrets(self) -> tuple[str, ...]:
        kept = self.read()
        tokens, client = kept.get("tokens") or {}, kept.get("client") or {}
        found = (*(tokens.get(name) for name in _SECRET_FIELDS), client.get("client_secret"))
        return tuple(each for each in found if isinstance(each, str) and each)

    async def get_tokens(self) -> OAuthToken | None:
        from mcp.shared.auth import OAuthToken

        kept = self.read().get("tokens")
        return OAuthToken.model_validate(kept) if kept else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        ends = time.time() + tokens.expires_in if tokens.expires_in is not None else None
        self.write(tokens=tokens.model_dump(mode="json", exclude_none=True), expires_at=ends)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        from mcp.shared.auth import OAuthClientInformationFull

        kept = self.read().get("client")
        return OAuthClientInformationFull.model_validate(kept) if kept else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.write(client=client_info.model_dump(mode="json", exclude_none=True))


def signed_in(home: str, url: str, name: str) -> OAuthClientProvider | None:
    """Return an object that adds the kept tokens to requests and refreshes them; None where nobody has signed in. Once
    the tokens no longer work, requests raise SignInNeeded with the server's `name`."""
    file = SignInFile(home, url)
    kept = file.read()
    if not kept.get("tokens"):
        return None
    from mcp.shared.auth import OAuthMetadata

    async def refuse(_: str = "") -> NoReturn:
        raise SignInNeeded(name)

    provider = _provider(file, url, "http://127.0.0.1/callback", refuse, refuse)
    # The client takes the tokens of an earlier process for valid, and asks the server itself for new ones.
    provider.context.token_expiry_time = kept.get("expires_at")
    if kept.get("authority"):
        provider.context.oauth_metadata = OAuthMetadata.model_validate(kept["authority"])
    return provider


async def sign_in(home: str, url: str, show: Callable[[str], Awaitable[None]], page: str) -> None:
    """Sign in to the server at `url`: `show` gets the address at which the person agrees; the browser then shows
    `page`. Raises SignInFailed."""
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    file = SignInFile(home, url)
    file.forget()  # a registration holds for one address to come back to, and that is now another
    async with Callback(page) as callback:

        async def send_off(address: str) -> None:
            callback.expect(address)
            await show(address)

        provider = _provider(file, url, callback.address, send_off, callback.wait)
        try:
            async with (
                httpx2.AsyncClient(auth=provider, timeout=None) as http,
                Client(streamable_http_client(url, http_client=http)),
            ):
                authority = provider.context.oauth_metadata
        except BaseException as problem:
            file.forget()
            if isinstance(problem, Exception):
                raise _explained(problem) from None
            raise
    if not file.read().get("tokens"):
        raise SignInFailed("the server asked for no sign-in")
    if authority is not None:
        file.write(authority=authority.model_dump(mode="json", exclude_none=True))


def _provider(
    file: SignInFile,
    url: str,
    address: str,
    send_off: Callable[[str], Awaitable[None]],
    come_back: Callable[[], Awaitable[AuthorizationCodeResult]],
) -> OAuthClientProvider:
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import OAuthClientMetadata
    from pydantic import AnyUrl

    wanted = OAuthClientMetadata(
        client_name="nebula",
        redirect_uris=[AnyUrl(address)],
        token_endpoint_auth_method="none",  # noqa: S106
    )  # not a secret: this program runs on the person's own machine
    return OAuthClientProvider(url, wanted, file, send_off, come_back)


def first_of(problem: BaseException) -> BaseException:
    """Return the first exception in a group."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return problem


def _explained(problem: BaseException) -> SignInFailed:
    problem = first_of(problem)
    if isinstance(problem, SignInFailed):
        return problem
    return SignInFailed("{reason}", reason=str(problem).partition("\n")[0][:200] or type(problem).__name__)
