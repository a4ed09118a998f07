"""nebula import settings: shows what of another agent's settings would be taken over, and asks."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from nebula.cli.arguments import Parser
from nebula.cli.asking import agreed
from nebula.cli.printing import print_line, short_path, tell_line, tell_remark
from nebula.cli.settings import open_project
from nebula.config import Settings, save_choice
from nebula.errors import EXIT_OK, EXIT_POLICY
from nebula.exchange.imports.foreign_settings import AGENTS, ForeignSettings, read_settings_of
from nebula.files.descriptors import naming
from nebula.language import translate


def main(argv: Sequence[str]) -> int:
    parser = Parser(
        "nebula import settings",
        "MCP servers, allowed hosts and instructions of another agent: shown, and taken over if you agree.",
    )
    parser.add_argument("agent", choices=AGENTS, metavar="claude|codex")
    parser.add_flag("--yes", "take it over without a question")
    parser.add_root()
    options = parser.parse_args(argv)
    settings = open_project("nebula", options)
    found = read_settings_of(options.agent, settings.root)
    if not (found.mcp_servers or found.hosts or found.instructions):
        tell_remark("Nothing that could be taken over is among the settings of {agent}.", agent=options.agent)
        return EXIT_OK
    instructions = os.path.join(settings.home, "AGENTS.md")
    choices = _new_choices(found, settings)
    words = found.instructions if not os.path.lexists(instructions) else ""
    if not choices and not words:
        tell_remark("Everything is here already; there is nothing to take over.")
        return EXIT_OK
    _show(choices, words, instructions, found)
    if not (options.yes or agreed(translate("Take this over into your settings? (y/N): "))):
        tell_remark("Nothing was taken over.")
        return EXIT_POLICY
    if choices:
        save_choice(settings, **choices)
    if words:
        handle = os.open(instructions, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with naming(instructions), os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(words + "\n")
    tell_line("Taken over into {path}.", path=short_path(settings.config_path))
    return EXIT_OK


def _new_choices(found: ForeignSettings, settings: Settings) -> dict[str, Any]:
    """Return the settings that would change; what the user has already stays as it is."""
    own = settings.overruled.get("mcp_servers") if settings.is_from_project("mcp_servers") else settings.mcp_servers
    known: dict[str, Any] = dict(own or {})
    servers = {name: dict(entry) for name, entry in found.mcp_servers.items() if name not in known}
    hosts = [each for each in found.hosts if each not in settings.sandbox_network]
    choices: dict[str, Any] = {"mcp_servers": {**known, **servers}} if servers else {}
    return choices | ({"sandbox_network": [*settings.sandbox_network, *hosts]} if hosts else {})


def _show(choices: dict[str, Any], words: str, instructions: str, found: ForeignSettings) -> None:
    for name, entry in found.mcp_servers.items() if "mcp_servers" in choices else ():
        tell_line("MCP server {name}: {entry}", name=name, entry=json.dumps(entry, ensure_ascii=False))
    if "sandbox_network" in choices:
        tell_line("hosts that commands may reach: {hosts}", hosts=", ".join(found.hosts))
    if words:
        said = translate("instructions, {size} characters, as {path}", size=len(words), path=short_path(instructions))
        print_line(said)
    if found.variables:
        names = ", ".join(found.variables)
        tell_remark("Keys are not taken along; set these in the environment: {names}", names=names)
