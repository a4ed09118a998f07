"""The contract of input: what the session asks for, whichever terminal is there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from nebula.value import value

OWN_COMMAND = ("!", "！")
"""What a line begins with that is a command of the user's own; the second is how an input method types it."""


class Interrupted(Exception):
    """Ctrl-C at a question."""


class EndOfInput(Exception):
    """Ctrl-D, or the end of a pipe."""


@value
class Watch:
    """What keys do while a turn runs."""

    interrupt: Callable[[], None]
    toggle_backstage: Callable[[], None]
    steer: Callable[[], None] = lambda: None
    """What was typed goes into the running turn."""
    obey_at_once: Callable[[str], bool] = lambda _: False
    """Carry out a finished line at once and return True, where it is a command that need not wait for the turn."""


class TerminalInput(Protocol):
    def attached(self) -> AbstractContextManager[None]:
        """Around the whole session: no key is lost between two questions."""
        ...

    async def prompt(self) -> str:
        """Return a prompt as it was typed, its pastes folded.

        Raises `Interrupted` on an empty line, `EndOfInput`.
        """
        ...

    async def edit(self, text: str) -> str:
        """Text to be changed and sent. Ctrl-C raises `Interrupted` whatever stands there."""
        ...

    async def ask(self, question: str, *, fresh: bool = False, keys: str = "", is_agreement: bool = False) -> str:
        """Return one line; with `is_agreement` a yes or a no is all that is asked for.

        `fresh`: nothing typed before the question was read may answer it.

        One of `keys`, typed alone, is an answer without Enter where single keys can be read.
        """
        ...

    def watching(self, watch: Watch) -> AbstractContextManager[None]:
        """While it is open a turn runs, and keys go to `watch`."""
        ...


def without_surrogates(text: str) -> str:
    """Bytes that were no UTF-8 arrive as lone surrogates; nothing further down could carry them."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
