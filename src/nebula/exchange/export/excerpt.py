"""A part of the conversation that leaves: one node, the branch that leads to it, or a whole flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nebula.errors import EXIT_USAGE
from nebula.graph.errors import BadFile, NotFound
from nebula.graph.flows.order import topological_order
from nebula.graph.graph import Graph
from nebula.graph.ids import shortest_unique
from nebula.graph.values import Connection, Flow, Node
from nebula.messages.redaction import REDACTED, Redactor
from nebula.value import value

FORMAT = "nebula-export/1"


class UnknownPart(NotFound):
    """Raised where neither a flow nor a node has the name that was asked for."""

    exit_code = EXIT_USAGE


@value
class Excerpt:
    """Nodes, parents before children, and the connections among them. `unreadable` nodes of the flow are left out."""

    title: str
    nodes: tuple[Node, ...]
    connections: tuple[Connection, ...] = ()
    description: str = ""
    unreadable: tuple[str, ...] = ()

    def parents(self) -> dict[str, list[Connection]]:
        """Return the connections that lead to each node, by its id."""
        found: dict[str, list[Connection]] = {}
        for each in self.connections:
            found.setdefault(each.target, []).append(each)
        return found

    def to_json(self) -> dict[str, Any]:
        connections = [
            {"source": each.source, "target": each.target, **({"branch": each.branch} if each.branch else {})}
            for each in self.connections
        ]
        return {
            "format": FORMAT,
            "title": self.title,
            "description": self.description,
            "nodes": [node.to_json() for node in self.nodes],
            "connections": connections,
        }


def choose_excerpt(graph: Graph, wanted: str, *, branch: bool = False) -> Excerpt:
    """Return the flow of that name or id, or the node whose id begins so; with `branch` all that leads to the node.

    Raises UnknownPart, and AmbiguousId where several ids begin so."""
    if not branch and (flow := _find_flow(graph, wanted)) is not None:
        order = _order(flow)
        return _gather(graph, flow.name, order, flow.connections, flow.description)
    try:
        node_id = graph.resolve_id(wanted)
    except NotFound as problem:
        if hasattr(problem, "candidates"):
            raise
        flows = ", ".join(repr(each.name) for each in graph.list_flows()) or "-"
        raise UnknownPart("no flow or node {wanted}; the flows are: {flows}", wanted=wanted, flows=flows) from None
    if not branch:
        return _gather(graph, _title(graph.get_node(node_id)), [node_id], ())
    path = graph.history_ids(node_id)
    flow = next((each for each in graph.list_flows() if node_id in each.nodes), None)
    return _gather(graph, _title(graph.get_node(path[0])), path, flow.connections if flow else ())


def redact_excerpt(excerpt: Excerpt, redactor: Redactor) -> tuple[Excerpt, int]:
    """Return the excerpt with everything marked that looks like a key, and how many marks that took."""
    redacted = redactor.value(excerpt)
    return redacted, 0 if redacted is excerpt else _count_marks(redacted) - _count_marks(excerpt)


def _count_marks(excerpt: Excerpt) -> int:
    return repr((excerpt.nodes, excerpt.connections, excerpt.description)).count(REDACTED)


def _find_flow(graph: Graph, wanted: str) -> Flow | None:
    try:
        return graph.get_flow(wanted)
    except NotFound:
        return None


def _order(flow: Flow) -> list[str]:
    parents: dict[str, list[str]] = {}
    children: dict[str, list[str]] = {}
    for each in flow.connections:
        parents.setdefault(each.target, []).append(each.source)
        children.setdefault(each.source, []).append(each.target)
    return topological_order(list(dict.fromkeys(flow.nodes)), parents, children)


def _gather(
    graph: Graph, title: str, node_ids: Sequence[str], connections: Sequence[Connection], description: str = ""
) -> Excerpt:
    nodes, unreadable = [], []
    for node_id in node_ids:
        try:
            nodes.append(graph.get_node(node_id))
        except (NotFound, BadFile):
            unreadable.append(node_id)
    inside = {node.id for node in nodes}
    kept = tuple(each for each in connections if each.source in inside and each.target in inside)
    return Excerpt(title, tuple(nodes), kept, description, tuple(unreadable))


def _title(node: Node) -> str:
    """Return the first line of the prompt that says anything, or the id."""
    return next((line.strip()[:120] for line in node.prompt.splitlines() if line.strip()), node.id)


def shorten_ids(excerpt: Excerpt) -> Mapping[str, str]:
    """Return each id of the excerpt with its shortest unique beginning."""
    return shortest_unique([node.id for node in excerpt.nodes], at_least=8)
