"""/permissions: what may be written without asking, and taking that back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nebula.cli.terminal.commands.command import SessionCommand
from nebula.language import translate
from nebula.stage import one_line
from nebula.tools.approval import agrees

if TYPE_CHECKING:
    from nebula.cli.terminal.terminal_session import TerminalSession

from nebula.cli.terminal.input.contract import EndOfInput, Interrupted


async def permissions(terminal: TerminalSession, argument: str) -> None:
    allowed = terminal.allowed_unasked()
    if not allowed:
        terminal.screen.line(translate("Every write is asked about."))
        return
    shown = one_line(" ".join(allowed))
    terminal.screen.line(translate("In this session these are written without asking: {patterns}", patterns=shown))
    if argument.lower() in ("ask", "reset", "revoke") or await _wants_questions(terminal):
        terminal.ask_again()
        terminal.screen.line(translate("From now on every write is asked about."))


async def _wants_questions(terminal: TerminalSession) -> bool:
    try:
        return agrees(await terminal.input.ask(translate("Ask before each write again? (y/N): ")))
    except (Interrupted, EndOfInput):
        return False


PERMISSIONS = SessionCommand(
    "permissions",
    "what is written without asking, and back to asking",
    permissions,
    ("approvals", "allowed"),
)
