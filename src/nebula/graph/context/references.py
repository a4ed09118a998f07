"""Nodes that a prompt names beside the path it continues."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from nebula.graph.errors import NotFound
from nebula.graph.values import Node

_MENTION = re.compile(r"(?<![\w@#])(?:@[0-9A-Fa-f-]{4,36}(?![\w-])|#[^\s#,.;:!?()、。，；：！？（）「」]+)")
"""`@` and an id or its beginning; a shorter one is more likely a word of the prompt."""


class NodesByName(Protocol):
    """What of a graph is needed here."""

    def resolve_id(self, beginning: str) -> str: ...

    def search_nodes(self, *, tags: Sequence[str] = ()) -> list[Node]: ...


def referenced_nodes(graph: NodesByName, references: Iterable[str]) -> list[str]:
    """Their ids; each is named by id, a unique beginning of it, or `#tag`. Raises NotFound and AmbiguousId."""
    found: list[str] = []
    for reference in references:
        if not reference.startswith("#"):
            found.append(graph.resolve_id(reference.removeprefix("@")))
            continue
        tagged = graph.search_nodes(tags=[reference[1:]])
        if not tagged:
            raise NotFound("no node has the tag {tag}", tag=reference)
        found += [node.id for node in tagged]
    return list(dict.fromkeys(found))


def mentions(prompt: str) -> list[str]:
    """The words of a prompt that look like a reference, `@ID` or `#tag`, each once. Many only look so."""
    return list(dict.fromkeys(_MENTION.findall(prompt)))
