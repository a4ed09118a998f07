"""The words the session knows: one table, a small handler each. Whatever begins with a slash never reaches the model
unless it is plainly not a word, such as a path."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nebula.cli.command_words import ABOUT, ELSEWHERE
from nebula.cli.terminal.commands import modes, reports, sessions, time_travel
from nebula.cli.terminal.turns import take_turn
from nebula.stage import one_line

if TYPE_CHECKING:
    from nebula.cli.terminal.terminal_session import TerminalSession

Handler = Callable[["TerminalSession", str], Awaitable[None]]

_SLASH_WORD = re.compile(r"/(\?|\w[\w-]*)?$")
_ACCEPTING = frozenset({"accept", "y", "yes", "ok", "はい", "承認"})


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    run: Handler
    aliases: tuple[str, ...] = ()
    bare: bool = False
    """Also known without the slash, as in the seed."""
    bare_argument: bool = False
    """Without the slash it may have one word behind it; more words make it a prompt."""


TABLE: tuple[Command, ...] = (
    Command("help", reports.show_help, ("?", "h", "commands")),
    Command("plan", modes.plan, bare=True),
    Command("agent", modes.agent, ("act", "code"), bare=True),
    Command("mode", modes.mode, bare=True, bare_argument=True),
    Command("model", modes.model, ("models",), bare=True, bare_argument=True),
    Command("accept", modes.accept, ("approve",)),
    Command("undo", time_travel.undo),
    Command("redo", time_travel.redo),
    Command("retry", time_travel.retry),
    Command("edit", time_travel.edit),
    Command("fork", time_travel.fork, ("branch",)),
    Command("restore", time_travel.restore),
    Command("graph", time_travel.graph),
    Command("tree", time_travel.tree),
    Command("sessions", sessions.list_them, ("history",)),
    Command("resume", sessions.resume, ("continue",)),
    Command("diff", time_travel.diff),
    Command("cost", reports.cost, ("usage", "stats")),
    Command("context", reports.context),
    Command("tools", reports.tools),
    Command("compact", reports.compact, ("compress", "summarize")),
    Command("backstage", modes.backstage, ("verbose", "details")),
    Command("curtain", modes.curtain),
    Command("clear", sessions.clear, ("new", "reset")),
    Command("exit", sessions.leave, ("quit", "q", "bye"), bare=True),
)

BARE = {"quit", *(command.name for command in TABLE if command.bare)}


def _by_name() -> Mapping[str, Command]:
    names = {command.name: command for command in TABLE}
    return names | {alias: command for command in TABLE for alias in command.aliases}


_COMMANDS = _by_name()


def find(text: str) -> tuple[Command, str] | None:
    """The command that this line is, with its argument; None for a prompt."""
    words = text.split(None, 1)
    if not words:
        return None
    first, rest = words[0].lower(), words[1].strip() if len(words) > 1 else ""
    if text.startswith("/"):
        command = _COMMANDS.get(first[1:])
        return (command, rest) if command else None
    command = _COMMANDS.get(first) if first in BARE else None
    if command is None or (rest and not (command.bare_argument and len(rest.split()) == 1)):
        return None
    return command, rest


def is_slash_word(text: str) -> bool:
    return text.startswith("/") and _SLASH_WORD.match(text.split(None, 1)[0]) is not None


async def obey(terminal: TerminalSession, text: str) -> None:
    """One line of the user: a command, a word about the plan on the table, or a prompt."""
    if not text.strip():
        return
    found = find(text)
    if found is not None:
        command, argument = found
        await command.run(terminal, argument)
    elif is_slash_word(text):
        terminal.screen.line(unknown(text.split(None, 1)[0], terminal.settings.lang, terminal), "yellow")
    elif terminal.plan_offered and text.strip().lower() in _ACCEPTING:
        await modes.accept(terminal, "")
    else:
        await take_turn(terminal, text.strip())


def unknown(word: str, lang: str, terminal: TerminalSession) -> str:
    """Names what comes nearest."""
    from difflib import get_close_matches

    elsewhere = ELSEWHERE.get(word.lower())
    if elsewhere is not None:
        return terminal.words("unknown_elsewhere", word=word, advice=elsewhere[lang == "ja"])
    near = get_close_matches(word.lower()[1:], _COMMANDS, n=1)
    if near:
        return terminal.words("unknown_near", word=one_line(word), near=f"/{near[0]}")
    return terminal.words("unknown_command", word=one_line(word))


def slash_words(lang: str) -> dict[str, str]:
    """For completion: every command with what it does."""
    about = ABOUT.get(lang, ABOUT["en"])
    return {f"/{command.name}": about[command.name] for command in TABLE}
