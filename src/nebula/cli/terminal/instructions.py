"""/init and `# remember …`: the project's instructions, written by the agent or line by line."""

from __future__ import annotations

import re

from nebula.agent.context.system_prompt import template
from nebula.agent.instructions.remember import PATH, plan_line, write_line
from nebula.agent.judging import judge_of
from nebula.cli.terminal.commands.command import SessionCommand
from nebula.cli.terminal.dialogs.questions import agreed
from nebula.cli.terminal.output.diff_view import show_diff
from nebula.cli.terminal.terminal_session import TerminalSession, at_work
from nebula.cli.terminal.turns import take_turn
from nebula.language import translate

_REMEMBER = re.compile(r"[#＃]\s*(?:remember\b|覚えて)[:：、]?\s*(\S.*)", re.IGNORECASE)


async def init(terminal: TerminalSession, argument: str) -> None:
    """Have the agent write AGENTS.md, in a turn like any other; `argument` says what else it should heed."""
    if terminal.session.mode == "plan":
        terminal.screen.warn("/init writes a file; switch to agent mode first.")
        return
    prompt = template("init", terminal.session.settings.home)
    await take_turn(terminal, f"{prompt}\n\n{argument}" if argument else prompt)


def wanted_line(text: str) -> str:
    """Return what a typed line wants remembered; empty where it is a prompt."""
    found = _REMEMBER.fullmatch(text.strip())
    return found[1].strip() if found else ""


async def remember(terminal: TerminalSession, text: str) -> None:
    """Add a line to AGENTS.md, once it was shown and agreed to."""
    workspace = terminal.session.project.workspace
    planned = await at_work(plan_line, workspace, text)
    show_diff(terminal.screen, planned.diff)
    if not await agreed(terminal, translate("Add this to {path}? (y/N): ", path=PATH)):
        terminal.screen.hint("Nothing was written.")
        return
    group = await at_work(write_line, workspace, planned, judge_of(terminal.session.settings))
    terminal.session.turn_ids.add(group)
    terminal.forks.files_changed()
    terminal.screen.tell("Written to {path}; it holds from the next prompt on. /undo takes it back.", path=PATH)


INIT = SessionCommand("init", "have AGENTS.md written from the project", init)
