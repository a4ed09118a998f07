"""The prompts of earlier sessions, in `~/.nebula/history`, readable by their owner alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress

from prompt_toolkit.history import FileHistory

from nebula.cli.terminal.input.paste import Pastes


class PrivateHistory(FileHistory):
    """On the screen prompts stay folded as they were sent; the file has them whole, and no key that was typed.

    Where the file cannot be read or written, the prompts of this session are still at hand: nobody loses one to a full
    disk because it could not be noted down.
    """

    def __init__(self, path: str, pastes: Pastes, redact: Callable[[str], str]) -> None:
        super().__init__(path)
        self._path = path
        self._pastes = pastes
        self._redact = redact

    def load_history_strings(self) -> Iterable[str]:
        try:
            return map(self._pastes.fold_prompt, super().load_history_strings())
        except OSError:
            return ()

    def store_string(self, string: str) -> None:
        with suppress(OSError):
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
            super().store_string(self._redact(self._pastes.expand(string)))
