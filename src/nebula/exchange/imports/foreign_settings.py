"""What another agent's settings hold that counts here, too: MCP servers, hosts that commands may reach, instructions.

Keys are not taken along: what looks like one becomes the name of a variable, to be set in the environment.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from nebula.files.reading import UnreadableFile, read_below
from nebula.files.untrusted_json import parse_json
from nebula.messages.redaction.key_shapes import holds_key
from nebula.value import value

AGENTS: Final = ("claude", "codex")
_LIMIT: Final = 4 << 20
_LARGEST_INSTRUCTIONS: Final = 32 << 10
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_HOST: Final = re.compile(r"WebFetch\(domain:([A-Za-z0-9*.-]{1,253})\)")
_SECRET_NAME: Final = re.compile(r"key|token|secret|passw|auth|credential", re.IGNORECASE)


@value
class ForeignSettings:
    mcp_servers: Mapping[str, Mapping[str, Any]]
    hosts: tuple[str, ...] = ()
    instructions: str = ""
    variables: tuple[str, ...] = ()
    """Variables that have to be set, in the place of keys that were not taken along."""


def read_settings_of(agent: str, root: str) -> ForeignSettings:
    """Return what the settings of `agent` hold, its own for the user and those for the project in `root`."""
    if agent == "codex":
        home = os.environ.get("CODEX_HOME") or os.path.expanduser("~/.codex")
        return _assemble(_toml(home, "config.toml").get("mcp_servers"), [], _text(home, "AGENTS.md"))
    home = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    whole = _json(os.path.expanduser("~"), ".claude.json")
    projects = whole.get("projects")
    here = projects.get(root) if isinstance(projects, dict) else None
    servers = {**_object(whole.get("mcpServers")), **_object(_object(here).get("mcpServers"))}
    allowed = _object(_json(home, "settings.json").get("permissions")).get("allow")
    return _assemble(servers, allowed if isinstance(allowed, list) else [], _text(home, "CLAUDE.md"))


def _assemble(servers: Any, allowed: list[Any], instructions: str) -> ForeignSettings:
    variables: list[str] = []
    taken = {
        name: entry
        for name, said in _object(servers).items()
        if _NAME.fullmatch(name) and "__" not in name and (entry := _server(_object(said), variables))
    }
    hosts = [found[1] for each in allowed if isinstance(each, str) and (found := _HOST.fullmatch(each))]
    return ForeignSettings(taken, tuple(dict.fromkeys(hosts)), instructions.strip(), tuple(dict.fromkeys(variables)))


def _server(said: dict[str, Any], variables: list[str]) -> dict[str, Any]:
    """Return an entry as our settings have it; empty where it says neither a command nor an address."""
    key = next((key for key in ("command", "url") if isinstance(said.get(key), str) and said[key]), None)
    if key is None:
        return {}
    entry: dict[str, Any] = {key: said[key]}
    if isinstance(said.get("args"), list):
        entry["args"] = [str(each) for each in said["args"]]
    for pair, names in (("env", ("env",)), ("headers", ("headers", "http_headers"))):
        pairs = {name: each for other in names for name, each in _object(said.get(other)).items()}
        kept = {name: _without_key(name, str(each), variables) for name, each in pairs.items()}
        entry |= {pair: kept} if kept else {}
    return entry


def _without_key(name: str, text: str, variables: list[str]) -> str:
    if "${" in text or not (holds_key(text) or _SECRET_NAME.search(name)):
        return text
    variable = re.sub(r"\W", "_", name).upper()
    variables.append(variable)
    scheme = re.match(r"(?:Bearer|Basic|Token) ", text)
    return f"{scheme[0] if scheme else ''}${{{variable}}}"


def _object(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _text(folder: str, name: str, limit: int = _LARGEST_INSTRUCTIONS) -> str:
    try:
        found = read_below(folder, name, limit) if os.path.isdir(folder) else None
    except UnreadableFile:
        return ""
    return (found or b"").decode("utf-8", "replace")


def _json(folder: str, name: str) -> dict[str, Any]:
    try:
        return _object(parse_json(_text(folder, name, _LIMIT) or "{}"))
    except ValueError:
        return {}


def _toml(folder: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(folder, name, _LIMIT))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}
