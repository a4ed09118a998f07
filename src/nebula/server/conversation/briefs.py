"""Nodes and flows in the short form that lists and events carry; full texts are fetched one by one."""

from __future__ import annotations

import re
from typing import Any

from nebula.graph.values import Flow, Node

TITLE_LENGTH = 120
OPENING_LENGTH = 240
_SIGNS = re.compile(r"[*`#|]+")


def title_of(prompt: str) -> str:
    """The first line that says something, cut to a length that fits a list."""
    line = next((line for line in map(str.strip, prompt.splitlines()) if line), "")
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1] + "…"


def opening_of(response: str) -> str:
    """How an answer begins, for where there is room for a few lines; without the signs of Markdown."""
    words = " ".join(_SIGNS.sub("", response[: 2 * OPENING_LENGTH]).split())
    return words if len(words) <= OPENING_LENGTH else words[: OPENING_LENGTH - 1] + "…"


def brief_node(node: Node) -> dict[str, Any]:
    return {
        "id": node.id,
        "timestamp": node.timestamp,
        "title": title_of(node.prompt),
        "summary": node.summary,
        "opening": opening_of(node.response),
        "tags": list(node.tags),
        "model": node.model,
        "due": node.due,
        "files": len(node.files),
    }


def brief_flow(flow: Flow) -> dict[str, Any]:
    return {
        "id": flow.id,
        "name": flow.name,
        "created": flow.created,
        "updated": flow.updated,
        "description": flow.description,
        "node_count": len(flow.entries),
        "connection_count": len(flow.edges),
    }


def compact_flow(flow: Flow) -> dict[str, Any]:
    place = {entry.index: number for number, entry in enumerate(flow.entries)}
    pairs = [
        [place[edge.source], place[edge.target]] for edge in flow.edges if edge.source in place and edge.target in place
    ]
    return {"flow_id": flow.id, "name": flow.name, "ids": flow.nodes, "pairs": pairs}


def parents_of(flow: Flow, node_id: str) -> list[dict[str, Any]]:
    """The connections that lead to a node, in the order of the file."""
    index = next((entry.index for entry in reversed(flow.entries) if entry.id == node_id), None)
    edges = [edge for edge in flow.edges if edge.target == index]
    sources = {edge.source for edge in edges}
    id_of = {entry.index: entry.id for entry in flow.entries if entry.index in sources} if edges else {}
    return [{"source": id_of[edge.source], "branch": edge.branch} for edge in edges if edge.source in id_of]


def difference(old: Flow | None, new: Flow) -> tuple[list[str], list[str]]:
    """Ids that came into a flow, and ids that left it. Mostly something was added at the end: then that is all."""
    before = old.entries if old else ()
    if new.entries[: len(before)] == before:
        return [entry.id for entry in new.entries[len(before) :]], []
    known, now = {entry.id for entry in before}, {entry.id for entry in new.entries}
    added = [entry.id for entry in new.entries if entry.id not in known]
    return added, [entry.id for entry in before if entry.id not in now]


def only_grew(old: Flow | None, new: Flow) -> bool:
    """Whether all that happened is new nodes at the end, each with the connections that lead to it."""
    entries, edges = (old.entries, old.edges) if old else ((), ())
    if new.entries[: len(entries)] != entries or new.edges[: len(edges)] != edges:
        return False
    added = {entry.index for entry in new.entries[len(entries) :]}
    return bool(added) and all(edge.target in added for edge in new.edges[len(edges) :])
