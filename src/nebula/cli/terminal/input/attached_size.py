"""How much a prompt that is being written attaches: shown in the status line, before it is sent."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from nebula.agent.attached.images import ENDINGS
from nebula.agent.attached.mentions import Mention, mentioned_files
from nebula.agent.context.tokens import TOKENS_PER_IMAGE
from nebula.cli.terminal.input.paste import Pastes
from nebula.graph.tokens import estimate_tokens
from nebula.language import translate_count
from nebula.workspace.contract import Workspace
from nebula.workspace.errors import WorkspaceError

BYTES_PER_TOKEN = 4
"""Roughly, of what is too large to be looked at with every key."""
MOST_READ = 256 * 1024
FRESH_S = 5.0


class AttachedSize:
    def __init__(self, files: Callable[[], Workspace], pastes: Pastes) -> None:
        self._files = files
        self._pastes = pastes
        self._known: dict[Mention, tuple[float, int | None]] = {}

    def __call__(self, prompt: str) -> str:
        """Return the size in words; empty where the prompt attaches nothing."""
        costs = self._pastes.tokens(prompt)
        if "@" in prompt:
            found = (self._first(readings) for readings in mentioned_files(prompt))
            costs += [tokens for tokens in found if tokens is not None]
        if not costs:
            return ""
        return translate_count(
            len(costs),
            "{count} attachment, about {tokens} tokens",
            "{count} attachments, about {tokens} tokens",
            tokens=f"{sum(costs):,}",
        )

    def _first(self, readings: list[Mention]) -> int | None:
        return next((tokens for each in readings if (tokens := self._tokens(each)) is not None), None)

    def _tokens(self, mention: Mention) -> int | None:
        now = time.monotonic()
        until, tokens = self._known.get(mention, (0.0, None))
        if until < now:
            tokens = self._look(mention)
            self._known[mention] = now + FRESH_S, tokens
        return tokens

    def _look(self, mention: Mention) -> int | None:
        try:
            state = self._files().probe(mention.path)
            if state.kind == "directory":
                listed = self._files().list_files(mention.path).files
                return sum(len(entry.name) + 1 for entry in listed) // BYTES_PER_TOKEN
        except WorkspaceError:
            is_image = mention.path.lower().endswith(ENDINGS) and mention.path.startswith(("/", "~/"))
            return TOKENS_PER_IMAGE if is_image and os.path.isfile(os.path.expanduser(mention.path)) else None
        if state.kind != "file" or state.size is None:
            return None
        if mention.path.lower().endswith(ENDINGS):
            return TOKENS_PER_IMAGE
        if state.size > MOST_READ:
            return state.size // BYTES_PER_TOKEN
        return self._tokens_of_text(mention)

    def _tokens_of_text(self, mention: Mention) -> int | None:
        """Return the tokens of a file as they are counted when it is sent; None where it may not be sent."""
        try:
            if mention.first is None:
                return estimate_tokens(self._files().read_file(mention.path).content)
            return estimate_tokens(self._files().read_lines(mention.path, mention.first, mention.last).content)
        except WorkspaceError:
            return None
