"""What can be typed in a session: its commands and keys."""

from __future__ import annotations

from words import page, say, table

from nebula.cli.terminal.commands.table import KEYS, TABLE
from nebula.language import translate


def list_session_commands() -> str:
    rows = []
    for each in TABLE:
        names = [f"`/{each.name}`", *([f"`{each.name}`"] if each.bare else [])]
        aliases = [f"`/{alias}`" for alias in each.aliases]
        rows.append((", ".join(names + aliases), translate(each.help), say("yes") if each.at_once else ""))
    keys = [(f"`{key}`", translate(meaning)) for key, meaning in KEYS]
    return page(
        "Commands of a session",
        "What you type in `nebula`; editors offer most of it, and a turn at work does not stop those marked so.",
        table(("command", "what it does", "during a turn"), rows),
        f"## {say('Keys')}",
        table(("key", "what it does"), keys),
    )
