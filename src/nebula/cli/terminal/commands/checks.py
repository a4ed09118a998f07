"""/checks: what the agent may run to check its work; where nothing is configured, what the project seems to have."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.agent.checks.find import with_found_checks
from nebula.agent.checks.lacking import find_lacking
from nebula.cli.terminal.commands.command import SessionCommand
from nebula.cli.terminal.terminal_session import TerminalSession, at_work
from nebula.config import is_declined
from nebula.language import Sentence, explain, translate
from nebula.stage import one_line


async def checks(terminal: TerminalSession, _: str) -> None:
    from nebula.cli.terminal.dialogs.trust import ask_trust

    settings = with_found_checks(terminal.settings)
    if not settings.checks:
        terminal.screen.tell(
            'No checks are configured or found here. Add "checks": ["…"] to {path}.',
            path=one_line(terminal.settings.project_config_path),
        )
        return
    await _tell_lacking(terminal, settings.checks)
    if settings.checks_need_trust:
        settings = await ask_trust(terminal, settings)
    terminal.settings = settings
    terminal.session.use_checks(settings)
    if settings.allowed_checks:
        terminal.screen.tell("The agent may run these to check its work:")
        for command in settings.allowed_checks:
            terminal.screen.line(f"  {one_line(command)}")


async def _tell_lacking(terminal: TerminalSession, commands: Sequence[str]) -> None:
    """Say of each check what it lacks, before anybody agrees to it."""
    found = await at_work(_find_lacking, terminal, commands)
    for command, lacking in found.items():
        terminal.screen.line(one_line(f"{command}: {explain(lacking)}"), "yellow")


def _find_lacking(terminal: TerminalSession, commands: Sequence[str]) -> dict[str, Sentence]:
    layers = terminal.session.project.layers
    found = {command: find_lacking(command, layers) for command in commands} if layers is not None else {}
    return {command: lacking for command, lacking in found.items() if lacking is not None}


def offer(terminal: TerminalSession) -> None:
    """Once a session, after files were changed: that the agent could check its own work."""
    if terminal.checks_offered or terminal.session.project.checks.commands:
        return
    terminal.checks_offered = True
    settings = with_found_checks(terminal.settings)
    if settings.checks and not is_declined(settings):
        lacking = _find_lacking(terminal, settings.checks)
        found = one_line(", ".join(command for command in settings.checks if command not in lacking))
        if not found:
            return  # what cannot be started is no offer; /checks says what it lacks
        hint = translate("This project seems to be checked by: {checks}", checks=found)
        terminal.screen.line(f"{hint} · {translate('/checks lets the agent run it')}", "dim")


CHECKS = SessionCommand("checks", "what the agent may run to check its work", checks, alone=True)
