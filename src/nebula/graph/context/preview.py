"""A path as one text for any model (seed §7.3), within a token budget; and the value that describes a context.

`packing` decides which node has which form; here they become one text. What is left out is named. Turns of our own
send messages instead: `nebula.agent.context.building` builds those.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from nebula.graph.context import text as context_text
from nebula.graph.context.packing import Packer, Part
from nebula.graph.context.path import path_to
from nebula.graph.errors import BadFile, BadRequest, NotFound
from nebula.graph.tokens import estimate_tokens
from nebula.graph.values import Node
from nebula.messages import strip_hidden_characters
from nebula.value import value

if TYPE_CHECKING:
    from nebula.graph.reader import GraphReader

DEFAULT_BUDGET = 8_000
MAX_MENTIONS = 50
_HIDDEN = re.compile("[\U000e0000-\U000e007f]")
_SLACK = 8
"""Tokens kept back: a string can cost a little more than its parts."""


@value
class ContextPreview:
    """The context of a prompt: its parts in the order of the text, and what had to stay out."""

    parts: list[Part]
    left_out: list[str]
    """Nodes of the path (oldest first) and references that found no room or cannot be read."""
    frame_tokens: int
    """What the words around the parts cost, the prompt included."""
    budget: int
    text: str
    """The whole context with the prompt in it, as one message."""
    system: str
    """The context alone, for a system message before a prompt sent as a message of its own; empty without parts."""
    attached: tuple[Mapping[str, Any], ...] = ()
    """What comes with the prompt, each by `name`, `kind` and `tokens`, which `frame_tokens` has as well."""
    past_sizes: tuple[int, int] | None = None
    """Tokens of the path in full, and as summaries before the direct predecessor."""

    @property
    def total_tokens(self) -> int:
        """Return what the parts cost together."""
        return sum(part.tokens for part in self.parts)

    def to_json(self) -> dict[str, Any]:
        sizes = dict(zip(("full_tokens", "summary_tokens"), self.past_sizes or (), strict=False))
        return sizes | {
            "parts": [part.to_json() for part in self.parts],
            "total_tokens": self.total_tokens,
            "left_out": list(self.left_out),
            "frame_tokens": self.frame_tokens,
            "budget": self.budget,
            "attached": list(self.attached),
        }


def preview_context(
    graph: GraphReader,
    node_ids: Sequence[str],
    prompt: str = "",
    *,
    budget: int = DEFAULT_BUDGET,
    flow: str | None = None,
    references: Sequence[str] = (),
    full: Sequence[str] = (),
    lang: str = "ja",
) -> ContextPreview:
    """Return the context of a prompt that continues from these nodes; several of them merge.

    `references` are nodes to show beside the path, besides those whose id stands in the prompt; `full` names nodes to
    show whole wherever they stand. `flow` says which flow the path runs in. Raises NotFound for a node given by id that
    does not exist; one merely mentioned may be missing.
    The prompt itself is never cut: one larger than the budget leaves every node out.
    """
    if budget < 1:
        raise BadRequest("the token budget must be above zero")

    @cache
    def find(node_id: str) -> Node | None:
        """Return a node; None where its file is gone or cannot be read: a path may well run through one."""
        try:
            return graph.get_node(node_id)
        except (NotFound, BadFile):
            return None

    direct = list(dict.fromkeys(node_ids))
    for node_id in (*direct, *references, *full):
        if find(node_id) is None:
            graph.get_node(node_id)  # raises what is wrong with it
    path = path_to(graph, direct, lambda node_id: node.timestamp if (node := find(node_id)) else "", flow)
    known = set(path)
    mentioned = [i for i in context_text.mentioned_ids(prompt)[:MAX_MENTIONS] if find(i)]
    beside = [i for i in dict.fromkeys((*references, *full, *mentioned)) if i not in known]
    say = context_text.words(lang)
    frame = estimate_tokens(context_text.layout(say, prompt, [""], [""] if beside else [], len(path)))
    packer = Packer(find, say, budget - frame - _SLACK)
    packer.pack_direct(direct)
    packer.pack_full(i for i in full if i not in packer.parts)
    packer.pack_references(i for i in beside if i not in packer.parts)
    packer.pack_earlier([i for i in path if i not in packer.parts])
    parts = packer.parts
    shown = [parts[i] for i in path if i in parts]
    named = [parts[i] for i in beside if i in parts]
    left_out = [i for i in (*path, *beside) if i not in parts]
    texts = [part.text for part in shown], [part.text for part in named], len(left_out)
    return ContextPreview(
        parts=[*shown, *named],
        left_out=left_out,
        frame_tokens=frame,
        budget=budget,
        text=_visible(context_text.layout(say, prompt, *texts)),
        system=_visible(context_text.layout(say, "", *texts)) if parts else "",
    )


def _visible(text: str) -> str:
    """Strip hidden characters. Most texts have none, and looking for one is much cheaper than rebuilding the text."""
    return strip_hidden_characters(text) if _HIDDEN.search(text) else text
