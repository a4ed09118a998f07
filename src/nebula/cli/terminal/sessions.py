"""Commands about sessions: leave, begin anew, go on with another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nebula.cli.terminal.picker import choose_session, session_line
from nebula.cli.terminal.reading import EndOfInput, Interrupted
from nebula.cli.terminal.turns import take_turn
from nebula.memory.errors import UnknownSession

if TYPE_CHECKING:
    from nebula.cli.terminal.sitting import Sitting
    from nebula.memory.sessions import SessionInfo


async def leave(sitting: Sitting, _: str = "") -> None:
    sitting.leaving = True


async def clear(sitting: Sitting, _: str = "") -> None:
    await sitting.reopen(None)
    sitting.screen.line(sitting.words("new_session", id=sitting.session.id))


async def list_them(sitting: Sitting, _: str = "") -> None:
    found = _others(sitting, all_of_them=True)
    if not found:
        sitting.screen.line(sitting.words("no_sessions"))
    for info in found:
        mark = "*" if info.id == sitting.session.id else " "
        sitting.screen.line(f"{mark} {info.id}  {session_line(info, sitting.words, sitting.screen.columns - 36)}")


async def resume(sitting: Sitting, argument: str) -> None:
    """With an id at once; without, from the list."""
    if argument:
        await _go_to(sitting, argument)
        return
    others = _others(sitting)
    if not others:
        sitting.screen.line(sitting.words("no_sessions"))
        return
    try:
        choice = await choose_session(others, sitting.reading, sitting.screen, sitting.words)
    except (Interrupted, EndOfInput):
        return
    if choice.resume:
        await _go_to(sitting, choice.resume)
    elif choice.first_prompt:
        await clear(sitting)
        await take_turn(sitting, choice.first_prompt)


async def _go_to(sitting: Sitting, session_id: str) -> None:
    memory = sitting.session.memory
    try:
        found = memory.find(session_id) if memory else None
    except UnknownSession as unknown:
        sitting.screen.line(str(unknown), "yellow")
        return
    await sitting.reopen(found.id if found else session_id)
    show_resumed(sitting)


def show_resumed(sitting: Sitting) -> None:
    """Where the talk stood: the last prompt and the last words."""
    turns = sitting.session.conversation.turns
    sitting.screen.line(sitting.words("resumed", id=sitting.session.id, turns=len(turns)), "dim")
    if turns:
        sitting.screen.line(f"You: {turns[-1].prompt}", "dim")
        sitting.screen.line()
        if turns[-1].answer:
            sitting.screen.say(turns[-1].answer)


def _others(sitting: Sitting, *, all_of_them: bool = False) -> list[SessionInfo]:
    memory = sitting.session.memory
    found = memory.of_project(sitting.settings.root) if memory else []
    return [info for info in found if info.messages and (all_of_them or info.id != sitting.session.id)]
