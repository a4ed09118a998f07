"""What Tab offers: commands after a slash, files and earlier turns after an @, tags after a #, the seed's bare words
when asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from nebula.cli.terminal.input.node_names import NodeNames
from nebula.cli.terminal.output.width import cut
from nebula.stage import join_lines, one_line
from nebula.workspace.search.file_names import FileNames

ABOUT_COLUMNS = 60
_MENTION = re.compile(r"(?:^|(?<=\s))@(\S*)$")
_TAG = re.compile(r"(?:^|(?<=\s))#(\S*)$")


def offers_at_once(text: str) -> bool:
    """Return whether the list opens by itself: only after a slash, an @ or a #. A # alone may be a heading."""
    if text.startswith("/") and not any(mark.isspace() for mark in text):
        return True
    return _MENTION.search(text) is not None or bool((tag := _TAG.search(text)) and tag[1])


class PromptCompleter(Completer):
    def __init__(
        self, commands: Mapping[str, str], words: Iterable[str], files: Callable[[], FileNames], nodes: NodeNames
    ) -> None:
        self._commands = commands
        """Slash word → what it does."""
        self._words = tuple(words)
        self._files = files
        self._nodes = nodes

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        mention = _MENTION.search(text)
        if mention is not None:
            yield from self._mentions(mention[1])
        elif (tag := _TAG.search(text)) is not None:
            yield from self._tags(tag[1])
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
        for node in self._nodes.matching(pattern):
            about = cut(join_lines(node.prompt), ABOUT_COLUMNS)
            yield Completion(f"@{node.id}", -len(pattern) - 1, display=node.id, display_meta=about)

    def _tags(self, pattern: str) -> Iterable[Completion]:
        for tag, count in self._nodes.tags(pattern):
            yield Completion(f"#{tag}", -len(pattern) - 1, display=one_line(f"#{tag}"), display_meta=str(count))
