"""Asked once: whether this project's own commands may run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nebula.cli.terminal.input.contract import EndOfInput, Interrupted
from nebula.config import Settings, remember_trust
from nebula.stage import one_line

if TYPE_CHECKING:
    from nebula.cli.terminal.input.contract import TerminalInput
    from nebula.cli.terminal.output.screen import Screen
    from nebula.cli.words import Words


async def ask_trust(settings: Settings, input: TerminalInput, screen: Screen, words: Words) -> Settings:
    screen.line(words("trust_title"))
    for command in settings.checks:
        screen.line(f"  {one_line(command)}")
    try:
        answer = await input.ask(words("trust_ask"))
    except (EndOfInput, Interrupted):
        answer = ""
    if answer.strip().lower() in ("y", "yes", "はい"):
        settings = remember_trust(settings)
        screen.line(words("trusted"), "dim")
    else:
        screen.line(words("not_trusted"), "dim")
    return settings
