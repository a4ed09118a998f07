"""Decide which MCP servers a session may use, and which parts of their entries count.

The user's own servers always count; a project's do once its folder is trusted. Only the user can declare that tools are
read-only, and only in the user's entries does `${NAME}` stand for an environment variable: a key stays there, and a
project cannot ask for one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nebula.config import Settings
from nebula.config.addresses import without_credentials
from nebula.tools.external.sign_in import SignInFile
from nebula.value import value

DEFAULT_TIMEOUT_S = 60.0
_VARIABLE = re.compile(r"\$\{(\w+)\}")


@value
class ExternalServer:
    """One entry of `mcp_servers`, with its variables filled in."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    cwd: str = ""
    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    read_only: frozenset[str] = frozenset()
    timeout_s: float = DEFAULT_TIMEOUT_S
    secrets: tuple[str, ...] = ()
    """What its entry took from the environment, and the tokens of a sign-in."""
    home: str = ""
    """Nebula's home, where the tokens of a sign-in are kept."""


def configured_servers(settings: Settings, environ: Mapping[str, str]) -> tuple[ExternalServer, ...]:
    found: dict[str, ExternalServer] = {}
    if settings.is_from_project("mcp_servers"):
        own = settings.overruled.get("mcp_servers", {})
        if "mcp_servers" in settings.trusted:
            theirs = {name: dict(entry) | {"read_only": []} for name, entry in settings.mcp_servers.items()}
            found |= {name: _server(name, entry, settings, None) for name, entry in theirs.items()}
    else:
        own = settings.mcp_servers
    found |= {name: _server(name, entry, settings, environ) for name, entry in own.items()}
    return tuple(found.values())


def origin_of_server(settings: Settings, name: str) -> str:
    """Return the file that configures a server: the user's own, where it does."""
    is_theirs = settings.is_from_project("mcp_servers")
    own = settings.overruled.get("mcp_servers", {}) if is_theirs else settings.mcp_servers
    return settings.config_path if name in own else settings.origins["mcp_servers"]


def describe_entry(server: ExternalServer) -> str:
    """Return how a server is reached, without the values of its environment and headers."""
    return without_credentials(server.url) if server.url else " ".join((server.command, *server.args))


def _server(
    name: str, entry: Mapping[str, Any], settings: Settings, environ: Mapping[str, str] | None
) -> ExternalServer:
    url = entry.get("url", "")
    secrets = list(SignInFile(settings.home, url).secrets) if url else []

    def filled(text: str) -> str:
        if environ is None:
            return text
        secrets.extend(environ[each] for each in _VARIABLE.findall(text) if environ.get(each))
        return _VARIABLE.sub(lambda found: environ.get(found[1], ""), text)

    return ExternalServer(
        name,
        command=entry.get("command", ""),
        args=tuple(filled(each) for each in entry.get("args", ())),
        env=tuple((key, filled(each)) for key, each in entry.get("env", {}).items()),
        cwd=entry.get("cwd") or settings.root,
        url=url,
        headers=tuple((key, filled(each)) for key, each in entry.get("headers", {}).items()),
        read_only=frozenset(entry.get("read_only", ())),
        timeout_s=entry.get("timeout_s", DEFAULT_TIMEOUT_S),
        secrets=tuple(secrets),
        home=settings.home,
    )
