"""/permissions: what is done without asking, and taking that back."""

from __future__ import annotations

from nebula.cli.terminal.commands.command import SessionCommand
from nebula.cli.terminal.input.contract import agreed
from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.language import Sentence, explain, translate
from nebula.stage import one_line
from nebula.tools.permissions import Permission

_REVOKE = ("revoke", "ask", "reset")
_ABOUT = {
    "write": Sentence("files that are written"),
    "ignored": Sentence("what commands leave in files that git ignores"),
    "call": Sentence("a tool of an MCP server, as it was described"),
    "network": Sentence("commands that use the network"),
    "host": Sentence("pages of this host that are fetched"),
    "secret": Sentence("a secret file that commands may read"),
    "rule": Sentence("every ordinary write and every call of a tool"),
}


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
    if await agreed(terminal.input, translate("Take all of them back now? (y/N): ")):
        _take_back(terminal, "")


def _take_back(terminal: TerminalSession, name: str) -> None:
    taken = terminal.revoke(name)
    if name and not taken:
        terminal.screen.warn("Nothing is allowed under the name {name}.", name=one_line(name))
    for each in taken:
        terminal.screen.tell("Taken back: {permission}", permission=_format(each))
    if not terminal.permissions:
        terminal.screen.tell("From now on everything is asked about.")


def _format(permission: Permission) -> str:
    return f"{one_line(permission.name)}  {explain(_ABOUT[permission.kind])}"


PERMISSIONS = SessionCommand(
    "permissions", "what goes without asking; revoke [NAME] takes it back", permissions, ("approvals", "allowed")
)
