"""/checks: what the agent may run to check its work; where nothing is configured, what the project seems to have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nebula.cli.terminal.commands.command import SessionCommand
from nebula.language import translate
from nebula.stage import one_line

if TYPE_CHECKING:
    from nebula.cli.terminal.terminal_session import TerminalSession


async def checks(terminal: TerminalSession, _: str) -> None:
    from nebula.agent.checks.find import with_found_checks
    from nebula.cli.terminal.dialogs.trust import ask_trust

    settings = with_found_checks(terminal.settings)
    if not settings.checks:
        terminal.screen.line(
            translate('No checks are configured or found here. Add "checks": ["…"] to {path}.', path=_config(terminal))
        )
        return
    if settings.checks_need_trust:
        settings = await ask_trust(settings, terminal.input, terminal.screen)
    terminal.settings = settings
    terminal.session.use_checks(settings)
    if settings.allowed_checks:
        terminal.screen.line(translate("The agent may run these to check its work:"))
        for command in settings.allowed_checks:
            terminal.screen.line(f"  {one_line(command)}")


def offer(terminal: TerminalSession) -> None:
    """Once a session, after files were changed: that the agent could check its own work."""
    from nebula.agent.checks.find import with_found_checks
    from nebula.config import is_declined

    if terminal.checks_offered or terminal.session.project.checks.commands:
        return
    terminal.checks_offered = True
    settings = with_found_checks(terminal.settings)
    if settings.checks and not is_declined(settings):
        found = one_line(", ".join(settings.checks))
        hint = translate("This project seems to be checked by: {checks}", checks=found)
        terminal.screen.line(f"{hint} · {translate('/checks lets the agent run it')}", "dim")


def _config(terminal: TerminalSession) -> str:
    return one_line(terminal.settings.project_config_path)


CHECKS = SessionCommand("checks", "what the agent may run to check its work", checks, alone=True)
