"""/history FILE: which turns changed a file; /history FILE N takes back what one of them did to it."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING

from nebula.agent.past.decisions import decisions_in
from nebula.agent.past.file_turns import FileTurn, plan_part, take_back, turns_of
from nebula.cli.terminal.commands import sessions
from nebula.cli.terminal.commands.command import SessionCommand
from nebula.cli.terminal.commands.files import show_preview
from nebula.cli.terminal.commands.nodes import short_ids
from nebula.cli.terminal.output.width import cut
from nebula.language import explain, translate
from nebula.stage import one_line

if TYPE_CHECKING:
    from nebula.cli.terminal.terminal_session import TerminalSession


async def history(terminal: TerminalSession, argument: str) -> None:
    """Without a file, as elsewhere: the sessions of this directory."""
    if not argument:
        await sessions.list_them(terminal)
        return
    path, number = _read(argument)
    turns = await asyncio.to_thread(turns_of, terminal.session.project.workspace, path, terminal.session.archive.find)
    if number is None or not turns:
        _list(terminal, path, turns)
    elif 1 <= number <= len(turns):
        await _take_back(terminal, path, turns[number - 1])
    else:
        terminal.screen.line(translate("There is no number {number} in the list.", number=number), "yellow")


def _read(argument: str) -> tuple[str, int | None]:
    path, _, last = argument.rpartition(" ")
    if path and last.isdecimal():
        return path.strip().removeprefix("@"), int(last)
    return argument.strip().removeprefix("@"), None


def _list(terminal: TerminalSession, path: str, turns: list[FileTurn]) -> None:
    screen, name = terminal.screen, one_line(path)
    if not turns:
        screen.line(translate("No turn has changed {path}.", path=name))
        return
    screen.line(translate("Turns that changed {path}, newest first:", path=name))
    short = short_ids(terminal, [turn.turn_id for turn in turns if turn.node is not None])
    for number, turn in enumerate(turns, start=1):
        when = f"{datetime.fromisoformat(turn.ts).astimezone():%m-%d %H:%M}" if turn.ts else ""
        said = one_line(turn.prompt) or translate("(put back or taken back)")
        figures = f"+{turn.added} −{turn.removed}"
        screen.line(cut(f"{number:3}  {short.get(turn.turn_id, '')}  {when}  {figures}  {said}", screen.columns - 1))
        for decision in decisions_in(turn.node) if turn.node is not None else ():
            if decision.remark is not None:
                screen.line(cut(f"     {one_line(explain(decision.remark))}", screen.columns - 1), "dim")
    screen.line(translate("/history {path} NUMBER takes back what that turn did to this file alone.", path=name), "dim")


async def _take_back(terminal: TerminalSession, path: str, turn: FileTurn) -> None:
    workspace = terminal.session.project.workspace
    part = await asyncio.to_thread(plan_part, workspace, path, turn)
    if not part.diff.text:
        terminal.screen.line(translate("Nothing of it is left in {path}.", path=one_line(path)))
        return
    show_preview(terminal, [part.diff.text])
    await asyncio.to_thread(take_back, workspace, part)
    terminal.session.turn_ids.add(part.group)
    terminal.forks.files_changed()
    terminal.screen.line(translate("Taken back: {files}. /undo brings it back.", files=one_line(part.path)))


HISTORY = SessionCommand(
    "history", "the sessions of this directory; /history FILE its turns, /history FILE N takes one's part back", history
)
