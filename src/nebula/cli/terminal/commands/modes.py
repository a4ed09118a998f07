"""Commands about how the agent works and what is shown of it."""

from __future__ import annotations

from nebula.agent.session import MODES
from nebula.cli.terminal.commands.command import SessionCommand
from nebula.cli.terminal.dialogs.questions import choose
from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.cli.terminal.turns import take_turn
from nebula.config import save_choice
from nebula.language import translate
from nebula.stage import one_line
from nebula.value import replace

CURTAINS = ("quiet", "paths")


async def plan(terminal: TerminalSession, argument: str) -> None:
    await _switch(terminal, "plan", argument)


async def agent(terminal: TerminalSession, argument: str) -> None:
    await _switch(terminal, "agent", argument)


async def _switch(terminal: TerminalSession, to: str, prompt: str) -> None:
    """`/plan do this` switches and asks at once."""
    terminal.switch_mode(to)
    terminal.screen.tell("Mode: {mode}", mode=to)
    if prompt:
        await take_turn(terminal, prompt)


async def mode(terminal: TerminalSession, argument: str) -> None:
    if not argument:
        current = terminal.session.mode
        terminal.screen.tell("Modes:")
        names = [
            translate("agent: reads and, when you say yes, writes"),
            translate("plan: only reads; ends with a plan you can accept"),
        ]
        question = translate("Number of the mode (Enter keeps {mode}): ", mode=current)
        chosen = await choose(terminal, names, question, MODES.index(current), free_name=True)
        argument = MODES[chosen] if isinstance(chosen, int) else chosen or current
    if argument.lower() not in MODES:
        terminal.screen.warn("There is no mode '{mode}'; there are plan and agent.", mode=one_line(argument))
        return
    await _switch(terminal, argument.lower(), "")


async def backstage(terminal: TerminalSession, _: str = "") -> None:
    terminal.toggle_backstage()


async def curtain(terminal: TerminalSession, argument: str) -> None:
    other = CURTAINS[1 - CURTAINS.index(terminal.stage_options.curtain)]
    chosen = argument.lower() or other
    if chosen not in CURTAINS:
        terminal.screen.warn("There is no curtain '{curtain}'; there are quiet and paths.", curtain=one_line(argument))
        return
    terminal.stage_options = replace(terminal.stage_options, curtain=chosen)
    save_choice(terminal.settings, curtain=chosen)
    terminal.screen.tell("During the work the live line shows: {curtain}", curtain=chosen)


COMMANDS = (
    SessionCommand("plan", "switch to plan mode: read only", plan, bare=True),
    SessionCommand("agent", "switch to agent mode: may write, with your approval", agent, ("act", "code"), bare=True),
    SessionCommand("mode", "show the modes and choose one", mode, bare=True, bare_argument=True),
    SessionCommand("backstage", "show or hide the tools at work", backstage, ("verbose", "details"), alone=True),
    SessionCommand("curtain", "what the live line shows: quiet or paths", curtain),
)
