"""Small questions that several commands ask."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from nebula.cli.terminal.input.contract import EndOfInput, Interrupted
from nebula.cli.terminal.terminal_session import TerminalSession


async def choose(
    terminal: TerminalSession,
    names: Sequence[str],
    question: str,
    current: int | None = None,
    *,
    free_text: bool = False,
) -> int | str | None:
    """Return the chosen number of a list, or with `free_text` what else was typed; None for Enter, Ctrl-C and the end
    of input."""
    for number, name in enumerate(names, 1):
        terminal.screen.line(f"{'*' if number - 1 == current else ' '}{number:3}  {name}")
    try:
        answer = unicodedata.normalize("NFKC", await terminal.input.ask(question)).strip()
    except (Interrupted, EndOfInput):
        return None
    if not answer:
        return None
    if answer.isdecimal() and 1 <= int(answer) <= len(names):
        return int(answer) - 1
    if free_text and not answer.isdecimal():
        return answer
    terminal.screen.warn("There is no number {number} in the list.", number=answer)
    return None
