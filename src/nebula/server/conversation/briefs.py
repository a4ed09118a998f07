"""Nodes and flows in the short form for lists and events; full texts are fetched one by one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from nebula.graph.flows.topology import first_turns
from nebula.graph.graph import Graph
from nebula.graph.values import Beginning, Flow, Node
from nebula.server.conversation.protocol import encode

TITLE_LENGTH = 120
OPENING_LENGTH = 240
SEEN_FIRST = 40
_SIGNS = re.compile(r"^[\s|:-]+$|[*`#|]+", re.MULTILINE)
"""Marks of Markdown, and lines of nothing else, such as the rule below the head of a table."""


def title_of(prompt: str) -> str:
    """Return the first line that is not empty, cut to a length that fits a list."""
    line = next((line for line in map(str.strip, prompt.splitlines()) if line), "")
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1] + "…"


def opening_of(response: str) -> str:
    """Return the beginning of an answer, for a few lines, without the marks of Markdown."""
    words = " ".join(_SIGNS.sub("", response[: 2 * OPENING_LENGTH]).split())
    return words if len(words) <= OPENING_LENGTH else words[: OPENING_LENGTH - 1] + "…"


def brief_node(node: Node) -> dict[str, Any]:
    images = sum(each.kind == "image" for each in node.attachments)
    marks = {"pinned": node.pinned, "note": opening_of(node.note), "images": images}
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
        **{name: mark for name, mark in marks.items() if mark},
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
        **({"archived": True} if flow.archived else {}),
    }


def compact_flow(flow: Flow, begun: Mapping[str, Beginning]) -> dict[str, Any]:
    """Return a flow as the page reads it; `begun` tells how its conversations began. `pairs` is one flat list, from and
    to by turns: with a list for each connection the message of 10,000 would be a tenth longer, and the browser would
    pause to collect them. An id that repeats, as in a file written by hand, counts where it stands last."""
    last = {entry.id: number for number, entry in enumerate(flow.entries)}
    place = {entry.index: last[entry.id] for entry in flow.entries}
    joined = [edge for edge in flow.edges if edge.source in place and edge.target in place]
    pairs = [number for edge in joined for number in (place[edge.source], place[edge.target])]
    ids = flow.nodes
    tries = {node_id: each.first_try for node_id, each in begun.items() if each.first_try}
    here: dict[str, Any] = {"tries": tries} if tries else {}
    named = {ids[place[edge.target]]: edge.branch for edge in flow.edges if edge.branch and edge.target in place}
    here |= {"branches": named} if named else {}
    opens = {entry.id: entry.flow for entry in flow.entries if entry.flow}
    here |= {"opens": opens} if opens else {}
    here |= {"begun": {node_id: each.timestamp for node_id, each in begun.items()}} if begun else {}
    return {"flow_id": flow.id, "name": flow.name, "ids": ids, "pairs": pairs} | here


class CompactFlows:
    """Flows in compact form, as text: computed once for each state of a flow."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Flow, str]] = {}

    def write(self, graph: Graph, flow_id: str) -> str:
        """Return a flow in compact form."""
        flow = graph.get_flow(flow_id)
        known = self._known.get(flow.id)
        if known is None or known[0] is not flow:
            begun = graph.list_beginnings(first_turns(flow))
            known = self._known[flow.id] = flow, encode(compact_flow(flow, begun))
        return known[1]


class SeenFirst:
    """The nodes that a reader will probably see first, computed once for a state of the flow and the reader's place in
    it."""

    def __init__(self) -> None:
        self._last: tuple[Flow, str | None, list[str]] | None = None

    def list_ids(self, flow: Flow, near: str | None) -> list[str]:
        last = self._last
        if last is None or last[0] is not flow or last[1] != near:
            last = self._last = flow, near, seen_first(flow, near)
        return last[2]


def seen_first(flow: Flow, near: str | None = None) -> list[str]:
    """Return the ids of nodes that a reader who opens a flow will probably see: its beginning, and the reader's
    place or its end, with the nodes leading there. This is a guess by the order of the file: the page asks for
    missing ones."""
    ids = flow.nodes
    if not ids:
        return []
    here = ids.index(near) if near in ids else len(ids) - 1
    around = ids[max(0, here - SEEN_FIRST // 2) : here + SEEN_FIRST // 2]
    return list(dict.fromkeys((*ids[:SEEN_FIRST], *around, *_leading_to(flow, here))))


def _leading_to(flow: Flow, place: int) -> list[str]:
    way = [flow.entries[place].index]
    for edge in reversed(flow.edges):  # mostly a node's connections are written after those of its parents
        if len(way) == SEEN_FIRST:
            break
        if edge.target == way[-1]:
            way.append(edge.source)
    wanted = set(way)
    return [entry.id for entry in flow.entries if entry.index in wanted]


def parents_of(flow: Flow, node_ids: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the connections that lead to each of these nodes, in the order of the file; in one pass, since there may
    be many."""
    found: dict[str, list[dict[str, Any]]] = {node_id: [] for node_id in node_ids}
    targets = {entry.index: entry.id for entry in flow.entries if entry.id in found} if found else {}
    edges = [edge for edge in flow.edges if edge.target in targets] if targets else []
    sources = {edge.source for edge in edges}
    id_of = {entry.index: entry.id for entry in flow.entries if entry.index in sources} if sources else {}
    for edge in edges:
        if edge.source in id_of:
            found[targets[edge.target]].append({"source": id_of[edge.source], "branch": edge.branch})
    return found


def difference(old: Flow | None, new: Flow) -> tuple[list[str], list[str]]:
    """Return the ids that were added to a flow, and those that were removed. Mostly nodes were added at the end: then
    only those are compared."""
    before = old.entries if old else ()
    if new.entries[: len(before)] == before:
        return [entry.id for entry in new.entries[len(before) :]], []
    known, now = {entry.id for entry in before}, {entry.id for entry in new.entries}
    added = [entry.id for entry in new.entries if entry.id not in known]
    return added, [entry.id for entry in before if entry.id not in now]


def only_grew(old: Flow | None, new: Flow) -> bool:
    """Return whether the only change is new nodes at the end, each with the connections that lead to it."""
    entries, edges = (old.entries, old.edges) if old else ((), ())
    if new.entries[: len(entries)] != entries or new.edges[: len(edges)] != edges:
        return False
    added = {entry.index for entry in new.entries[len(entries) :]}
    return bool(added) and all(edge.target in added for edge in new.edges[len(edges) :])
