"""Flow files written or edited by hand: any order, quoting and style, with comments, and with mistakes.

What makes no sense is passed over with a remark; where everything stands is kept for `flow_edit`.
"""

from __future__ import annotations

import re

from nebula.graph.errors import BadFile
from nebula.graph.formats.flow_yaml import ARCHIVED, FIELDS, FlowFile, Section
from nebula.graph.formats.yaml_tree import Branch, Leaf, load
from nebula.graph.values import Edge, Flow, FlowEntry
from nebula.language import Sentence

_YES = ("true", "yes", "on")
_LINE_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")


def read_any_shape(text: str, path: str) -> FlowFile:
    root = load(text, path)
    flow_id = root.text("id")
    if not flow_id:
        raise BadFile(path, Sentence("the flow has no id"))
    for name in (*FIELDS, ARCHIVED, "nodes", "connections"):
        if len([key for key in root.keys if key.text == name]) > 1:
            raise BadFile(path, Sentence("'{key}' stands there twice", key=name))
    for name in ("nodes", "connections"):
        if root.text(name):
            raise BadFile(path, Sentence("'{key}' is no list", key=name))
    # The parser does not count a byte order mark.
    offsets = [int(text.startswith("\ufeff")), *(found.end() for found in _LINE_BREAK.finditer(text)), len(text)]
    odd: list[_Odd] = []
    entries, entry_items = _entries(root.get("nodes"), odd)
    edges, edge_items = _edges(root.get("connections"), entries, odd)
    flow = Flow(
        flow_id,
        root.text("name"),
        root.text("created"),
        root.text("updated"),
        root.text("description"),
        tuple(entries),
        tuple(edges),
        root.text(ARCHIVED).lower() in _YES,
    )
    fields = {}
    for key, item in zip(root.keys, root.items, strict=True):
        if key.text in (*FIELDS, ARCHIVED) and isinstance(item, Leaf) and not root.flow_style:
            fields[key.text] = (offsets[item.line] + item.column, offsets[item.end_line] + item.end_column)
    nodes = _section(root, "nodes", entry_items, offsets)
    connections = _section(root, "connections", edge_items, offsets)
    by_line = nodes is not None and nodes.by_line and connections is not None and connections.by_line
    spans = [(offsets[item.line], offsets[_last_line(item) + 1]) for item, _ in odd] if by_line else []
    remarks = tuple(Sentence("line {line}: {remark}", line=item.line + 1, remark=remark) for item, remark in odd)
    return FlowFile(flow, text, fields, nodes, connections, remarks=remarks, passed_over=tuple(spans))


_Odd = tuple[Leaf | Branch, Sentence]


def _entries(nodes: Leaf | Branch | None, odd: list[_Odd]) -> tuple[list[FlowEntry], list[Leaf | Branch]]:
    entries: list[FlowEntry] = []
    kept: list[Leaf | Branch] = []
    used: set[int] = set()
    if not isinstance(nodes, Branch):
        return entries, kept
    for place, item in enumerate(nodes.items, 1):
        node_id = item.text if isinstance(item, Leaf) else item.text("id")
        index = _number(item.text("index", str(place))) if isinstance(item, Branch) else place
        if not node_id or index is None:
            odd.append((item, Sentence("a node without id or number is passed over")))
        elif index in used:
            sentence = "number {index} is taken, its node {node} is passed over"
            odd.append((item, Sentence(sentence, index=index, node=node_id)))
        else:
            used.add(index)
            entries.append(FlowEntry(index, node_id, item.text("flow") if isinstance(item, Branch) else ""))
            kept.append(item)
    return entries, kept


def _edges(
    connections: Leaf | Branch | None, entries: list[FlowEntry], odd: list[_Odd]
) -> tuple[list[Edge], list[Leaf | Branch]]:
    edges: list[Edge] = []
    kept: list[Leaf | Branch] = []
    if not isinstance(connections, Branch):
        return edges, kept
    known = {entry.index for entry in entries}
    seen: set[tuple[int, int]] = set()
    for item in connections.items:
        source, target = (
            (_number(item.text("from")), _number(item.text("to"))) if isinstance(item, Branch) else (None, None)
        )
        if source is None or target is None:
            odd.append((item, Sentence("a connection without a number is passed over")))
        elif source not in known or target not in known:
            sentence = "the connection {source} → {target} names no node of the flow and is passed over"
            odd.append((item, Sentence(sentence, source=source, target=target)))
        elif (source, target) in seen:
            sentence = "the connection {source} → {target} stands there twice"
            odd.append((item, Sentence(sentence, source=source, target=target)))
        else:
            seen.add((source, target))
            edges.append(Edge(source, target, item.text("branch") or None if isinstance(item, Branch) else None))
            kept.append(item)
    return edges, kept


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,9}", text, re.ASCII) else None


def _section(root: Branch, name: str, kept: list[Leaf | Branch], offsets: list[int]) -> Section | None:
    for key, value in zip(root.keys, root.items, strict=True):
        if key.text != name or root.flow_style:
            continue
        start = offsets[key.line]
        if not isinstance(value, Branch):
            return Section(start, offsets[_last_line(value) + 1], by_line=False)
        end = offsets[_last_line(value) + 1]
        by_line = bool(value.items) and not value.flow_style and value.kind == "sequence" and value.line > key.line
        items = [(offsets[item.line], offsets[_last_line(item) + 1]) for item in kept] if by_line else []
        return Section(start, end, by_line, " " * value.column, items)
    return None


def _last_line(item: Leaf | Branch) -> int:
    """Return the last line with something of the item on it: a block's own end mark lies behind later comments."""
    last = item.line
    pending: list[Leaf | Branch] = [item]
    while pending:
        piece = pending.pop()
        if isinstance(piece, Branch):
            pending += piece.items
            pending += piece.keys
            last = max(last, piece.end_line if piece.flow_style else piece.line)
        else:
            # A block scalar ends at the start of the line behind it.
            last = max(
                last, piece.end_line - 1 if piece.end_column == 0 < piece.end_line - piece.line else piece.end_line
            )
    return last
