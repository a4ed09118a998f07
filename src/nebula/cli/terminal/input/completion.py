"""What Tab offers: commands after a slash, files after an @, the seed's bare words when asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from nebula.cli.terminal.input.file_names import FileNames
from nebula.stage import one_line

_MENTION = re.compile(r"(?:^|(?<=\s))@(\S*)$")


def offers_at_once(text: str) -> bool:
    """Whether the list comes up by itself: only where a slash or an @ asks for it."""
    return _MENTION.search(text) is not None or (text.startswith("/") and not any(mark.isspace() for mark in text))


class PromptCompleter(Completer):
    def __init__(self, commands: Mapping[str, str], words: Iterable[str], files: Callable[[], FileNames]) -> None:
        self._commands = commands
        """Slash word → what it does."""
        self._words = tuple(words)
        self._files = files

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        mention = _MENTION.search(text)
        if mention is not None:
            yield from self._mentions(mention[1])
        elif offers_at_once(text):
            for name, about in self._commands.items():
                if name.startswith(text):
                    yield Completion(name, -len(text), display_meta=about)
        elif complete_event.completion_requested and text.isalpha():
            for word in self._words:
                if word.startswith(text):
                    yield Completion(word, -len(text))

    def _mentions(self, pattern: str) -> Iterable[Completion]:
        for name in self._files().matching(pattern):
            yield Completion(f"@{name}", -len(pattern) - 1, display=one_line(name))
