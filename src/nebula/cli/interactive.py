"""nebula without -p: an interactive session in the current directory."""

from __future__ import annotations

import argparse
import asyncio
import sys
from functools import partial

from nebula import __version__
from nebula.cli.busy import busy
from nebula.cli.printing import short_path
from nebula.cli.settings import open_project
from nebula.cli.terminal.commands.sessions import show_resumed
from nebula.cli.terminal.commands.table import BARE, obey, obey_at_once, slash_words
from nebula.cli.terminal.dialogs.session_choice import Choice, choose_session, mention_sessions, spoken_sessions
from nebula.cli.terminal.dialogs.trust import ask_trust
from nebula.cli.terminal.input.contract import EndOfInput, Interrupted
from nebula.cli.terminal.input.line_input import LineInput
from nebula.cli.terminal.output.screen import screen_on
from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.config import Settings
from nebula.errors import EXIT_INTERRUPTED, EXIT_OK
from nebula.language import Sentence, translate
from nebula.llm.catalog import short_name
from nebula.stage import one_line


def run_interactive(options: argparse.Namespace) -> int:
    settings = open_project("nebula", options)
    return asyncio.run(_run(new_terminal(options, settings)))


def new_terminal(options: argparse.Namespace, settings: Settings) -> TerminalSession:
    """With an editor where the terminal has what it takes, else line by line."""
    terminal = TerminalSession(options, settings, screen_on(sys.stdout, sys.stdin))
    terminal.obey_at_once = partial(obey_at_once, terminal)
    if terminal.screen.capable:
        from nebula.cli.terminal.input.editor import EditorInput  # it loads prompt_toolkit

        terminal.input = EditorInput(terminal, slash_words(terminal.settings), sorted(BARE))
    else:
        terminal.input = LineInput(sys.stdin.fileno(), terminal.screen, terminal.label, terminal.mark)
    return terminal


async def _run(terminal: TerminalSession) -> int:
    with terminal.input.attached():
        return await _attend(terminal)


async def _attend(terminal: TerminalSession) -> int:
    screen = terminal.screen
    folder = one_line(short_path(terminal.settings.root))
    screen.line(translate("nebula {version} · {folder}", version=__version__, folder=folder), "bold")
    try:
        if terminal.settings.needs_trust or terminal.settings.extensions_need_trust:
            terminal.settings = await ask_trust(terminal, terminal.settings)
        choice = await _choice(terminal)
        if choice.leave:
            return 0
        await terminal.open(choice.resume, terminal.options.from_nodes, terminal.options.mode or "agent")
    except (EndOfInput, Interrupted):
        return 0
    try:
        _greet(terminal, resumed=choice.resume is not None)
        await converse(terminal, choice)
    finally:
        session_id = terminal.session.id
        with busy(Sentence("finishing")):
            await terminal.session.close()
    if terminal.session.conversation.turns:
        screen.hint("Resume this session with: nebula --resume {id}", id=session_id)
    return EXIT_INTERRUPTED if terminal.was_stopped else EXIT_OK


async def converse(terminal: TerminalSession, choice: Choice) -> None:
    """Ask for prompts and run their turns until somebody leaves."""
    if choice.first_prompt:
        await _carry_out(terminal, choice.first_prompt)
    offered = choice.offered
    interrupted_before = False
    while not terminal.leaving:
        try:
            line = terminal.typed.next_line()
            if line is None:
                line = await terminal.input.prompt()
            else:
                terminal.screen.line(terminal.label() + line)
                terminal.plan_offered = False  # typed before the plan was there: it cannot be a yes to it
        except EndOfInput:
            return
        except Interrupted:
            if interrupted_before:
                return
            interrupted_before = True
            terminal.screen.hint("Press Ctrl-C again to leave.")
            continue
        interrupted_before = False
        if (number := line.strip()).isdecimal() and 1 <= int(number) <= len(offered):
            line = f"/resume {offered[int(number) - 1]}"
        offered = () if number else offered
        await _carry_out(terminal, line)


async def _carry_out(terminal: TerminalSession, line: str) -> None:
    """Do what a line says; if that is a turn that comes to nothing, the line goes back to where it can be edited."""
    terminal.line, terminal.came_to_nothing = line, False
    await obey(terminal, terminal.pastes.expand_small(line))
    if terminal.came_to_nothing and terminal.screen.capable:
        terminal.typed.give_back(terminal.line)


async def _choice(terminal: TerminalSession) -> Choice:
    """Return which session: the one that the command line names, one from the list of `-r`, else a new one at once."""
    options = terminal.options
    if options.continue_last or options.resume:
        return Choice("" if options.continue_last else options.resume)
    if options.from_nodes:
        return Choice()
    sessions = spoken_sessions(terminal.settings)
    if options.resume is not None:
        return await choose_session(sessions, terminal.input, terminal.screen) if sessions else Choice("")
    return mention_sessions(sessions, terminal.screen)


def _greet(terminal: TerminalSession, *, resumed: bool) -> None:
    model = one_line(short_name(terminal.session.chosen.name))
    if terminal.screen.capable:
        text = translate(
            "{model} · /help lists the commands, Shift-Tab switches to plan mode, Ctrl-D leaves", model=model
        )
    else:  # nothing reads keys there
        text = translate("{model} · /help lists the commands, plan switches to plan mode, exit leaves", model=model)
    terminal.screen.line(text, "dim")
    if resumed and terminal.session.conversation.turns:
        show_resumed(terminal)
    else:
        terminal.screen.line()
