"""A change of the graph as a value: what one commit does, all of it or nothing, and how that is taken back.

`Graph.apply(change)` carries one out and returns its inverse, which is a change like any other: applying it undoes,
and applying what that returns does it again.
"""

from __future__ import annotations

from collections.abc import Iterable

from nebula.graph.flows.topology import Topology, extend, without_connections, without_nodes
from nebula.graph.values import Connection, Flow, Node
from nebula.value import replace, value


@value
class FlowChange:
    """What happens to one flow. Nodes and connections that are there already are not added again."""

    flow: str
    """Its id or name."""
    add: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    """Nodes taken out with their connections; the nodes themselves stay."""
    connect: tuple[Connection, ...] = ()
    disconnect: tuple[Connection, ...] = ()
    name: str | None = None
    description: str | None = None
    like: Flow | None = None
    """Numbering and order to follow, if in the end the flow holds just what this one holds."""

    def only_adds(self) -> bool:
        return not (self.drop or self.disconnect or self.like) and self.name is None and self.description is None


@value
class GraphChange:
    create: tuple[Node, ...] = ()
    edit: tuple[Node, ...] = ()
    """Nodes as they are to be; each is known by its id."""
    remove: tuple[str, ...] = ()
    """Nodes to delete, out of every flow."""
    flows: tuple[FlowChange, ...] = ()


def changed(flow: Flow, change: FlowChange) -> Flow:
    """The flow after a change. Raises NotFound for what it should lose and has not, and CycleError."""
    after = without_connections(without_nodes(flow, change.drop), change.disconnect)
    entries, edges = extend(flow.name, Topology(after), change.add, change.connect)
    after = replace(
        after,
        name=flow.name if change.name is None else change.name,
        description=flow.description if change.description is None else change.description,
        entries=after.entries + tuple(entries),
        edges=after.edges + tuple(edges),
    )
    like = change.like
    if like and _content(after) == _content(like):
        after = replace(after, entries=like.entries, edges=like.edges)
    return after


def _content(flow: Flow) -> tuple[list[str], set[Connection]]:
    return sorted(flow.nodes), set(flow.connections)


def difference(old: Flow, new: Flow) -> FlowChange:
    """What makes the old flow say what the new one says."""
    before, after = set(old.nodes), set(new.nodes)
    gone = before - after
    had = {c for c in old.connections if c.source not in gone and c.target not in gone}
    wanted = set(new.connections)
    return FlowChange(
        old.id,
        add=_in_order(new.nodes, after - before),
        drop=_in_order(old.nodes, gone),
        connect=tuple(c for c in new.connections if c not in had),
        disconnect=tuple(c for c in old.connections if c in had and c not in wanted),
        name=new.name if new.name != old.name else None,
        description=new.description if new.description != old.description else None,
        like=new,
    )


def _in_order(nodes: Iterable[str], among: set[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(node for node in nodes if node in among))


def additions_taken_back(flow: str, topology: Topology, change: FlowChange) -> FlowChange:
    """The inverse of a change that only adds, found without looking at the rest of a flow that may be long."""
    known, children = topology.index_of, topology.children
    ends = (end for c in change.connect for end in (c.source, c.target))
    return FlowChange(
        flow,
        drop=tuple(node for node in dict.fromkeys((*change.add, *ends)) if node not in known),
        disconnect=tuple(
            c
            for c in change.connect
            if c.source in known and c.target in known and known[c.target] not in children[known[c.source]]
        ),
    )
