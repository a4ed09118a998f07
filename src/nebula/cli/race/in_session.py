"""A race in a session: its live lines, its result, and what of it is taken."""

from __future__ import annotations

import asyncio
import shlex
from typing import TYPE_CHECKING

from nebula.agent.judging import judged
from nebula.agent.race.begin import RaceWish, command_line, prepare_race
from nebula.agent.race.take import take_tries
from nebula.cli.race.comparison import show_comparison
from nebula.cli.race.keys import stop_named
from nebula.cli.race.progress import RaceProgress
from nebula.cli.race.taking import read_wanted
from nebula.cli.race.view import reasons, result_table
from nebula.cli.terminal.input.contract import Watch
from nebula.cli.terminal.output.live_line import LiveLine
from nebula.errors import NebulaError
from nebula.events import Final, Stamped
from nebula.language import explain, translate
from nebula.stage import one_line
from nebula.workspace.local import LocalWorkspace

if TYPE_CHECKING:
    from nebula.agent.race.race import Race
    from nebula.agent.race.take import TakenSet
    from nebula.cli.terminal.terminal_session import TerminalSession

USAGE = "/race 3 TASK, or /race --models A,B TASK"


async def run_race(terminal: TerminalSession, argument: str) -> None:
    """Run the tries that `argument` wishes for beside one another, and show what each came to."""
    session, screen = terminal.session, terminal.screen
    wish = _read_wish(terminal, argument)
    files = session.project.workspace
    if wish is None or not isinstance(files, LocalWorkspace):
        screen.line(translate("Say what to try: {usage}", usage=USAGE), "yellow")
        return
    lines = RaceLines(terminal)
    try:
        begun = await prepare_race(
            session.settings, wish, lines.hear, session.remarks.add, session.archive, session_id=session.id
        )
    except NebulaError as problem:
        screen.line(one_line(explain(problem)), "yellow")
        return
    begun.workspace.close()
    begun.workspace, begun.redactor = files, session.redactor
    task = asyncio.create_task(begun.run())
    terminal.work = task
    keys = Watch(begun.stop, terminal.toggle_backstage, obey_at_once=lambda line: _obey(terminal, begun, line))
    try:
        with terminal.input.watching(keys):
            tries = await task
    finally:
        lines.end()
        terminal.work = None
    for sentence in session.remarks.take():
        screen.line(one_line(explain(sentence)), "yellow")
    for line in (*result_table(tries, session.archive.graph), *reasons(tries)):
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


class RaceLines:
    """A line for each try that ends, and a live one for each that is at work."""

    def __init__(self, terminal: TerminalSession) -> None:
        self._screen = terminal.screen
        self._progress = RaceProgress("lines")
        ways = translate("Esc ends all · stop N ends one · compare")
        self._live = LiveLine(terminal.screen, terminal.typed.shown, ways, self._progress.lines_at_work)
        self._live.raise_()

    def hear(self, number: int, stamped: object) -> None:
        assert isinstance(stamped, Stamped)  # noqa: S101 - a race tells nothing else
        self._progress.hear(number, stamped)
        if isinstance(stamped.event, Final):
            self._live.lower()
            self._screen.line(self._progress.line_of(number), "dim")
        self._live.raise_(doing="" if self._screen.capable else self._progress.all_in_short())

    def end(self) -> None:
        self._live.lower()


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
    )


async def compare_tries(terminal: TerminalSession, argument: str) -> None:
    """Show what the tries of the last race did with these paths, or with all."""
    screen, files = terminal.screen, terminal.session.project.workspace
    if not terminal.tries or not isinstance(files, LocalWorkspace):
        screen.line(
            translate("There was no race in this session yet. /compare NODE NODE compares two turns."), "yellow"
        )
        return
    tries = list(terminal.tries.values())
    for line in show_comparison(tries, files.history, argument.split() or [""], screen.columns):
        screen.verbatim(line)


async def take_from_race(terminal: TerminalSession, argument: str) -> None:
    """Take what one try did, or parts of several, and go on from the one that was taken whole."""
    screen, files = terminal.screen, terminal.session.project.workspace
    try:
        wanted = read_wanted(terminal.tries, shlex.split(argument))
        assert isinstance(files, LocalWorkspace)  # noqa: S101 - a race was run here
        settings = terminal.session.settings
        ask = judged(terminal.session.project.approvals.approver, settings)
        done = await take_tries(wanted, files, ask, settings)
    except (NebulaError, ValueError) as problem:
        said = explain(problem) if isinstance(problem, NebulaError) else str(problem)
        screen.line(one_line(said), "yellow")
        return
    _tell_taken(terminal, done)
    whole = [each for each in wanted if not each.paths]
    if done.decision.allowed and len(wanted) == 1 and whole:
        await asyncio.to_thread(terminal.session.continue_from, [wanted[0].node_id])
        screen.line(translate("The conversation goes on from this try."), "dim")


def _tell_taken(terminal: TerminalSession, done: TakenSet) -> None:
    line = terminal.screen.line
    for remark in done.remarks:
        line(one_line(explain(remark)), "yellow")
    if done.decision.allowed:
        for each in done.applied:
            line(f"{one_line(each.path)} (+{each.added} −{each.removed})")
        if not done.applied and done.is_whole:
            line(translate("The project has all of it already."))
    if done.conflicts:
        paths = one_line(", ".join(done.conflicts))
        line(translate("Left out, because it changed in the project meanwhile: {paths}.", paths=paths), "yellow")
    for problem in done.left_out:
        line(one_line(explain(problem)), "yellow")
