"""Which session to go on with: those of this directory, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nebula.cli.terminal.output.width import cut, pad
from nebula.cli.words import Words
from nebula.stage import one_line

if TYPE_CHECKING:
    from nebula.cli.terminal.input.contract import TerminalInput
    from nebula.cli.terminal.output.screen import Screen
    from nebula.memory.sessions import SessionInfo

SHOWN = 9


@dataclass(frozen=True, slots=True)
class Choice:
    resume: str | None = None
    """The id of a session; None begins a new one."""
    first_prompt: str = ""
    """Somebody who types a sentence at the list wants a new session to begin with it."""
    leave: bool = False


async def choose_session(sessions: Sequence[SessionInfo], input: TerminalInput, screen: Screen, words: Words) -> Choice:
    if not sessions:
        return Choice()
    screen.line(words("picker_title"))
    for number, info in enumerate(sessions[:SHOWN], 1):
        screen.line(f"{number:3}  {session_line(info, words, screen.columns - 5)}")
    if len(sessions) > SHOWN:
        screen.line(words("picker_more", count=len(sessions) - SHOWN), "dim")
    while True:
        answer = (await input.ask(words("picker_ask"))).strip()
        choice = read_choice(answer, sessions)
        if choice is not None:
            return choice
        screen.line(words("picker_again", answer=one_line(answer), count=len(sessions)))


def read_choice(answer: str, sessions: Sequence[SessionInfo]) -> Choice | None:
    """None: ask again."""
    word = answer.removeprefix("/").lower()
    if word in ("", "new", "n"):
        return Choice()
    if word in ("exit", "quit", "q"):
        return Choice(leave=True)
    if word.isdecimal():
        number = int(word)
        return Choice(sessions[number - 1].id) if 1 <= number <= len(sessions) else None
    for info in sessions:
        if info.id == answer:
            return Choice(info.id)
    return Choice(first_prompt=answer) if len(answer) > 3 or not answer.isascii() else None


def session_line(info: SessionInfo, words: Words, columns: int) -> str:
    """Time, status, model and last words on one line of the terminal."""
    status = pad(words(info.status), max(len("completed"), 9))
    model = pad(cut(one_line(info.model), 18), 18)
    head = f"{info.started_at:%Y-%m-%d %H:%M}  {status}  {model}  "
    said = one_line(info.last_words) or words("no_words")
    return head + cut(said, max(10, columns - _width(head)))


def _width(text: str) -> int:
    from nebula.cli.terminal.output.width import display_width

    return display_width(text)
