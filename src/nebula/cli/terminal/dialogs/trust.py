"""Asked once: whether this project's own commands may run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from nebula.cli.terminal.input.contract import agreed
from nebula.config import Settings, remember_trust
from nebula.language import translate
from nebula.stage import one_line

if TYPE_CHECKING:
    from nebula.cli.terminal.input.contract import TerminalInput
    from nebula.cli.terminal.output.screen import Screen


async def ask_trust(settings: Settings, terminal_input: TerminalInput, screen: Screen) -> Settings:
    if settings.checks_need_trust:
        screen.line(translate("This project wants to run these commands as its checks:"))
        for command in settings.checks:
            screen.line(f"  {one_line(command)}")
    if settings.is_from_project("mcp_servers"):
        screen.line(translate("This project wants to use the tools of these MCP servers:"))
        for name, entry in settings.mcp_servers.items():
            screen.line(f"  {one_line(f'{name}: {json.dumps(entry, ensure_ascii=False)}')}")
    if await agreed(terminal_input, translate("Trust this folder and let them run? (y/N): ")):
        settings = remember_trust(settings)
        screen.line(translate("Trusted, and remembered for this folder."), "dim")
    else:
        screen.line(translate("Not trusted: they will not run."), "dim")
    return settings
