"""/permissions: what may be written without asking, and taking that back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nebula.cli.terminal.commands.command import SessionCommand
from nebula.cli.terminal.input.contract import agreed
from nebula.language import translate
from nebula.stage import one_line

if TYPE_CHECKING:
    from nebula.cli.terminal.terminal_session import TerminalSession


async def permissions(terminal: TerminalSession, argument: str) -> None:
    allowed = terminal.allowed_unasked()
    if not allowed:
        terminal.screen.line(translate("Every write is asked about."))
        return
    shown = one_line(" ".join(allowed))
    terminal.screen.line(translate("In this session these are written without asking: {patterns}", patterns=shown))
    question = translate("Ask before each write again? (y/N): ")
    if argument.lower() in ("ask", "reset", "revoke") or await agreed(terminal.input, question):
        terminal.ask_again()
        terminal.screen.line(translate("From now on every write is asked about."))


PERMISSIONS = SessionCommand(
    "permissions",
    "what is written without asking, and back to asking",
    permissions,
    ("approvals", "allowed"),
)
