"""Filling a token budget with nodes, the most important first: the one place that decides which form each has.

The prompt's direct predecessors go in full, what was asked for by id too, referenced nodes with summary and tags, the
rest of a path as summaries, newest first for as long as there is room: then tags alone, then nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from nebula.graph.context import text as context_text
from nebula.graph.context.text import Words
from nebula.graph.tokens import estimate_tokens
from nebula.graph.values import Node
from nebula.value import value

Form = Literal["full", "summary", "tags"]

SMALLEST_SUMMARY = 48
LARGEST_SUMMARY = 400
"""Tokens of the stand-in for a node that has no summary: more where the budget allows it."""


@value
class Part:
    """One node as it goes in."""

    node_id: str
    form: Form
    tokens: int
    text: str

    def to_json(self) -> dict[str, Any]:
        return {"node_id": self.node_id, "form": self.form, "tokens": self.tokens, "text": self.text}


class Packer:
    """Fills the room, the most important first; `parts` has what found a place.

    `find` returns a node, None for one whose file is gone or cannot be read: a path may well run through one."""

    def __init__(self, find: Callable[[str], Node | None], say: Words, room: int) -> None:
        self.parts: dict[str, Part] = {}
        self._find = find
        self.say = say
        self._room = room

    def widen(self, tokens: int) -> None:
        """Give it more room."""
        self._room += tokens

    def pack_direct(self, node_ids: Sequence[str]) -> None:
        """Small ones first, so that each has its fair share and what it does not need goes to the larger."""
        whole = {i: context_text.full_text(node, self.say) for i in node_ids if (node := self._find(i))}
        costs = {i: estimate_tokens(text) for i, text in whole.items()}
        for place, node_id in enumerate(sorted(whole, key=lambda i: costs[i])):
            share = self._room // (len(whole) - place)
            if costs[node_id] < share:
                self._put(node_id, "full", whole[node_id])
            else:
                self._put_shortened(node_id, share)

    def pack_full(self, node_ids: Iterable[str]) -> None:
        for node_id in node_ids:
            node = self._find(node_id)
            if node and not self._put(node_id, "full", context_text.full_text(node, self.say)):
                self._put_shortened(node_id, self._room // 2)

    def pack_references(self, node_ids: Iterable[str]) -> None:
        for node_id in node_ids:
            node = self._find(node_id)
            if node:
                room = min(LARGEST_SUMMARY, self._room - estimate_tokens(context_text.hashtags(node)))
                text = context_text.reference_text(node, room)
                if not self._put(node_id, "tags", text) and node.tags:
                    self._put(node_id, "tags", context_text.tags_text(node))

    def complete(self, node_ids: Iterable[str]) -> None:
        """Show those in full that fit, once all else has its place."""
        for node_id in node_ids:
            node, part = self._find(node_id), self.parts.get(node_id)
            if node is None or part is None:
                continue
            self._room += part.tokens
            whole = context_text.full_text(node, self.say)
            about = part.text if node.summary else context_text.hashtags(node)
            if not self._put(node_id, "full", f"{about}\n{whole}".strip()):
                self._room -= part.tokens

    def pack_earlier(self, path: Sequence[str]) -> None:
        """Newest first. The first one that finds no room ends it: a path with holes would mislead."""
        for place in range(len(path), 0, -1):
            node = self._find(path[place - 1])
            if node is None:
                continue
            room = max(SMALLEST_SUMMARY, min(LARGEST_SUMMARY, self._room // place))
            text = context_text.summary_text(node, room)
            if self._put(node.id, "summary", text):
                continue
            if not node.tags or not self._put(node.id, "tags", context_text.tags_text(node)):
                return

    def _put_shortened(self, node_id: str, room: int) -> None:
        node = self._find(node_id)
        if node is None:
            return
        text = context_text.shortened_text(node, room, self.say)
        if room < 2 * SMALLEST_SUMMARY or not self._put(node_id, "summary", text):
            self._put(node_id, "summary", context_text.summary_text(node, room))

    def _put(self, node_id: str, form: Form, text: str) -> bool:
        cost = estimate_tokens(text) + 1  # and the line break after it
        if cost > self._room:
            return False
        self._room -= cost
        self.parts[node_id] = Part(node_id, form, cost, text)
        return True
