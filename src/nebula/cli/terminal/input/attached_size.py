"""How much a prompt that is being written attaches: shown in the status line, before it is sent."""

from __future__ import annotations

import time
from collections.abc import Callable

from nebula.agent.attached.images import ENDINGS
from nebula.agent.attached.mentions import Mention, mentioned_files
from nebula.cli.terminal.input.paste import BYTES_PER_IMAGE, BYTES_PER_TOKEN, Pastes
from nebula.language import translate_count
from nebula.workspace.contract import Workspace
from nebula.workspace.errors import WorkspaceError

BYTES_PER_LINE = 40
"""Roughly: nothing is read for a figure that changes with every key."""
FRESH_S = 5.0


class AttachedSize:
    def __init__(self, files: Callable[[], Workspace], pastes: Pastes) -> None:
        self._files = files
        self._pastes = pastes
        self._known: dict[str, tuple[float, int | None]] = {}

    def __call__(self, prompt: str) -> str:
        """Empty where the prompt attaches nothing."""
        sizes = self._pastes.sizes(prompt)
        if "@" in prompt:
            found = (self._first(readings) for readings in mentioned_files(prompt))
            sizes += [size for size in found if size is not None]
        if not sizes:
            return ""
        tokens = f"{sum(sizes) // BYTES_PER_TOKEN:,}"
        return translate_count(
            len(sizes),
            "{count} attachment, about {tokens} tokens",
            "{count} attachments, about {tokens} tokens",
            tokens=tokens,
        )

    def _first(self, readings: list[Mention]) -> int | None:
        return next((size for each in readings if (size := self._size(each)) is not None), None)

    def _size(self, mention: Mention) -> int | None:
        now = time.monotonic()
        until, size = self._known.get(mention.name, (0.0, None))
        if until < now:
            size = self._look(mention)
            self._known[mention.name] = now + FRESH_S, size
        return size

    def _look(self, mention: Mention) -> int | None:
        try:
            state = self._files().probe(mention.path)
        except WorkspaceError:
            return None
        if state.kind != "file" or state.size is None:
            return None
        if mention.path.lower().endswith(ENDINGS):
            return BYTES_PER_IMAGE
        if mention.first is None or mention.last is None:
            return state.size
        return min(state.size, (mention.last - mention.first + 1) * BYTES_PER_LINE)
