"""All commands of the session, and what a line of the user is: a command, an unknown word, or a prompt.

Whatever begins with a slash never reaches the model unless it is plainly not a word, such as a path.
"""

from __future__ import annotations

import asyncio

from nebula.cli.terminal.commands import checks, files, modes, permissions, plans, races, reports, sessions
from nebula.cli.terminal.commands.command import SessionCommand
from nebula.cli.terminal.commands.elsewhere import ELSEWHERE
from nebula.cli.terminal.commands.graph import branches, maps
from nebula.cli.terminal.commands.history import HISTORY, WHY
from nebula.cli.terminal.commands.models import MODEL
from nebula.cli.terminal.instructions import INIT, remember, wanted_line
from nebula.cli.terminal.output.width import pad
from nebula.cli.terminal.own_command import run_own_command, wanted_command
from nebula.cli.terminal.servers import MCP, send_server_prompt
from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.cli.terminal.turns import take_turn
from nebula.config import Settings
from nebula.errors import NebulaError
from nebula.extensions.commands import expand_typed, find_commands, is_command_word
from nebula.language import agrees, translate
from nebula.stage import one_line

_HELP_COLUMN = 18
ALIKE = 0.7
"""How much of a word has to be that of a command for it to be a slip of the fingers: /test is no /reset."""


async def show_help(terminal: TerminalSession, _: str = "") -> None:
    line = terminal.screen.line
    line(translate("Commands:"), "bold")
    for command in TABLE:
        name = f"{command.name}, /{command.name}" if command.bare else f"/{command.name}"
        line(f"  {pad(name, _HELP_COLUMN)} {translate(command.help)}", hang=_HELP_COLUMN + 3)
    if of_files := file_commands(terminal.settings):
        line(translate("Commands from files:"), "bold")
        for name, about in of_files.items():
            line(f"  {pad(f'/{name}', _HELP_COLUMN)} {about}", hang=_HELP_COLUMN + 3)
    if not terminal.screen.capable:
        return  # nothing reads keys there
    line(translate("Keys:"), "bold")
    for key, meaning in KEYS:
        line(f"  {pad(key, _HELP_COLUMN)} {translate(meaning)}", hang=_HELP_COLUMN + 3)


TABLE: tuple[SessionCommand, ...] = (
    SessionCommand("help", "this list", show_help, ("?", "h", "commands"), at_once=True),
    *modes.COMMANDS,
    MODEL,
    plans.ACCEPT,
    INIT,
    permissions.PERMISSIONS,
    checks.CHECKS,
    MCP,
    *files.COMMANDS,
    HISTORY,
    WHY,
    *branches.COMMANDS,
    *races.COMMANDS,
    *maps.COMMANDS,
    *reports.COMMANDS,
    *sessions.COMMANDS,
)

KEYS = (
    ("Enter", "send; \\+Enter, Alt+Enter or Ctrl+J begin a new line"),
    ("!command", "run a command of your own in a layer; what it says goes with the next prompt"),
    ("# remember TEXT", "add a line to AGENTS.md, after a question"),
    ("Shift+Tab", "plan mode and back"),
    ("Tab", "complete commands, words, @files, @turns and #tags"),
    ("↑ ↓ Ctrl+R", "earlier prompts"),
    ("Ctrl+O", "backstage"),
    ("Ctrl+V", "attach the image in the clipboard"),
    ("Ctrl+G", "write the prompt in $EDITOR"),
    ("Esc, Ctrl+C", "interrupt the running turn; Esc twice or Ctrl+C clears the line, Ctrl+C twice leaves"),
    ("Enter, Tab", "while a turn runs: Enter keeps what you typed for after it, Tab sends it into the turn"),
    ("Ctrl+D", "leave, on an empty line"),
)

BARE = {"quit", "?", *(command.name for command in TABLE if command.bare)}


_COMMANDS = {command.name: command for command in TABLE}
_COMMANDS |= {alias: command for command in TABLE for alias in command.aliases}


