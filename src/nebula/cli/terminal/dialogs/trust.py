"""Asked once: whether this project's own commands may run."""

from __future__ import annotations

import json

from nebula.cli.terminal.dialogs.questions import agreed
from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.config import Settings, remember_extensions, remember_trust
from nebula.language import translate
from nebula.stage import one_line

MOST_NAMED = 20


async def ask_trust(terminal: TerminalSession, settings: Settings) -> Settings:
    """Show what the project would run or tell the model, ask once, and remember what was agreed to."""
    screen = terminal.screen
    if settings.checks_need_trust:
        screen.tell("This project wants to run these commands as its checks:")
        for command in settings.checks:
            screen.line(f"  {one_line(command)}")
    if settings.is_from_project("mcp_servers"):
        screen.tell("This project wants to use the tools of these MCP servers:")
        for name, entry in settings.mcp_servers.items():
            screen.line(f"  {one_line(f'{name}: {json.dumps(entry, ensure_ascii=False)}')}")
    if settings.extensions_need_trust:
        screen.tell("This project brings skills and commands along, which the model would be told of:")
        paths = list(settings.brought_along)
        for path in paths[:MOST_NAMED]:
            screen.line(f"  {one_line(path)}")
        if len(paths) > MOST_NAMED:
            screen.tell("  … and {count} more", count=len(paths) - MOST_NAMED)
    if await agreed(terminal, translate("Trust this folder and let them run? (y/N): ")):
        if settings.extensions_need_trust:
            settings = remember_extensions(settings)
        if settings.commands:
            settings = remember_trust(settings)
        screen.hint("Trusted, and remembered for this folder.")
    else:
        screen.hint("Not trusted: they will not run.")
    return settings
