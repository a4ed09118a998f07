"""Asked once: whether this project's own commands may run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nebula.cli.terminal.reading import EndOfInput, Interrupted
from nebula.config import Settings, remember_trust
from nebula.stage import one_line

if TYPE_CHECKING:
    from nebula.cli.terminal.reading import Reading
    from nebula.cli.terminal.screen import Screen
    from nebula.cli.words import Words


async def ask_trust(settings: Settings, reading: Reading, screen: Screen, words: Words) -> Settings:
    screen.line(words("trust_title"))
    for command in settings.checks:
        screen.line(f"  {one_line(command)}")
    try:
        answer = await reading.ask(words("trust_ask"))
    except (EndOfInput, Interrupted):
        answer = ""
    if answer.strip().lower() in ("y", "yes", "はい"):
        settings = remember_trust(settings)
        screen.line(words("trusted"), "dim")
    else:
        screen.line(words("not_trusted"), "dim")
    return settings
