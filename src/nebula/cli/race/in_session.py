"""A race in a session: its live lines, its result, and what of it is taken."""

from __future__ import annotations

import asyncio
import shlex

from nebula.agent.judging import judged
from nebula.agent.race.begin import RaceWish, command_line, prepare_race
from nebula.agent.race.race import Race
from nebula.agent.race.take import take_tries
from nebula.cli.race.comparison import show_comparison
from nebula.cli.race.progress import RaceLines, stop_named
from nebula.cli.race.taking import describe_taken, read_wanted
from nebula.cli.race.view import reasons, result_table
from nebula.cli.terminal.input.contract import Watch
from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.language import translate
from nebula.stage import one_line
from nebula.workspace.local import LocalWorkspace


async def run_race(terminal: TerminalSession, argument: str) -> None:
    """Run the tries that `argument` wishes for beside one another, and show what each came to."""
    session, screen = terminal.session, terminal.screen
    wish = _read_wish(terminal, argument)
    files = session.project.workspace
    if wish is None or not isinstance(files, LocalWorkspace):
        screen.warn("Say what to try: /race 3 TASK, or /race --models A,B TASK")
        return
    ways = translate("Esc ends all · stop N ends one · compare")
    lines = RaceLines(screen, terminal.typed.shown, ways)
    with lines.shown():
        begun = await prepare_race(
            session.settings, wish, lines.hear, session.remarks.add, session.archive, session_id=session.id
        )
        begun.workspace.close()
        begun.workspace, begun.redactor = files, session.redactor
        keys = Watch(begun.stop, terminal.toggle_backstage, obey_at_once=lambda line: _obey(terminal, begun, line))
        tries = await terminal.carry_out(begun.run(), keys)
    for sentence in session.remarks.take():
        terminal.warn(sentence)
    for line in (*result_table(tries, session.archive.graph, columns=screen.columns), *reasons(tries)):
        screen.verbatim(line)
    for line in show_comparison(tries, files.history, width=screen.columns):
        screen.verbatim(line)
    terminal.tries = {each.number: each for each in tries}
    if any(each.files for each in tries):
        said = translate(
            "/take 2 takes a try, /take 2:src/a.py 3:tests/ parts of several; /compare PATH shows a file of them."
        )
        screen.line(said, "dim")


def _obey(terminal: TerminalSession, begun: Race, line: str) -> bool:
    """Carry out what was typed during a race: `stop N`, or `compare PATH…` of the tries that have ended."""
    word, *paths = line.split() or [""]
    if word.removeprefix("/") != "compare":
        return stop_named(begun, line)
    ended, screen = begun.ended(), terminal.screen
    for each in show_comparison(ended, begun.workspace.history, paths, screen.columns):
        screen.verbatim(each)
    names = ", ".join(str(each.number) for each in ended)
    screen.line(
        translate("Compared so far: {tries}", tries=names) if ended else translate("No try has ended yet."), "dim"
    )
    return True


def _read_wish(terminal: TerminalSession, argument: str) -> RaceWish | None:
    option, _, rest = argument.strip().partition(" ")
    if option.isdecimal():
        option, rest = "--tries", argument.strip()
    value, _, task = rest.strip().partition(" ")
    if option not in ("--tries", "--models") or not task.strip():
        return None
    if option == "--tries" and not value.isdecimal():
        return None
    session = terminal.session
    return RaceWish(
        task.strip(),
        int(value) if option == "--tries" else None,
        tuple(value.split(",")) if option == "--models" else None,
        session.place.next_parents(),
        command_line(session.settings) | {"model": f"{session.chosen.provider}/{session.chosen.name}"},
        tuple(terminal.options.allow),
        granted=session.project.approvals.granted,
    )


async def compare_tries(terminal: TerminalSession, argument: str) -> None:
    """Show what the tries of the last race did with these paths, or with all."""
    screen, files = terminal.screen, terminal.session.project.workspace
    if not terminal.tries or not isinstance(files, LocalWorkspace):
        screen.warn("There was no race in this session yet. /compare NODE NODE compares two turns.")
        return
    tries = list(terminal.tries.values())
    lines = show_comparison(tries, files.history, argument.split() or [""], screen.columns)
    for line in lines:
        screen.verbatim(line)
    if not lines:
        named = one_line(argument.strip())
        screen.line(translate("No try changed {paths}.", paths=named) if named else translate("No try changed a file."))


async def take_from_race(terminal: TerminalSession, argument: str) -> None:
    """Take what one try did, or parts of several, and go on from the one that was taken whole."""
    screen, files = terminal.screen, terminal.session.project.workspace
    try:
        words = shlex.split(argument)
    except ValueError as problem:
        screen.line(one_line(str(problem)), "yellow")
        return
    wanted = read_wanted(terminal.tries, words)
    assert isinstance(files, LocalWorkspace)  # noqa: S101 - a race was run here
    settings = terminal.session.settings
    ask = judged(terminal.session.project.approvals.approver, settings)
    done = await take_tries(wanted, files, ask, settings)
    for line, style in describe_taken(done):
        screen.line(one_line(line), style)
    if done.decision.allowed and len(wanted) == 1 and not wanted[0].paths:
        await asyncio.to_thread(terminal.session.continue_from, [wanted[0].node_id])
        screen.hint("The conversation goes on from this try.")
