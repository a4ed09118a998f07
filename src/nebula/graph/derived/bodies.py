"""Nodes as the database keeps them: one row of JSON each."""

from __future__ import annotations

import json
from collections.abc import Callable

from nebula.graph.values import Node, row_of

_DECODER = json.JSONDecoder()
encode: Callable[[Node], str] = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=row_of).encode


def decode(body: str) -> Node:
    return Node.from_row(_DECODER.raw_decode(body)[0])


def holds_all(body: str, wanted: str) -> bool:
    """Return whether each text of a JSON list occurs in what the node says: prompt, answer, summary or tags."""
    node = decode(body)
    said = "\n".join((node.prompt, node.response, node.summary, *node.tags))
    return all(text in said for text in json.loads(wanted))
