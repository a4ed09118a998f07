"""Merging one file of the graph for git, so that two branches that both added turns come together by themselves.

A flow holds the nodes and connections of both, without what either took out. A node that one side changed is that
side's; fields that each changed alone come together. Where both changed the same, or both made a file under one number,
the file keeps both versions between markers, and `settle_merge` parts them when the graph is used next.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import Final, TypeVar

from nebula.files.reading import UnreadableFile, read_below
from nebula.graph.errors import ChangedSince
from nebula.graph.flows.change import NodeEdit, apply_edit
from nebula.graph.flows.topology import without_connections, without_nodes
from nebula.graph.formats.flow_edit import edit
from nebula.graph.formats.flow_yaml import load_flow
from nebula.graph.formats.git_conflicts import holds_both, keep_both
from nebula.graph.formats.node_xml import dump_node, load_node
from nebula.graph.graph import Graph
from nebula.graph.health.flow_repair import merge
from nebula.graph.values import Flow, Node, Problem
from nebula.value import replace

MARKER: Final = ".state/merged"
"""Says that a merge left files with both versions in them."""
_LOOK_AT: Final = 200
"""Node files, of those that came last, in which two versions are looked for."""
_LIMIT: Final = 64 << 20
_WORDS: Final = ("name", "description", "archived")
K = TypeVar("K")
V = TypeVar("V")


def merge_versions(path: str, base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, bool]:
    """Return the merged file, and whether it holds both versions between markers. Raises BadFile where a version makes
    no sense. One may hold both from a merge just before: git takes a new file for a removed one that was renamed."""
    if ours == theirs:
        return ours, False
    merged = None
    if not (holds_both(ours) or holds_both(theirs)):
        merge_files = _merge_flows if path.endswith(".yaml") else _merge_nodes
        merged = merge_files(path, base, ours, theirs)
    return (keep_both(ours, theirs), True) if merged is None else (merged, False)


def note_merge(data_dir: str) -> None:
    """Leave word for the next who uses the graph that versions are to be parted."""
    os.makedirs(os.path.join(data_dir, ".state"), mode=0o700, exist_ok=True)
    with open(os.path.join(data_dir, MARKER), "w", encoding="utf-8"):
        pass


def settle_merge(graph: Graph) -> Sequence[Problem]:
    """Part the versions that a merge left in one file, where there are any; return what was done.

    A commit may have them without the marker: that of whoever merged and did not use the graph before it was pushed.
    """
    marker = os.path.join(graph.data_dir, MARKER)
    if not os.path.exists(marker) and not any(_holds_both(graph, each.path) for each in graph.unreadable(_LOOK_AT)):
        return ()
    done = graph.check(repair=True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(marker)
    return [each for each in done if each.kind == "conflict"]


def _holds_both(graph: Graph, path: str) -> bool:
    """Return whether a file is one in which we kept both versions."""
    try:
        data = read_below(graph.data_dir, path, _LIMIT) or b""
    except UnreadableFile:
        return False
    return holds_both(data)


def _merge_nodes(path: str, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    mine, other = load_node(ours, path), load_node(theirs, path)
    if mine.id != other.id or not base.strip():
        return None
    before = load_node(base, path)
    if before.id != mine.id:
        return None
    try:
        return dump_node(apply_edit(mine, NodeEdit(_with_marks(before, other), other)))
    except ChangedSince:
        return None


def _with_marks(before: Node, after: Node) -> Node:
    """Return the node as it was, but for the moment of its summary: that one is told by the summary itself."""
    return before if before.summary != after.summary else replace(before, last_built=after.last_built)


def _merge_flows(path: str, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    mine, other = load_flow(ours, path), load_flow(theirs, path)
    if mine.flow.id != other.flow.id and mine.flow.name != other.flow.name:
        return None
    merged = merge(mine.flow, other.flow)
    if base.strip():
        merged = _without_what_went(merged, load_flow(base, path).flow, mine.flow, other.flow)
    merged = replace(merged, updated=max(mine.flow.updated, other.flow.updated))
    return edit(mine, merged).text.encode("utf-8")


def _without_what_went(merged: Flow, base: Flow, ours: Flow, theirs: Flow) -> Flow:
    """Return the flow without what one side took out, and with the words that one side changed."""
    gone = {node for side in (ours, theirs) for node in set(base.nodes) - set(side.nodes)}
    kept = [{(each.source, each.target) for each in side.connections} for side in (ours, theirs)]
    cut = {(each.source, each.target) for each in base.connections} - (kept[0] & kept[1])
    loose = [each for each in merged.connections if (each.source, each.target) in cut]
    merged = without_nodes(without_connections(merged, loose), [node for node in merged.nodes if node in gone])
    return _with_their_words(merged, base, ours, theirs)


def _with_their_words(merged: Flow, base: Flow, ours: Flow, theirs: Flow) -> Flow:
    """Return the flow with what they alone named otherwise: itself, its branches, and the flows that its nodes open."""
    before, here, there = ({name: getattr(flow, name) for name in _WORDS} for flow in (base, ours, theirs))
    words = _changed_there(before, here, there)
    opened = _changed_there(*({entry.id: entry.flow for entry in flow.entries} for flow in (base, ours, theirs)))
    entries = tuple(replace(entry, flow=opened.get(entry.id, entry.flow)) for entry in merged.entries)
    names = _changed_there(
        *({(c.source, c.target): c.branch for c in flow.connections} for flow in (base, ours, theirs))
    )
    pairs = zip(merged.edges, merged.connections, strict=True)
    edges = tuple(replace(edge, branch=names.get((c.source, c.target), edge.branch)) for edge, c in pairs)
    return replace(merged, **words, entries=entries, edges=edges)


def _changed_there(base: dict[K, V], ours: dict[K, V], theirs: dict[K, V]) -> dict[K, V]:
    return {key: now for key, now in theirs.items() if key in ours and key in base and ours[key] == base[key] != now}
