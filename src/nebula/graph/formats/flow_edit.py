"""Changes to a flow file that somebody edited: they touch only the lines they must.

A turn adds lines at the ends of both lists. Any other change of a file in the tool's own shape writes it anew: 8 ms for
10,000 nodes. One that somebody wrote is read again then, which takes 100 ms for as many: whatever it says other than it
should is written anew as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import accumulate, pairwise
from typing import TypeVar

from nebula.graph.errors import BadFile
from nebula.graph.formats.flow_yaml import (
    ARCHIVED,
    FIELDS,
    FlowFile,
    Section,
    connections_section,
    dump_flow,
    dump_longer,
    edge_lines,
    entry_lines,
    field_text,
    load_flow,
    nodes_section,
)
from nebula.graph.values import Edge, Flow, FlowEntry
from nebula.language import Sentence
from nebula.value import replace

_Change = tuple[int, int, str]
_Item = TypeVar("_Item", FlowEntry, Edge)


def edit(file: FlowFile, flow: Flow) -> FlowFile:
    """Return the file with its text changed to say what `flow` says.

    In a file that somebody wrote, kept items keep their lines and whatever comments stand around them; a list whose
    kept items change order, or that is not written line by line, is written anew.
    """
    if file.own_shape:
        return FlowFile(flow, dump_longer(file, flow) or dump_flow(flow), own_shape=True)
    longer = _lengthened(file, flow)
    if longer is not None:
        return longer
    for changes in (_line_changes, _new_lists):
        try:
            whole = _completed(file, flow)
            edited = _apply(whole, changes(whole, flow))
        except BadFile:  # all of it stands in braces, say
            continue
        if edited.flow == flow:
            return edited
    return load_flow(dump_flow(flow).encode("utf-8"), flow.id)


def _lengthened(file: FlowFile, flow: Flow) -> FlowFile | None:
    """Return the file with another time of its last change, and with what both lists gained at their ends: each turn
    does no more, and to read 100,000 turns again takes 1.2 s. None where more changed, or where what was passed over
    may make sense by now."""
    old, nodes, connections = file.flow, file.nodes, file.connections
    is_longer = replace(flow, updated=old.updated, entries=old.entries, edges=old.edges) == old and (
        flow.entries[: len(old.entries)] == old.entries and flow.edges[: len(old.edges)] == old.edges
    )
    if not is_longer or file.remarks or not nodes or not connections or not file.flow.updated:
        return None
    changes = _line_changes(file, flow)
    if any("\n" in new and (start != end or file.text[start - 1] != "\n") for start, end, new in changes):
        return None

    def moved(place: int) -> int:
        return place + sum(len(new) - (end - start) for start, end, new in changes if end <= place)

    def longer(section: Section, added: Iterable[str]) -> Section:
        ends = list(accumulate(map(len, added), initial=section.end - section.start))
        items = [*section.items, *pairwise(ends)]
        return replace(section, start=moved(section.start), end=moved(section.end), items=items)

    added_nodes = [entry_lines(each, nodes.indent) for each in flow.entries[len(old.entries) :]]
    added_edges = [edge_lines(each, connections.indent) for each in flow.edges[len(old.edges) :]]
    fields = {field: (moved(start), moved(end)) for field, (start, end) in file.fields.items()}
    return FlowFile(
        flow, _changed_text(file.text, changes), fields, longer(nodes, added_nodes), longer(connections, added_edges)
    )


def rewrite_lists(file: FlowFile) -> FlowFile:
    """Return the file with its two lists written anew, and everything around them left alone."""
    whole = _completed(file, file.flow)
    texts = (nodes_section(file.flow.entries), connections_section(file.flow.edges))
    lists = zip((whole.nodes, whole.connections), texts, strict=True)
    return _apply(whole, [(section.start, section.end, text) for section, text in lists if section])


def _completed(file: FlowFile, flow: Flow) -> FlowFile:
    """A file somebody wrote without some of the parts gets them: fields below its id, lists at its end. Raises
    BadFile."""
    missing = [field for field in (*FIELDS, ARCHIVED) if field not in file.fields and getattr(flow, field)]
    if not missing and file.nodes and file.connections:
        return file
    if "id" not in file.fields:
        raise BadFile(flow.id, Sentence("the flow has no id"))
    text = file.text if file.text.endswith("\n") else file.text + "\n"
    below = text.find("\n", file.fields["id"][1]) + 1
    lines = "".join(f"{field}: {field_text(flow, field)}\n" for field in missing)
    lists = ("" if file.nodes else nodes_section(())) + ("" if file.connections else connections_section(()))
    return load_flow((text[:below] + lines + text[below:] + lists).encode("utf-8"), flow.id)


def _line_changes(file: FlowFile, flow: Flow) -> list[_Change]:
    changes = _field_changes(file, flow)
    if file.nodes and file.flow.entries != flow.entries:
        changes += _list_changes(file.text, file.nodes, file.flow.entries, flow.entries, entry_lines, nodes_section)
    if file.connections and file.flow.edges != flow.edges:
        lists = (file.flow.edges, flow.edges)
        changes += _list_changes(file.text, file.connections, *lists, edge_lines, connections_section)
    return changes


def _new_lists(file: FlowFile, flow: Flow) -> list[_Change]:
    """Return the lists of which an item stands for another one once a line is gone: it was counted, or passed over as a
    repeat."""
    changes = _field_changes(file, flow)
    if file.nodes and file.flow.entries != flow.entries:
        changes.append((file.nodes.start, file.nodes.end, nodes_section(flow.entries)))
    if file.connections and file.flow.edges != flow.edges:
        changes.append((file.connections.start, file.connections.end, connections_section(flow.edges)))
    return changes


def _field_changes(file: FlowFile, flow: Flow) -> list[_Change]:
    changes = []
    for field, (start, end) in file.fields.items():
        if getattr(file.flow, field) != getattr(flow, field):
            # A field left empty ends at its colon; a block of lines takes its last line break along.
            before = " " if file.text[start - 1] == ":" else ""
            after = "\n" if file.text[start:end].endswith("\n") else ""
            changes.append((start, end, f"{before}{field_text(flow, field)}{after}"))
    return changes


def _list_changes(
    text: str,
    section: Section,
    old: tuple[_Item, ...],
    new: tuple[_Item, ...],
    lines: Callable[[_Item, str], str],
    whole: Callable[[tuple[_Item, ...]], str],
) -> list[_Change]:
    if section.by_line and len(old) == len(new) and all(map(_is_same_item, old, new)):
        pairs = zip(section.items, old, new, strict=True)
        return [
            (section.start + start, section.start + end, lines(after, section.indent))
            for (start, end), before, after in pairs
            if before != after
        ]
    gone = set() if new[: len(old)] == old else set(old).difference(new)
    kept = tuple(item for item in old if item not in gone) if gone else old
    if not section.by_line or not kept or new[: len(kept)] != kept:
        return [(section.start, section.end, whole(new))]
    places = zip(section.items, old, strict=True) if gone else ()
    changes: list[_Change] = [
        (section.start + start, section.start + end, "") for (start, end), item in places if item in gone
    ]
    if added := "".join(lines(item, section.indent) for item in new[len(kept) :]):
        is_unfinished = section.end > 0 and text[section.end - 1] not in "\r\n"
        changes.append((section.end, section.end, "\n" + added if is_unfinished else added))
    return changes


def _is_same_item(one: _Item, other: _Item) -> bool:
    """Return whether only what an item says beside its place is another: the flow it opens, the name of a branch."""
    if isinstance(one, Edge) and isinstance(other, Edge):
        return (one.source, one.target) == (other.source, other.target)
    if isinstance(one, FlowEntry) and isinstance(other, FlowEntry):
        return (one.index, one.id) == (other.index, other.id)
    return False


def _apply(file: FlowFile, changes: list[_Change]) -> FlowFile:
    return load_flow(_changed_text(file.text, changes).encode("utf-8"), file.flow.id)


def _changed_text(text: str, changes: list[_Change]) -> str:
    pieces, reached = [], 0
    for start, end, new in sorted(changes):
        pieces += [text[reached:start], new]
        reached = end
    return "".join((*pieces, text[reached:]))
