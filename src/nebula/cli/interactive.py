"""nebula without -p: an interactive session in the current directory."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from typing import TYPE_CHECKING

from nebula import __version__
from nebula.cli.arguments import checked_root
from nebula.cli.terminal.commands import BARE, obey, slash_words
from nebula.cli.terminal.picker import Choice, choose_session
from nebula.cli.terminal.plain_reading import PlainReading
from nebula.cli.terminal.reading import EndOfInput, Interrupted
from nebula.cli.terminal.screen import Screen, is_capable, wants_colour
from nebula.cli.terminal.sessions import show_resumed
from nebula.cli.terminal.sitting import Sitting
from nebula.cli.terminal.trust import ask_trust
from nebula.config import Settings, load_settings
from nebula.memory.sessions import SessionInfo, Sessions
from nebula.stage import one_line

if TYPE_CHECKING:
    from nebula.cli.terminal.reading import Reading


def run_interactive(options: argparse.Namespace) -> int:
    overrides = {
        "model": options.model,
        "provider": options.provider,
        "trust": options.trust or None,
        "backstage": options.backstage or None,
    }
    settings = load_settings(checked_root(options.root), overrides=overrides)
    for remark in settings.remarks:
        print(f"nebula: {remark}", file=sys.stderr)
    capable = is_capable(sys.stdin, sys.stdout)
    screen = Screen(sys.stdout, colour=capable and wants_colour(), moving=capable)
    return asyncio.run(_run(Sitting(options, settings, screen), capable=capable))


async def _run(sitting: Sitting, *, capable: bool) -> int:
    sitting.reading = _editor(sitting) if capable else PlainReading(sys.stdin.fileno(), sitting.screen, sitting.label)
    screen, words = sitting.screen, sitting.words
    screen.line(words("banner", version=__version__, folder=one_line(_short(sitting.settings))), "bold")
    try:
        if sitting.settings.checks_need_trust:
            sitting.settings = await ask_trust(sitting.settings, sitting.reading, screen, words)
        choice = await _choice(sitting)
        if choice.leave:
            return 0
        await sitting.open(choice.resume, sitting.options.from_nodes, sitting.options.mode or "agent")
    except (EndOfInput, Interrupted):
        return 0
    try:
        _greet(sitting, resumed=choice.resume is not None)
        await converse(sitting, choice.first_prompt)
    finally:
        session_id = sitting.session.id
        await sitting.session.close()
    if sitting.session.conversation.turns:
        screen.line(words("resume_with", id=session_id), "dim")
    return 0


async def converse(sitting: Sitting, first_prompt: str = "") -> None:
    """Prompts and turns until somebody leaves."""
    if first_prompt:
        await obey(sitting, first_prompt)
    interrupted_before = False
    while not sitting.leaving:
        try:
            text = sitting.typed.next_line()
            if text is None:
                text = await sitting.reading.prompt()
            else:
                sitting.screen.line(sitting.label() + text)
                sitting.plan_offered = False  # typed before the plan was there: it cannot be a yes to it
        except EndOfInput:
            return
        except Interrupted:
            if interrupted_before:
                return
            interrupted_before = True
            sitting.screen.line(sitting.words("leave_hint"), "dim")
            continue
        interrupted_before = False
        await obey(sitting, text)


async def _choice(sitting: Sitting) -> Choice:
    """Which session: as the command line says, else by asking."""
    options = sitting.options
    if options.continue_last or options.resume is not None:
        return Choice("" if options.continue_last else options.resume)
    if options.from_nodes:
        return Choice()
    return await choose_session(_stored(sitting.settings), sitting.reading, sitting.screen, sitting.words)


def _stored(settings: Settings) -> list[SessionInfo]:
    """Sessions of this directory in which something was said."""
    if not os.path.exists(settings.memory_path):
        return []
    with Sessions(settings.memory_path) as memory:
        return [info for info in memory.of_project(settings.root) if info.messages]


def _greet(sitting: Sitting, *, resumed: bool) -> None:
    model = one_line(sitting.session.brain.name)
    sitting.screen.line(sitting.words("banner_hint", model=model), "dim")
    if resumed and sitting.session.conversation.turns:
        show_resumed(sitting)
    sitting.screen.line()


def _editor(sitting: Sitting) -> Reading:
    from nebula.cli.terminal.bindings import PromptActions
    from nebula.cli.terminal.completion import PromptCompleter
    from nebula.cli.terminal.editor import EditorReading, PromptParts
    from nebula.cli.terminal.files import FileNames
    from nebula.cli.terminal.paste import Pastes

    names: dict[str, FileNames] = {}

    def files() -> FileNames:
        # One listing a session: its workspace is the one that knows what may be seen.
        session = sitting.session
        return names.setdefault(session.id, FileNames(session.desk.read_only))

    return EditorReading(
        PromptParts(
            label=sitting.label,
            status=sitting.status,
            actions=PromptActions(sitting.switch_mode, sitting.toggle_backstage),
            completer=PromptCompleter(slash_words(sitting.settings.lang), sorted(BARE), files),
            pastes=Pastes(sitting.words),
            typed=sitting.typed,
            history_path=os.path.join(sitting.settings.home, "history"),
            colour=sitting.screen.colour,
        )
    )


def _short(settings: Settings) -> str:
    """The folder, with the home directory as everybody writes it."""
    home = os.path.expanduser("~")
    inside = settings.root == home or settings.root.startswith(home + os.sep)
    return "~" + settings.root[len(home) :] if inside else settings.root