def find(text: str) -> tuple[SessionCommand, str] | None:
    """Return the command that this line is, with its argument; None for a prompt."""
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


def command_words() -> frozenset[str]:
    """Return every word that is a command of ours, which no file replaces."""
    return frozenset(_COMMANDS)


async def obey(terminal: TerminalSession, text: str) -> None:
    """Carry out one line of the user: a command, a shell line, a word about the plan on the table, or a prompt."""
    try:
        await _obey(terminal, text)
    except NebulaError as problem:  # what cannot be done does not end the session
        terminal.warn(problem)


async def _obey(terminal: TerminalSession, text: str) -> None:
    if not text.strip():
        return
    found = find(text)
    if found is not None:
        await _run(terminal, *found, is_one_line="\n" not in text.strip())
    elif (prompt := prompt_of_file(terminal, text)) is not None:
        await take_turn(terminal, prompt)
    elif is_command_word(text):
        if not await send_server_prompt(terminal, text):
            terminal.screen.line(unknown(text.split(None, 1)[0]), "yellow")
    elif terminal.plan_offered and (agrees(text) or text.strip().lower() == "accept"):
        await plans.accept(terminal, "")
    elif (command_line := wanted_command(text)) is not None:
        await run_own_command(terminal, command_line)
    elif line := wanted_line(text):
        await remember(terminal, line)
    else:
        await take_turn(terminal, text.strip())


async def _run(terminal: TerminalSession, command: SessionCommand, argument: str, *, is_one_line: bool) -> None:
    if argument and command.alone:
        terminal.screen.warn("/{name} takes no argument; nothing was done.", name=command.name)
    elif not is_one_line:  # lines that waited come back together when a turn is interrupted
        terminal.screen.warn("/{name} takes one line; nothing was done.", name=command.name)
    else:
        await command.run(terminal, argument)


def obey_at_once(terminal: TerminalSession, text: str) -> bool:
    """Carry out a line typed while a turn runs and return True, where it is a command that need not wait."""
    found = find(text.strip())
    if found is None or not found[0].at_once or (found[1] and not found[0].argument_at_once):
        return False
    terminal.screen.line(f"› {text.strip()}", "bold")
    telling = asyncio.create_task(obey(terminal, text.strip()))
    terminal.telling.add(telling)
    telling.add_done_callback(terminal.telling.discard)
    return True


def unknown(word: str) -> str:
    """Name what comes nearest."""
    from difflib import get_close_matches

    elsewhere = ELSEWHERE.get(word.lower())
    if elsewhere is not None:
        advice = translate(elsewhere)
        return translate("nebula has no {word}. {advice} It was not sent to the model.", word=word, advice=advice)
    near = get_close_matches(word.lower()[1:], _COMMANDS, n=1, cutoff=ALIKE)
    if near:
        return translate(
            "There is no command {word}; did you mean {near}? It was not sent to the model.",
            word=one_line(word),
            near=f"/{near[0]}",
        )
    return translate(
        "There is no command {word}; it was not sent to the model. /help lists the commands."
        " (To send text that begins with a slash, put a space in front.)",
        word=one_line(word),
    )


def prompt_of_file(terminal: TerminalSession, text: str) -> str | None:
    """Return the prompt that a command from a file makes of this line; None where it is no such command."""
    if not text.startswith("/"):
        return None
    try:
        return expand_typed(terminal.settings, text)
    except NebulaError as problem:
        terminal.warn(problem)
        return None


def file_commands(settings: Settings) -> dict[str, str]:
    """Return the commands that come from Markdown files with what they are for; a word of ours is none of them."""
    found = find_commands(settings)
    return {name: one_line(command.description) for name, command in found.items() if name not in _COMMANDS}


def slash_words(settings: Settings) -> dict[str, str]:
    """Return every command with what it does, for completion."""
    own = {f"/{command.name}": translate(command.help) for command in TABLE}
    return own | {f"/{name}": about for name, about in file_commands(settings).items()}
