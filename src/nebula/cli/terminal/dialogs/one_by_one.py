"""Choosing from several things one after the other: each by a key, and the rest of them by another."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING

from nebula.language import translate
from nebula.language.agreement import agrees

if TYPE_CHECKING:
    from nebula.cli.terminal.terminal_session import TerminalSession


async def choose_one_by_one(
    terminal: TerminalSession, count: int, show: Callable[[int], None], question: str
) -> list[int]:
    """Show each, ask the translated `question` about it, and return the numbers, from 1, of those that are wanted."""
    if count > 1:
        ways = [translate("y yes · n no"), translate("r yes to the rest"), translate("q no to the rest")]
        terminal.screen.parts(ways, "dim")
    chosen: list[int] = []
    for number in range(1, count + 1):
        show(number)
        asked = question.format(number=number, count=count)
        answer = await terminal.input.ask(asked, keys="ynrq")
        key = unicodedata.normalize("NFKC", answer).strip().lower()
        if key == "r":
            return [*chosen, *range(number, count + 1)]
        if key == "q":
            return chosen
        if agrees(answer):
            chosen.append(number)
    return chosen
