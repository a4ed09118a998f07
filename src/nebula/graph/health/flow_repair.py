"""What can be wrong inside one flow, and the flow without it."""

from __future__ import annotations

from collections.abc import Container
from itertools import pairwise

from nebula.graph.flows.topology import find_cycle
from nebula.graph.formats.flow_edit import edit, rewrite_lists
from nebula.graph.formats.flow_yaml import FlowFile, load_flow
from nebula.graph.values import Edge, Flow, FlowEntry
from nebula.language import Sentence
from nebula.value import replace

Finding = tuple[str, Sentence, Sentence]
"""Kind, message, and what repairing does about it."""


def repaired_flow(file: FlowFile, known: Container[str]) -> tuple[FlowFile, list[Finding]]:
    """Return the file with everything repaired, and what that was. `known` are the ids that are nodes."""
    found: list[Finding] = [("edge", remark, Sentence("taken out")) for remark in file.remarks]
    fixed = _cut(file) if file.remarks else file
    flow = fixed.flow
    for step in (_repeated, lambda flow: _dangling(flow, known), _circles):
        flow, more = step(flow)
        found += more
    return (edit(fixed, flow) if flow != fixed.flow else fixed), found


def _cut(file: FlowFile) -> FlowFile:
    """Without the lines that were passed over on reading."""
    if not file.passed_over:
        return rewrite_lists(file)
    pieces = []
    done = 0
    for start, end in sorted(file.passed_over):
        pieces.append(file.text[done:start])
        done = end
    return load_flow(("".join(pieces) + file.text[done:]).encode("utf-8"), file.flow.id)


def _repeated(flow: Flow) -> tuple[Flow, list[Finding]]:
    """A node that stands in the flow more than once keeps its first number and all its connections."""
    first: dict[str, int] = {}
    number: dict[int, int] = {}
    entries = []
    for entry in flow.entries:
        number[entry.index] = first.setdefault(entry.id, entry.index)
        if number[entry.index] == entry.index:
            entries.append(entry)
    if len(entries) == len(flow.entries):
        return flow, []
    edges: dict[tuple[int, int], Edge] = {}
    for edge in flow.edges:
        source, target = number[edge.source], number[edge.target]
        if source != target or edge.source == edge.target:
            edges.setdefault((source, target), Edge(source, target, edge.branch))
    repeated = sorted({entry.id for entry in flow.entries if number[entry.index] != entry.index})
    sentence = "node {node} stands in the flow more than once"
    found = [("repeated", Sentence(sentence, node=node), Sentence("joined into one")) for node in repeated]
    return replace(flow, entries=tuple(entries), edges=tuple(edges.values())), found


def _dangling(flow: Flow, known: Container[str]) -> tuple[Flow, list[Finding]]:
    gone = [entry for entry in flow.entries if entry.id not in known]
    if not gone:
        return flow, []
    numbers = {entry.index for entry in gone}
    kept = replace(
        flow,
        entries=tuple(entry for entry in flow.entries if entry.index not in numbers),
        edges=tuple(edge for edge in flow.edges if edge.source not in numbers and edge.target not in numbers),
    )
    done = Sentence("taken out of the flow")
    return kept, [("dangling", Sentence("there is no node {node}", node=entry.id), done) for entry in gone]


def _circles(flow: Flow) -> tuple[Flow, list[Finding]]:
    """Open every circle at the connection that came last in the file."""
    found: list[Finding] = []
    while circle := find_cycle(flow):
        steps = set(pairwise(circle))
        last = [edge for edge in flow.edges if (edge.source, edge.target) in steps][-1]
        what = Sentence("a circle: {way}", way=" → ".join(map(str, circle)))
        done = Sentence("connection {source} → {target} taken out", source=last.source, target=last.target)
        found.append(("cycle", what, done))
        flow = replace(flow, edges=tuple(edge for edge in flow.edges if edge is not last))
    return flow, found


def merge(ours: Flow, theirs: Flow) -> Flow:
    """Return both versions of a flow in one: our nodes and connections in our order, then what only they have."""
    index = {entry.id: entry.index for entry in ours.entries}
    entries = list(ours.entries)
    following = max(index.values(), default=0) + 1
    for entry in theirs.entries:
        if entry.id not in index:
            index[entry.id] = following
            entries.append(FlowEntry(following, entry.id, entry.flow))
            following += 1
    edges = {(edge.source, edge.target): edge for edge in ours.edges}
    for connection in theirs.connections:
        pair = index[connection.source], index[connection.target]
        edges.setdefault(pair, Edge(*pair, connection.branch))
    return replace(ours, entries=tuple(entries), edges=tuple(edges.values()))
