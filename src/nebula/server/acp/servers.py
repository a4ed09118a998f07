"""The MCP servers that an editor sends with a session: its user configured them there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nebula.config import ConfigError, Settings
from nebula.config.checks import mcp_servers
from nebula.server.acp.peer import RpcError
from nebula.value import replace


def with_editors_servers(settings: Settings, given: Any) -> Settings:
    """Return the settings with these servers added to the configured ones; of two with the same name the one in the
    user's own file counts."""
    if not given:
        return settings
    if not isinstance(given, Sequence) or not all(isinstance(each, Mapping) for each in given):
        raise RpcError("'mcpServers' must be a list of servers")
    theirs = {str(each.get("name")): _entry(each) for each in given}
    try:
        mcp_servers(theirs)
    except ConfigError as problem:
        raise RpcError("'mcpServers': {problem}", problem=problem) from None
    if settings.is_from_project("mcp_servers"):
        # A project's servers keep their rules: no environment variable is filled into their entries.
        own = settings.overruled.get("mcp_servers", {})
        return replace(settings, overruled={**settings.overruled, "mcp_servers": {**theirs, **own}})
    origins = {**settings.origins, "mcp_servers": "editor"}
    return replace(settings, mcp_servers={**theirs, **settings.mcp_servers}, origins=origins)


def _entry(given: Mapping[str, Any]) -> dict[str, Any]:
    if "url" in given:
        return {"url": given["url"], "headers": _pairs(given.get("headers"))}
    return {"command": given.get("command"), "args": given.get("args") or [], "env": _pairs(given.get("env"))}


def _pairs(given: Any) -> dict[str, Any]:
    listed = given if isinstance(given, list) else []
    return {str(each.get("name")): each.get("value") for each in listed if isinstance(each, Mapping)}
