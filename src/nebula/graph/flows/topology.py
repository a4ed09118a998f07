"""Flows as graphs: who follows whom, what would close a circle, which path leads to a node.

Everything here is plain computation on values; nothing recurses, so a chain may be as long as it likes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nebula.graph.errors import BadRequest, CycleError, NotFound
from nebula.graph.flows.order import reachable, topological_order
from nebula.graph.ids import new_id, now
from nebula.graph.values import Connection, Edge, Flow, FlowEntry
from nebula.value import replace


def new_flow(name: str, description: str = "") -> Flow:
    """Return an empty flow, made now."""
    moment = now()
    return Flow(new_id(), name, moment, moment, description)


def first_turns(flow: Flow) -> list[str]:
    """Return the ids of nodes that continue none."""
    targets = {edge.target for edge in flow.edges}
    return [entry.id for entry in flow.entries if entry.index not in targets]


class Topology:
    """The edges of a flow by entry number, in the order of the file: that order is the order of parents."""

    def __init__(self, flow: Flow) -> None:
        self.index_of: dict[str, int] = {}
        self.children: dict[int, list[int]] = {}
        self.parents: dict[int, list[int]] = {}
        self.next_index = 1
        self.size = 0
        for entry in flow.entries:
            self.add(entry)
        for edge in flow.edges:
            self.link(edge)

    def add(self, entry: FlowEntry) -> None:
        self.index_of.setdefault(entry.id, entry.index)
        self.children[entry.index] = []
        self.parents[entry.index] = []
        self.next_index = max(self.next_index, entry.index + 1)

    def link(self, edge: Edge) -> None:
        self.children[edge.source].append(edge.target)
        self.parents[edge.target].append(edge.source)
        self.size += 1


def extend(
    name: str, topology: Topology, nodes: Iterable[str], connections: Iterable[Connection]
) -> tuple[list[FlowEntry], list[Edge]]:
    """Return what has to be added to a flow to hold these nodes and connections; those it has already are passed over.

    `topology` is brought along in place; after a CycleError it must not be used any more.
    """
    entries: list[FlowEntry] = []
    edges: list[Edge] = []

    def enter(node: str) -> int:
        if node not in topology.index_of:
            entry = FlowEntry(topology.next_index, node)
            topology.add(entry)
            entries.append(entry)
        return topology.index_of[node]

    for node in nodes:
        enter(node)
    for connection in connections:
        source, target = enter(connection.source), enter(connection.target)
        if target in topology.children[source]:
            continue
        if source in reachable(target, topology.children):
            raise CycleError(
                "cannot connect {source} to {target}: a node cannot follow itself, and flow {flow} has no cycles"
                if source == target
                else "cannot connect {source} to {target}: the second already leads to the first, "
                "and flow {flow} has no cycles",
                source=connection.source,
                target=connection.target,
                flow=repr(name),
            )
        edge = Edge(source, target, connection.branch or None)
        topology.link(edge)
        edges.append(edge)
    return entries, edges


def without_connections(flow: Flow, connections: Iterable[Connection]) -> Flow:
    """Return the flow without these connections, whatever their branch. Raises NotFound for one that it has not."""
    gone = {(c.source, c.target) for c in connections}
    if not gone:
        return flow
    id_of = {entry.index: entry.id for entry in flow.entries}
    pairs = [(id_of[edge.source], id_of[edge.target]) for edge in flow.edges]
    for source, target in gone.difference(pairs):
        raise NotFound(
            "flow {flow} has no connection from {source} to {target}",
            flow=repr(flow.name),
            source=source,
            target=target,
        )
    return replace(flow, edges=tuple(edge for edge, pair in zip(flow.edges, pairs, strict=True) if pair not in gone))


def without_nodes(flow: Flow, nodes: Iterable[str]) -> Flow:
    """Return the flow without these nodes and their connections; neighbours are not joined. Raises NotFound."""
    leaving = set(nodes)
    if not leaving:
        return flow
    for node in leaving.difference(flow.nodes):
        raise NotFound("flow {flow} has no node {node}", flow=repr(flow.name), node=node)
    gone = {entry.index for entry in flow.entries if entry.id in leaving}
    return replace(
        flow,
        entries=tuple(entry for entry in flow.entries if entry.index not in gone),
        edges=tuple(edge for edge in flow.edges if edge.source not in gone and edge.target not in gone),
    )


def rebuilt(flow: Flow, nodes: Sequence[str]) -> Flow:
    """Return the flow as the chain of exactly these nodes; a connection that stays keeps its branch name."""
    if len(set(nodes)) < len(nodes):
        raise BadRequest("a node can stand only once in a flow")
    branches = {(c.source, c.target): c.branch for c in flow.connections}
    opened = {entry.id: entry.flow for entry in flow.entries if entry.flow}
    entries = tuple(FlowEntry(index, node, opened.get(node, "")) for index, node in enumerate(nodes, 1))
    edges = tuple(
        Edge(index, index + 1, branches.get((nodes[index - 1], nodes[index]))) for index in range(1, len(nodes))
    )
    return replace(flow, entries=entries, edges=edges)


def rewired(flow: Flow, nodes: Sequence[str] | None, connections: Sequence[Connection]) -> Flow:
    """Return the flow with exactly these nodes (None: those it has) and connections; ends not named are added.
    Raises CycleError."""
    bare = replace(flow, edges=())
    bare = without_nodes(bare, set(flow.nodes).difference(nodes)) if nodes is not None else bare
    entries, edges = extend(flow.name, Topology(bare), nodes or (), connections)
    return replace(bare, entries=bare.entries + tuple(entries), edges=tuple(edges))


def history(flow: Flow, node: str, topology: Topology | None = None) -> list[str]:
    """Return ids of the path to a node: all it descends from and itself, oldest first. Raises NotFound."""
    topology = topology or Topology(flow)
    if node not in topology.index_of:
        raise NotFound("flow {flow} has no node {node}", flow=repr(flow.name), node=node)
    members = reachable(topology.index_of[node], topology.parents)
    id_of = {entry.index: entry.id for entry in flow.entries if entry.index in members}
    return [id_of[index] for index in topological_order(list(id_of), topology.parents, topology.children)]


def branch_of(flow: Flow, node: str) -> list[str]:
    """Return the ids of a node and of all that follow from it alone: what another branch leads to, too, is not among
    them. Raises NotFound."""
    topology = Topology(flow)
    if node not in topology.index_of:
        raise NotFound("flow {flow} has no node {node}", flow=repr(flow.name), node=node)
    inside = {topology.index_of[node]}
    pending = [topology.index_of[node]]
    while pending:
        for child in topology.children[pending.pop()]:
            if child not in inside and inside.issuperset(topology.parents[child]):
                inside.add(child)
                pending.append(child)
    return [entry.id for entry in flow.entries if entry.index in inside]


def find_cycle(flow: Flow) -> list[int]:
    """Return the numbers of entries along one circle of the flow, first = last; empty when there is none."""
    topology = Topology(flow)
    waiting = {index: len(parents) for index, parents in topology.parents.items()}
    ready = [index for index, count in waiting.items() if count == 0]
    while ready:
        index = ready.pop()
        del waiting[index]
        for child in topology.children[index]:
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(child)
    if not waiting:
        return []
    # Everything left has a parent that is left too: walking up must come back to where it has been.
    place: dict[int, int] = {}
    index = next(iter(waiting))
    while index not in place:
        place[index] = len(place)
        index = next(parent for parent in topology.parents[index] if parent in waiting)
    return [index, *reversed(list(place)[place[index] :])]
