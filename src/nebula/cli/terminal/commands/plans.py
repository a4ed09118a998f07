"""/accept: carry out the plan on the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nebula.cli.terminal.commands.command import SessionCommand
from nebula.cli.terminal.turns import take_turn
from nebula.language import translate

if TYPE_CHECKING:
    from nebula.cli.terminal.terminal_session import TerminalSession


async def accept(terminal: TerminalSession, argument: str) -> None:
    if not terminal.plan_offered:
        terminal.screen.line(translate("There is no plan to accept. Ask for one in plan mode."), "yellow")
        return
    prompt = terminal.session.accept_plan()
    terminal.screen.line(translate("Plan accepted. Mode: agent"))
    await take_turn(terminal, f"{prompt}\n{argument}" if argument else prompt)


ACCEPT = SessionCommand("accept", "carry out the plan of the last turn", accept, ("approve",))
