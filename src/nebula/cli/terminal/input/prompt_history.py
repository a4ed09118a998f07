"""The prompts of earlier sessions, in `~/.nebula/history`, readable by their owner alone."""

from __future__ import annotations

import os
from collections.abc import Callable

from prompt_toolkit.history import FileHistory


class PrivateHistory(FileHistory):
    """Keeps prompts with their pastes unfolded: a mark without its text would be of no use tomorrow."""

    def __init__(self, path: str, unfold: Callable[[str], str]) -> None:
        super().__init__(path)
        self._path = path
        self._unfold = unfold

    def append_string(self, string: str) -> None:
        super().append_string(self._unfold(string))

    def store_string(self, string: str) -> None:
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        super().store_string(string)
