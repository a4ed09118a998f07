"""/accept: carry out the plan on the table, or hand it over as a file for `evercontext run`."""

from __future__ import annotations

import os

from nebula.cli.terminal.commands.command import SessionCommand
from nebula.cli.terminal.output.live_line import waiting
from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.cli.terminal.turns import take_turn
from nebula.language import explain, translate
from nebula.stage import one_line

AS_FILE = "--plan"
DEFAULT_FILE = "plan.json"
HANDED_OVER = "{prompt}\n\n# The plan that the user accepted: break exactly this down into tasks\n\n{plan}"


async def accept(terminal: TerminalSession, argument: str) -> None:
    if not terminal.plan_offered:
        terminal.screen.warn("There is no plan to accept. Ask for one in plan mode.")
        return
    word, _, path = argument.partition(" ")
    if word == AS_FILE:
        await _hand_over(terminal, path.strip() or DEFAULT_FILE)
        return
    prompt = terminal.session.accept_plan()
    terminal.line = f"{prompt}\n{argument}" if argument else prompt  # accepted it stays, whatever comes of the turn
    terminal.screen.tell("Plan accepted. Mode: agent")
    await take_turn(terminal, terminal.line)


async def _hand_over(terminal: TerminalSession, path: str) -> None:
    """The session's model breaks its plan down into tasks; the file can be edited before it is carried out."""
    from nebula.agent.orchestrator.models import TaskModels
    from nebula.agent.orchestrator.run import run_task
    from nebula.agent.orchestrator.task import TaskRequest
    from nebula.cli.evercontext_commands.plan_file import plan_text

    session, screen = terminal.session, terminal.screen
    place = os.path.join(session.settings.root, path)
    asked = session.conversation.turns[-1].prompt
    if problem := _in_the_way(place, path):
        screen.line(problem, "yellow")
        return
    wanted = HANDED_OVER.format(prompt=asked, plan=session.last.text if session.last else "")
    models = TaskModels(session.chosen, session.chosen)
    request, readers = TaskRequest(wanted, only_plan=1), terminal.plan_readers
    result = await waiting(terminal, run_task(session.settings, request, readers, models))
    if result is None or result.plan is None:
        problem = explain(result.final.remark or "") if result is not None else translate("interrupted")
        screen.warn("No plan was written: {problem}", problem=one_line(problem))
    elif problem := _written(place, path, plan_text(result.plan, asked)):
        screen.line(problem, "yellow")
    else:
        said = translate("Written: {path}. Carry it out with: evercontext run --plan {path}", path=one_line(path))
        screen.line(said, "green")


def _in_the_way(place: str, path: str) -> str:
    if not os.path.lexists(place):
        return ""
    return translate("{path} is there already; remove it, or choose another name", path=one_line(path))


def _written(place: str, path: str, text: str) -> str:
    """Write a new file; return the problem, if there is one."""
    try:
        with open(place, "x", encoding="utf-8") as file:
            file.write(text)
    except OSError as problem:
        return f"{one_line(path)}: {explain(problem.strerror or str(problem))}"
    return ""


ACCEPT = SessionCommand("accept", "carry out the plan of the last turn (--plan FILE: as a file)", accept, ("approve",))
