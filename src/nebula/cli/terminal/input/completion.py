"""What Tab offers: commands after a slash, files and earlier turns after an @, tags after a #, the seed's bare words
when asked for."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from nebula.cli.terminal.input.node_names import NodeNames
from nebula.cli.terminal.output.width import cut
from nebula.stage import one_line
from nebula.workspace.contract import Workspace
from nebula.workspace.errors import WorkspaceError

MAX_FILES = 20_000
FRESH_S = 10.0
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
        self,
        commands: Mapping[str, str],
        words: Iterable[str],
        files: Callable[[], FileNames],
        nodes: NodeNames,
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
            about = cut(one_line(node.prompt), ABOUT_COLUMNS)
            yield Completion(f"@{node.id}", -len(pattern) - 1, display=node.id, display_meta=about)

    def _tags(self, pattern: str) -> Iterable[Completion]:
        for tag, count in self._nodes.tags(pattern):
            yield Completion(f"#{tag}", -len(pattern) - 1, display=one_line(f"#{tag}"), display_meta=str(count))


# Files


class FileNames:
    """A cached listing. Called from the completion thread only."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._names: tuple[str, ...] = ()
        self._listed = float("-inf")

    def matching(self, pattern: str, limit: int = 30) -> list[str]:
        return best_matches(pattern, self._current(), limit)

    def _current(self) -> Sequence[str]:
        if time.monotonic() - self._listed > FRESH_S:
            try:
                listing = self._workspace.list_files(".", recursive=True, max_items=MAX_FILES)
            except WorkspaceError:
                return self._names  # completion is a convenience; the tools will say what is wrong
            self._names = tuple(entry.path for entry in listing.files if not entry.is_dir)
            self._listed = time.monotonic()
        return self._names


def best_matches(pattern: str, names: Sequence[str], limit: int) -> list[str]:
    """Names that hold the pattern's characters in order, closest first; ties by length, then by name."""
    scored = [(score, len(name), name) for name in names if (score := _distance(pattern.lower(), name)) is not None]
    return [name for _, _, name in sorted(scored)[:limit]]


def _distance(pattern: str, name: str) -> int | None:
    """0 and up, smaller is closer: the file's own name first, then any part of the path, then scattered characters."""
    lowered = name.lower()
    base = lowered.rfind("/") + 1
    if lowered.startswith(pattern, base):
        return 0
    found = lowered.find(pattern, base)
    if found >= 0:
        return 2 if lowered[found - 1].isalnum() else 1
    if pattern in lowered:
        return 3
    gaps, at = 0, -1
    for character in pattern:
        found = lowered.find(character, at + 1)
        if found < 0:
            return None
        gaps += found - at - 1 if at >= 0 else 0
        at = found
    return 4 + gaps
