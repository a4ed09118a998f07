"""The MCP servers that a project names in `.mcp.json`, the file that several agents share.

They are the project's own: asked about once, given nothing of the environment. Whatever is wrong with an entry costs a
remark and that entry.
"""

from __future__ import annotations

import os
from typing import Any

from nebula.config.checks import ConfigError, mcp_servers
from nebula.config.parsing import MAX_CONFIG_BYTES, parse_object, printable
from nebula.errors import NebulaError
from nebula.files.reading import read_below
from nebula.language import Sentence

SHARED_FILE = ".mcp.json"
_KNOWN = ("command", "args", "env", "cwd", "url", "headers")
_KINDS = (None, "stdio", "http", "streamable-http")


def read_shared_servers(root: str, remarks: list[Sentence]) -> dict[str, Any]:
    """Return the servers of the project's `.mcp.json`, in our form; what is wrong with it is added to `remarks`."""
    path = os.path.join(root, SHARED_FILE)
    try:
        data = read_below(root, SHARED_FILE, MAX_CONFIG_BYTES)
        named = parse_object(path, data).get("mcpServers", {}) if data is not None else {}
        if not isinstance(named, dict):
            wrong = ConfigError("expected an object of servers")
            raise ConfigError("{path}: '{key}': {problem}", path=printable(path), key="mcpServers", problem=wrong)
    except NebulaError as problem:
        remarks.append(Sentence("Ignored: {problem}", problem=problem))
        return {}
    found: dict[str, Any] = {}
    for name, entry in named.items():
        try:
            found |= mcp_servers({name: _read_entry(entry)})
        except ConfigError as problem:
            wrong = ConfigError("{path}: {problem}", path=printable(path), problem=problem)
            remarks.append(Sentence("Ignored: {problem}", problem=wrong))
    return found


def _read_entry(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    if entry.get("type") not in _KINDS:
        raise ConfigError("servers of the type {type} are not supported", type=printable(str(entry["type"])))
    return {key: entry[key] for key in _KNOWN if key in entry}
