"""Nodes that a prompt names beside the path it continues."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from nebula.graph.errors import NotFound

if TYPE_CHECKING:
    from nebula.graph.reader import GraphReader

_ID = r"[0-9A-Fa-f-]{4,36}"
_MENTION = re.compile(
    rf"(?<![0-9A-Za-z_@#])@(?P<id>{_ID})(?![0-9A-Za-z_-])"
    r"|(?<![0-9A-Za-z_@#&])#(?P<tag>[^\s#,.;:!?()、。，；：！？（）「」]+)"
    rf"|\[(?P<asked>{_ID})\](?=の詳細)|(?i:details of) \[(?P<wanted>{_ID})\]"
)
"""`@` and an id or its beginning (a shorter one is more likely a word of the prompt), `#` and a tag, and the sentence
by which a context says that more can be asked for. An id ends where its letters do: Japanese goes on without a blank.
"""
LONGEST_TAG = 80


def referenced_nodes(graph: GraphReader, references: Iterable[str]) -> list[str]:
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
    """Return the words of a prompt that look like a reference, `@ID` or `#tag`, each once. Many only look so."""
    found = []
    for match in _MENTION.finditer(prompt):
        node_id = match["id"] or match["asked"] or match["wanted"]
        found.append(f"@{node_id}" if node_id else f"#{match['tag']}")
    return list(dict.fromkeys(found))


def mentioned_nodes(graph: GraphReader, mention: str) -> list[str]:
    """Return the ids of what a mention in a prompt names. Raises NotFound and AmbiguousId.

    A tag ends where there is one: in `#甲について` it is `甲`, unless `甲について` is a tag as well.
    """
    if not mention.startswith("#"):
        return referenced_nodes(graph, [mention])
    for end in range(min(len(mention), LONGEST_TAG), 1, -1):
        if _ends_word(mention, end) and (tagged := graph.search_nodes(tags=[mention[1:end]])):
            return [node.id for node in tagged]
    raise NotFound("no node has the tag {tag}", tag=mention)


def _ends_word(text: str, end: int) -> bool:
    """Tell whether a word may end there: not between two letters of a script that parts its words."""
    return end == len(text) or not (text[end - 1].isascii() and text[end].isascii())
