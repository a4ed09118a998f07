"""What a command of the session says about itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.value import value

Handler = Callable[[TerminalSession, str], Awaitable[None]]
"""Is handed what was typed behind the command."""


@value
class SessionCommand:
    name: str
    help: str
    """English; shown in the user's language."""
    run: Handler
    aliases: tuple[str, ...] = ()
    bare: bool = False
    """Also known without the slash, as in the seed."""
    bare_argument: bool = False
    """Without the slash it may have one word behind it; more words make it a prompt."""
    alone: bool = False
    """Takes nothing behind it: somebody who types more means something that it does not do."""
    at_once: bool = False
    """Typed while a turn runs it does not wait, and asks nobody."""
    argument_at_once: bool = False
    """Nor does it with something behind it."""
