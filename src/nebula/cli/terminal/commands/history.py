"""/history FILE: which turns changed a file; /history FILE N takes back what one of them did to it."""

from __future__ import annotations

import re
from datetime import datetime

from nebula.agent.judging import judge_of
from nebula.agent.past.decisions import decisions_in
from nebula.agent.past.file_turns import FileTurn, plan_part, take_back, turns_of
from nebula.blame.runs import LineRun
from nebula.blame.why import ExplainedRun, explain_lines
from nebula.cli.terminal.commands import sessions
from nebula.cli.terminal.commands.command import SessionCommand
from nebula.cli.terminal.commands.files import show_preview
from nebula.cli.terminal.commands.graph.nodes import short_ids
from nebula.cli.terminal.output.width import cut
from nebula.cli.terminal.terminal_session import TerminalSession, at_work
from nebula.language import explain, translate
from nebula.stage import join_lines, one_line
from nebula.workspace.reading import ReadingWorkspace

_LINES = re.compile(r"(?P<path>.+?)(?::(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?)?")


async def history(terminal: TerminalSession, argument: str) -> None:
    """List the turns that changed a file; without one, as elsewhere, the sessions of this directory."""
    if not argument:
        await sessions.list_them(terminal)
        return
    path, number = _read(argument)
    turns = await at_work(turns_of, terminal.session.project.workspace, path, terminal.session.archive.find)
    if number is None or not turns:
        _list(terminal, path, turns)
    elif 1 <= number <= len(turns):
        await _take_back(terminal, path, turns[number - 1])
    else:
        terminal.screen.warn("There is no number {number} in the list.", number=number)


def _read(argument: str) -> tuple[str, int | None]:
    path, _, last = argument.rpartition(" ")
    if path and last.isdecimal():
        return path.strip().removeprefix("@"), int(last)
    return argument.strip().removeprefix("@"), None


def _list(terminal: TerminalSession, path: str, turns: list[FileTurn]) -> None:
    screen, name = terminal.screen, one_line(path)
    if not turns:
        screen.tell("No turn has changed {path}.", path=name)
        return
    screen.tell("Turns that changed {path}, newest first:", path=name)
    short = short_ids(terminal, [turn.turn_id for turn in turns if turn.node is not None])
    for number, turn in enumerate(turns, start=1):
        when = f"{datetime.fromisoformat(turn.ts).astimezone():%m-%d %H:%M}" if turn.ts else ""
        said = join_lines(turn.prompt) or translate("(put back or taken back)")
        figures = f"+{turn.added} −{turn.removed}"
        screen.line(cut(f"{number:3}  {short.get(turn.turn_id, '')}  {when}  {figures}  {said}", screen.columns - 1))
        for decision in decisions_in(turn.node) if turn.node is not None else ():
            if decision.remark is not None:
                screen.line(cut(f"     {one_line(explain(decision.remark))}", screen.columns - 1), "dim")
    screen.hint("/history {path} NUMBER takes back what that turn did to this file alone.", path=name)


async def _take_back(terminal: TerminalSession, path: str, turn: FileTurn) -> None:
    workspace = terminal.session.project.workspace
    part = await at_work(plan_part, workspace, path, turn)
    if not part.diff.text:
        terminal.screen.tell("Nothing of it is left in {path}.", path=one_line(path))
        return
    show_preview(terminal, [(part.path, part.diff)])
    await at_work(take_back, workspace, part, judge_of(terminal.session.settings))
    terminal.session.turn_ids.add(part.group)
    terminal.forks.files_changed()
    terminal.screen.tell("Taken back: {files}. /undo brings it back.", files=one_line(part.path))


HISTORY = SessionCommand(
    "history", "the sessions of this directory; /history FILE its turns, /history FILE N takes one's part back", history
)


async def why(terminal: TerminalSession, argument: str) -> None:
    """Show the turns behind a file, or behind some of its lines, the newest first."""
    found = _LINES.fullmatch(argument.strip().removeprefix("@"))
    workspace = terminal.session.project.workspace
    if found is None or not isinstance(workspace, ReadingWorkspace):
        terminal.screen.warn("/why FILE, /why FILE:LINE or /why FILE:LINE-LINE")
        return
    first = int(found["first"] or 1)
    last = int(found["last"] or first) if found["first"] else None
    explained = await at_work(explain_lines, workspace.root, found["path"], first, last)
    short = short_ids(terminal, list({each.run.node_id for each in explained if each.node is not None}))
    by_source: dict[LineRun, list[ExplainedRun]] = {}
    for each in explained:
        by_source.setdefault(each.run.without_lines(), []).append(each)
    for own in by_source.values():
        _show_source(terminal, own, short)


def _show_source(terminal: TerminalSession, own: list[ExplainedRun], short: dict[str, str]) -> None:
    screen, (run, node) = terminal.screen, (own[0].run, own[0].node)
    lines = ", ".join(
        str(each.run.start_line)
        if each.run.start_line == each.run.end_line
        else f"{each.run.start_line}–{each.run.end_line}"
        for each in own
    )
    where = translate("line {lines}" if lines.isdecimal() else "lines {lines}", lines=lines)
    if node is None:
        who = {"you": translate("you"), "before": run.author or translate("before")}.get(run.by, run.tool)
        screen.line(cut(f"{one_line(who)}  {run.commit[:8]}  {where}", screen.columns - 1), "dim")
        return
    verified = "  ✓" if run.verified else ""
    screen.line(
        cut(
            f"{short.get(node.id, '')}  {run.tell_time('%Y-%m-%d %H:%M')}  {one_line(run.model)}{verified}  {where}",
            screen.columns - 1,
        )
    )
    screen.line(f"  {join_lines(node.prompt)}", "bold", hang=2)
    if node.response.strip():
        screen.line(f"  {join_lines(node.response.strip().rpartition(chr(10) * 2)[2])}", hang=2)


WHY = SessionCommand("why", "FILE[:LINE[-LINE]]: which prompts these lines come from", why)
