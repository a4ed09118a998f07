"""Which session to go on with: those of this directory, newest first."""

from __future__ import annotations

import os
from collections.abc import Sequence

from nebula.agent.past.session_names import as_listed
from nebula.cli.terminal.input.contract import TerminalInput
from nebula.cli.terminal.output.screen import Screen
from nebula.cli.terminal.output.width import cut, display_width, pad
from nebula.config import Settings
from nebula.language import Sentence, explain, translate
from nebula.llm.catalog import short_name
from nebula.memory.sessions import SessionInfo, Sessions
from nebula.stage import one_line
from nebula.value import value

SHOWN = 9
_STATUS = {
    "active": Sentence("active"),
    "completed": Sentence("completed"),
    "failed": Sentence("failed"),
    "refused": Sentence("refused"),
    "interrupted": Sentence("cut short"),
}
MENTIONED = 3
MODEL_WIDTH = 18
ABOUT_WIDTH = 10
"""Columns that the first and the last words need at least."""


@value
class Choice:
    resume: str | None = None
    """The id of a session; None begins a new one."""
    first_prompt: str = ""
    """Somebody who types a sentence at the list wants a new session to begin with it."""
    leave: bool = False
    offered: tuple[str, ...] = ()
    """Ids of the sessions that a number, typed before anything else, goes on with."""


def spoken_sessions(settings: Settings) -> list[SessionInfo]:
    """Return the sessions of this directory, newest first; one without a turn is nothing to go back to."""
    if not os.path.exists(settings.memory_path):
        return []
    with Sessions(settings.memory_path) as memory:
        return as_listed((info for info in memory.of_project(settings.root) if info.messages), settings)


def mention_sessions(sessions: Sequence[SessionInfo], screen: Screen) -> Choice:
    """Show the newest sessions and how to go on with one; nobody is asked, and a new one begins."""
    if not sessions:
        return Choice()
    screen.hint("Earlier sessions of this directory (a number or /resume goes on with one):")
    for number, info in enumerate(sessions[:MENTIONED], 1):
        screen.line(f"{number:3}  {session_line(info, screen.columns - 5)}", "dim")
    return Choice(offered=tuple(info.id for info in sessions[:MENTIONED]))


async def choose_session(sessions: Sequence[SessionInfo], terminal_input: TerminalInput, screen: Screen) -> Choice:
    if not sessions:
        return Choice()
    screen.tell("Sessions of this directory:")
    for number, info in enumerate(sessions[:SHOWN], 1):
        screen.line(f"{number:3}  {session_line(info, screen.columns - 5)}")
    if len(sessions) > SHOWN:
        screen.hint("     … and {count} more: nebula sessions", count=len(sessions) - SHOWN)
    while True:
        answer = (
            await terminal_input.ask(translate("Number of a session to resume, or Enter for a new one: "))
        ).strip()
        choice = read_choice(answer, sessions)
        if choice is not None:
            return choice
        screen.tell(
            "There is no session {answer}. Give a number from 1 to {count}, or press Enter.",
            answer=one_line(answer),
            count=len(sessions),
        )


def read_choice(answer: str, sessions: Sequence[SessionInfo]) -> Choice | None:
    """Return the session that an answer chooses; None where it has to be asked again."""
    word = answer.removeprefix("/").lower()
    if word in ("", "new", "n"):
        return Choice()
    if word in ("exit", "quit", "q"):
        return Choice(leave=True)
    if word.isdecimal():
        number = int(word)
        return Choice(sessions[number - 1].id) if 1 <= number <= len(sessions) else None
    for info in sessions:
        if answer in (info.id, info.name):
            return Choice(info.id)
    return Choice(first_prompt=answer) if len(answer) > 3 or not answer.isascii() else None


def listed_session(info: SessionInfo, columns: int) -> str:
    """Id, time and what it is about, on one line; behind that the last words, where there is room. That it did not end
    well stands before them."""
    status = explain(_STATUS[info.status]) if info.status in ("failed", "refused", "interrupted") else ""
    said = one_line(" · ".join(dict.fromkeys(filter(None, (status, info.name, info.first_prompt, info.last_words)))))
    return cut(f"{info.id}  {info.started_at:%Y-%m-%d %H:%M}  {said or translate('(nothing said yet)')}", columns)


def session_line(info: SessionInfo, columns: int) -> str:
    """Time, status, model, name or first prompt, and last words on one line of the terminal."""
    status = pad(explain(_STATUS[info.status]), len("completed"))
    head = f"{info.started_at:%Y-%m-%d %H:%M}  {status}  "
    if columns - display_width(head) >= MODEL_WIDTH + 2 + ABOUT_WIDTH:  # what it is about says more than its model
        head += pad(cut(one_line(short_name(info.model)), MODEL_WIDTH), MODEL_WIDTH) + "  "
    return head + _begun_and_ended(info, max(ABOUT_WIDTH, columns - display_width(head)))


def _begun_and_ended(info: SessionInfo, columns: int) -> str:
    """Describe a session by its first and last prompt: each has half of the room at least, or what it needs."""
    first, last = one_line(info.name or info.first_prompt), one_line(info.last_words)
    if not first or not last or first == last:
        return cut(first or last or translate("(nothing said yet)"), columns)
    between = " · "
    room = columns - len(between)
    begun = cut(first, max(room // 2, room - display_width(last)))
    return begun + between + cut(last, room - display_width(begun))
