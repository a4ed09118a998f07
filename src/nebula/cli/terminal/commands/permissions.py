"""/permissions: what is done without asking, and taking that back."""

from __future__ import annotations

from nebula.cli.terminal.commands.command import SessionCommand
from nebula.cli.terminal.dialogs.questions import agreed
from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.language import explain, translate
from nebula.stage import one_line
from nebula.tools.permissions import Permission

_REVOKE = ("revoke", "ask", "reset")


async def permissions(terminal: TerminalSession, argument: str) -> None:
    word, _, name = argument.partition(" ")
    if word.lower() in _REVOKE:
        _take_back(terminal, name.strip())
        return
    given = terminal.permissions
    if not given:
        terminal.screen.tell("Everything is asked about.")
        return
    terminal.screen.tell("In this session these go without asking:")
    for each in given:
        terminal.screen.line(f"  {_format(each)}")
    terminal.screen.hint("/permissions revoke NAME takes one back, /permissions revoke all of them.")
    if terminal.work is None and await agreed(terminal, translate("Take all of them back now? (y/N): ")):
        _take_back(terminal, "")


def _take_back(terminal: TerminalSession, name: str) -> None:
    taken = terminal.revoke(name)
    if name and not taken:
        terminal.screen.warn("Nothing is allowed under the name {name}.", name=one_line(name))
    for each in taken:
        terminal.screen.tell("Taken back: {permission}", permission=_format(each))
    if not terminal.permissions:
        terminal.screen.tell("From now on everything is asked about." if taken else "Everything is asked about.")


def _format(permission: Permission) -> str:
    return f"{one_line(permission.name)}  {explain(permission.about)}"


PERMISSIONS = SessionCommand(
    "permissions",
    "what goes without asking; revoke [NAME] takes it back",
    permissions,
    ("approvals", "allowed"),
    at_once=True,
    argument_at_once=True,
)
