"""Small questions that several dialogs and commands ask."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from nebula.cli.terminal.input.contract import EndOfInput, Interrupted
from nebula.language import agrees, declines, fold_width, translate
from nebula.stage import one_line

if TYPE_CHECKING:
    from nebula.cli.terminal.terminal_session import TerminalSession


async def agreed(terminal: TerminalSession, question: str) -> bool:
    """Ask, and return whether somebody says yes; going away is a no.

    So are other words. Somebody meant them for the model: they stand in the next prompt.
    """
    try:
        answer = await terminal.input.ask(question, fresh=True, keys="yn", is_agreement=True)
    except (Interrupted, EndOfInput):
        return False
    yes = agrees(answer)
    if not yes and not declines(answer):
        terminal.typed.give_back(answer)
    return yes


async def choose(
    terminal: TerminalSession,
    names: Sequence[str],
    question: str,
    current: int | None = None,
    *,
    free_name: bool = False,
) -> int | str | None:
    """Return the chosen number of a list, or with `free_name` the name that was typed; None for Enter, Ctrl-C and the
    end of input. Words that are no answer stand in the next prompt."""
    for number, name in enumerate(names, 1):
        terminal.screen.line(f"{'*' if number - 1 == current else ' '}{number:3}  {name}")
    try:
        typed = await terminal.input.ask(question)
    except (Interrupted, EndOfInput):
        return None
    answer = unicodedata.normalize("NFKC", typed).strip()
    if not answer:
        return None
    if answer.isdecimal() and 1 <= int(answer) <= len(names):
        return int(answer) - 1
    if free_name and not answer.isdecimal() and len(answer.split()) == 1:
        return answer
    terminal.screen.warn("There is no number {number} in the list.", number=one_line(answer))
    if not answer.isdecimal():
        terminal.typed.give_back(typed)
    return None


async def choose_one_by_one(
    terminal: TerminalSession, count: int, show: Callable[[int], None], question: str
) -> tuple[list[int], str]:
    """Let the person choose from several things, one after the other: each by a key, the rest of them by another.

    Show each, ask the translated `question` about it, and return the numbers, from 1, of those that are wanted, and
    what was said of the others."""
    if count > 1:
        ways = [translate("y yes · n no"), translate("r yes to the rest"), translate("q no to the rest")]
        terminal.screen.parts([*ways, translate("or say why not")], "dim")
    chosen: list[int] = []
    reasons: list[str] = []
    for number in range(1, count + 1):
        show(number)
        answer = await _ask_one(terminal, question.format(number=number, count=count))
        key = fold_width(answer).strip()
        if key == "r":
            chosen += range(number, count + 1)
        elif agrees(answer):
            chosen.append(number)
        elif key != "q" and not declines(answer):
            reasons.append(answer.strip())
        if key in ("r", "q"):
            break
    return chosen, " ".join(reasons)


async def _ask_one(terminal: TerminalSession, question: str) -> str:
    while True:
        answer = await terminal.input.ask(question, keys="ynrq")
        if fold_width(answer).strip() in ("y", "n", "r", "q") or not is_slip(answer):
            return answer
        say_no_answer(terminal, answer)


def is_slip(answer: str) -> bool:
    """Return whether a key was typed that is not offered, or one twice, or a command: that must not refuse anything."""
    said = fold_width(answer).strip()
    return said.isascii() and (len(set(said)) == 1 or (said[:1] == "/" and said[1:].isalpha()))


def say_no_answer(terminal: TerminalSession, answer: str) -> None:
    terminal.screen.warn("{answer} is not an answer to this question.", answer=one_line(answer.strip()))
