"""The path that leads to one node or several: every ancestor once, parents before children, merges by time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from nebula.graph.errors import BadFile, NotFound
from nebula.graph.flows.order import reachable, topological_order
from nebula.graph.ids import sort_key
from nebula.graph.values import DEFAULT_FLOW, Flow

if TYPE_CHECKING:
    from nebula.graph.reader import GraphReader


def path_to(
    graph: GraphReader, node_ids: Sequence[str], time_of: Callable[[str], str], flow: str | None = None
) -> list[str]:
    """Return ids of all that the nodes descend from and of the nodes themselves, oldest first.

    `flow` names the flow to look in; without it each node is looked for in `main`, then in the others. A node in no
    flow is a path of its own. `time_of` gives a node's timestamp, and is asked only where branches run side by side.
    """
    parents: dict[str, list[str]] = {}
    members: dict[str, None] = {}
    for node_id in node_ids:
        found = flow_of(graph, node_id, flow)
        edges = _parents_in(found) if found else {}
        for member in reachable(node_id, edges):
            members.setdefault(member)
            known = parents.setdefault(member, [])
            known += [parent for parent in edges.get(member, ()) if parent not in known]
    return _in_time_order(members, parents, time_of)


def flow_of(graph: GraphReader, node_id: str, flow: str | None = None) -> Flow | None:
    """Return the flow a node is in: the one that is named, else `main`, else the first that has it."""
    if flow is not None:
        named = graph.get_flow(flow)
        return named if node_id in named.nodes else None
    try:
        main = graph.get_flow(DEFAULT_FLOW)
    except (NotFound, BadFile):
        main = None
    if main and node_id in main.nodes:
        return main
    return next((other for other in graph.list_flows() if node_id in other.nodes), None)


def _parents_in(flow: Flow) -> dict[str, list[str]]:
    parents: dict[str, list[str]] = {}
    for connection in flow.connections:
        parents.setdefault(connection.target, []).append(connection.source)
    return parents


def _in_time_order(members: Iterable[str], parents: dict[str, list[str]], time_of: Callable[[str], str]) -> list[str]:
    children: dict[str, list[str]] = {}
    for member in members:
        for parent in parents.get(member, ()):
            if parent != member:
                children.setdefault(parent, []).append(member)

    @cache
    def key(node_id: str) -> tuple[bool, float, str]:
        return sort_key(time_of(node_id))

    return topological_order(list(members), parents, children, key)
