"""Flow files written or edited by hand: any order, quoting and style, with comments, and with mistakes.

What makes no sense is passed over with a remark; where everything stands is kept for `flow_edit`.
"""

from __future__ import annotations

import bisect
import contextlib

from nebula.graph.errors import BadFile
from nebula.graph.formats.flow_lists import BY_PLACE, KEYS, LINE_BREAK, Item, Rest, Span, items_of, take_lists
from nebula.graph.formats.flow_yaml import ARCHIVED, FIELDS, FlowFile, Section
from nebula.graph.formats.yaml_tree import Branch, Leaf, last_line, load
from nebula.graph.values import Edge, Flow, FlowEntry
from nebula.language import Sentence

_YES = ("true", "yes", "on")


def read_any_shape(text: str, path: str) -> FlowFile:
    rest = take_lists(text)
    if rest is not None:
        with contextlib.suppress(BadFile):  # the parser of the whole says what is wrong
            return _read(text, rest, path)
    # The parser does not count a byte order mark.
    offsets = [int(text.startswith("\ufeff")), *(found.end() for found in LINE_BREAK.finditer(text)), len(text)]
    return _read(text, Rest(text, offsets, {}), path)


def _read(text: str, rest: Rest, path: str) -> FlowFile:
    root, offsets = load(rest.text, path), rest.offsets
    _refuse_wrong_keys(root, rest, path)
    odd: list[_Odd] = []
    entries, entry_items = _entries(_items(root, rest, "nodes"), odd)
    edges, edge_items = _edges(_items(root, rest, "connections"), entries, odd)
    flow = Flow(
        root.text("id"),
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
    nodes = _section(root, rest, "nodes", entry_items)
    connections = _section(root, rest, "connections", edge_items)
    by_line = nodes is not None and nodes.by_line and connections is not None and connections.by_line
    spans = tuple(item.span for item, _ in odd) if by_line else ()
    return FlowFile(flow, text, fields, nodes, connections, remarks=_remarks(text, odd), passed_over=spans)


def _refuse_wrong_keys(root: Branch, rest: Rest, path: str) -> None:
    if not root.text("id"):
        raise BadFile(path, Sentence("the flow has no id"))
    for name in (*FIELDS, ARCHIVED, *KEYS):
        if len([key for key in root.keys if key.text == name]) > 1:
            raise BadFile(path, Sentence("'{key}' occurs twice", key=name))
    for name in KEYS:
        if root.text(name):
            raise BadFile(path, Sentence("'{key}' is not a list", key=name))
    for name, found in rest.lists.items():
        keys = [key for key, item in zip(root.keys, root.items, strict=True) if key.text == name and _is_empty(item)]
        if root.flow_style or [rest.offsets[key.line] for key in keys] != [found.start]:
            raise BadFile(path, Sentence("'{key}' is not a list", key=name))  # what looked like the key is text


def _is_empty(item: Leaf | Branch) -> bool:
    return isinstance(item, Leaf) and item.plain and not item.text


def _remarks(text: str, odd: list[_Odd]) -> tuple[Sentence, ...]:
    if not odd:
        return ()
    ends = [found.end() for found in LINE_BREAK.finditer(text)]
    lines = [bisect.bisect_right(ends, item.span[0]) + 1 for item, _ in odd]
    return tuple(
        Sentence("line {line}: {remark}", line=line, remark=remark)
        for line, (_, remark) in zip(lines, odd, strict=True)
    )


_Odd = tuple[Item, Sentence]


def _items(root: Branch, rest: Rest, name: str) -> list[Item]:
    if name in rest.lists:
        return rest.lists[name].items
    value = root.get(name)
    return items_of(value, name, rest.offsets, rest.offsets[1:]) if isinstance(value, Branch) else []


def _entries(items: list[Item], odd: list[_Odd]) -> tuple[list[FlowEntry], list[Span]]:
    entries: list[FlowEntry] = []
    kept: list[Span] = []
    used: set[int] = set()
    for place, item in enumerate(items, 1):
        number, node_id, flow = item.texts
        index = place if number == BY_PLACE else _number(number)
        if not node_id or index is None:
            odd.append((item, Sentence("a node without an id or a number is skipped")))
        elif index in used:
            sentence = "number {index} occurs twice; its second node {node} is skipped"
            odd.append((item, Sentence(sentence, index=index, node=node_id)))
        else:
            used.add(index)
            entries.append(FlowEntry(index, node_id, flow))
            kept.append(item.span)
    return entries, kept


def _edges(items: list[Item], entries: list[FlowEntry], odd: list[_Odd]) -> tuple[list[Edge], list[Span]]:
    edges: list[Edge] = []
    kept: list[Span] = []
    known = {entry.index for entry in entries}
    seen: set[tuple[int, int]] = set()
    for item in items:
        source, target = _number(item.texts[0]), _number(item.texts[1])
        if source is None or target is None:
            odd.append((item, Sentence("a connection without a number is skipped")))
        elif source not in known or target not in known:
            sentence = "the connection {source} → {target} refers to a node that is not in the flow and is skipped"
            odd.append((item, Sentence(sentence, source=source, target=target)))
        elif (source, target) in seen:
            sentence = "the connection {source} → {target} occurs twice"
            odd.append((item, Sentence(sentence, source=source, target=target)))
        else:
            seen.add((source, target))
            edges.append(Edge(source, target, item.texts[2] or None))
            kept.append(item.span)
    return edges, kept


def _number(text: str) -> int | None:
    return int(text) if len(text) < 10 and text.isascii() and text.isdigit() else None


def _section(root: Branch, rest: Rest, name: str, kept: list[Span]) -> Section | None:
    if found := rest.lists.get(name):
        items = [(first - found.start, last - found.start) for first, last in kept]
        return Section(found.start, found.items[-1].span[1], True, found.indent, items)
    offsets = rest.offsets
    for key, value in zip(root.keys, root.items, strict=True):
        if key.text != name or root.flow_style:
            continue
        start = offsets[key.line]
        if not isinstance(value, Branch):
            return Section(start, offsets[last_line(value) + 1], by_line=False)
        end = offsets[last_line(value) + 1]
        by_line = bool(value.items) and not value.flow_style and value.kind == "sequence" and value.line > key.line
        items = [(first - start, last - start) for first, last in kept] if by_line else []
        return Section(start, end, by_line, " " * value.column, items)
    return None
