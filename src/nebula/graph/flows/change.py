"""A change of the graph as a value: what one commit does, all of it or nothing, and how that is taken back.

`Graph.apply(change)` carries one out and returns its inverse, which is a change like any other: applying it undoes,
and applying what that returns does it again. An inverse names what the change left; where that is something else by
now, it is refused (`ChangedSince`) and everything stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from nebula.graph.errors import ChangedSince
from nebula.graph.flows.topology import Topology, extend, without_connections, without_nodes
from nebula.graph.values import Connection, Flow, FlowEntry, Node
from nebula.value import replace, value

_Item = TypeVar("_Item", str, Connection)


@value
class NodeEdit:
    """The fields in which two versions of a node differ go from the one to the other; all others stay as they are."""

    before: Node
    after: Node

    @property
    def inverse(self) -> NodeEdit:
        return NodeEdit(self.after, self.before)


@value
class FlowChange:
    """What happens to one flow. Nodes and connections that are there already are not added again."""

    flow: str
    """Its id or name."""
    add: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    """Nodes taken out with their connections; the nodes themselves stay."""
    leave: tuple[str, ...] = ()
    """Nodes taken out that have no connections left: ChangedSince where somebody has connected one."""
    connect: tuple[Connection, ...] = ()
    disconnect: tuple[Connection, ...] = ()
    release: tuple[Connection, ...] = ()
    """Connections taken away under just this name: ChangedSince where somebody has named one otherwise."""
    name: str | None = None
    description: str | None = None
    old_name: str | None = None
    """The name that `name` replaces: ChangedSince where it is another one."""
    old_description: str | None = None
    opens: tuple[tuple[str, str], ...] = ()
    """Nodes and the flows that they open; nothing where one opens none any more."""
    opened: tuple[tuple[str, str], ...] = ()
    """What some of these opened before: ChangedSince where one opens another flow by now."""
    archived: bool | None = None
    like: Flow | None = None
    """Numbering and order to follow, if in the end the flow holds just what this one holds."""

    def only_adds(self) -> bool:
        return not (self.drop or self.leave or self.disconnect or self.release or self.opens or self.like)


@value
class GraphChange:
    create: tuple[Node, ...] = ()
    edit: tuple[NodeEdit, ...] = ()
    remove: tuple[str, ...] = ()
    """Nodes to delete, out of every flow."""
    take_back: tuple[Node, ...] = ()
    """Nodes to delete that are as they were made: ChangedSince where somebody has edited one, continued from it or put
    it into another flow."""
    flows: tuple[FlowChange, ...] = ()
    create_flows: tuple[Flow, ...] = ()
    remove_flows: tuple[Flow, ...] = ()
    """Flows to delete that are just like this; ChangedSince for any other."""


_BUILT = frozenset({"summary", "tags", "updated", "last_built"})


def is_edited(node: Node, made: Node) -> bool:
    """Return whether somebody has edited a node since it was made; that its summary was built is no edit."""
    passed_over = _BUILT if node.last_built != made.last_built else {"updated"}
    return any(getattr(node, name) != getattr(made, name) for name in Node.__match_args__ if name not in passed_over)


def apply_edit(node: Node, edit: NodeEdit) -> Node:
    """Return the node after an edit. Raises ChangedSince where a field is not as the edit expects it."""
    fields = dict(_changed_fields(node, edit))
    result = replace(node, **fields)
    if fields.keys() & {"texts", "summary", "last_built"}:
        # A summary is up to date only beside the very texts that it was, and is, built from.
        parts = ("texts", "summary", "last_built")
        is_like = all(getattr(result, part) == getattr(edit.after, part) for part in parts)
        result = replace(result, updated=edit.after.updated if is_like else True)
    return result


def _changed_fields(node: Node, edit: NodeEdit) -> Iterable[tuple[str, Any]]:
    for name in Node.__match_args__:
        held, before, after = (getattr(each, name) for each in (node, edit.before, edit.after))
        if name == "updated" or before == after:
            continue
        if name == "texts" and len(held) == len(before) == len(after):
            yield name, tuple(_replaced(node.id, name, *each) for each in zip(held, before, after, strict=True))
        else:
            yield name, _replaced(node.id, name, held, before, after)


def _replaced(node_id: str, name: str, held: Any, before: Any, after: Any) -> Any:
    """Return `after` where the field still holds `before`. Raises ChangedSince where it holds something else."""
    if before == after:
        return held
    if held != before:
        raise ChangedSince(
            "node {node_id} was changed meanwhile ({field}); it stays as it is", node_id=node_id, field=name
        )
    return after


def changed(flow: Flow, change: FlowChange, topology: Topology | None = None) -> Flow:
    """Return the flow after a change. Raises NotFound for what it should lose and has not, CycleError and ChangedSince.

    `topology` is that of the flow, for a change that only adds: it is brought along in place.
    """
    for held, expected in ((flow.name, change.old_name), (flow.description, change.old_description)):
        if expected is not None and held != expected:
            raise ChangedSince("flow {flow} was changed meanwhile; it stays as it is", flow=repr(flow.name))
    _refuse_other_words(flow, change)
    after = without_connections(flow, (*change.disconnect, *change.release))
    _refuse_connected(after, change.leave)
    after = without_nodes(after, (*change.drop, *change.leave))
    entries, edges = extend(flow.name, topology or Topology(after), change.add, change.connect)
    after = replace(
        after,
        name=flow.name if change.name is None else change.name,
        description=flow.description if change.description is None else change.description,
        entries=_opening(after.entries + tuple(entries), dict(change.opens)),
        edges=after.edges + tuple(edges),
        archived=flow.archived if change.archived is None else change.archived,
    )
    like = change.like
    if like and _content(after) == _content(like):
        after = replace(after, entries=like.entries, edges=like.edges)
    return after


def _refuse_other_words(flow: Flow, change: FlowChange) -> None:
    """Refuse to replace a branch name, or which flow a node opens, where somebody has given another."""
    names = {(c.source, c.target): c.branch for c in flow.connections} if change.release else {}
    opened = {entry.id: entry.flow for entry in flow.entries} if change.opened else {}
    is_named = any(names.get((c.source, c.target), c.branch) != c.branch for c in change.release)
    if is_named or any(opened.get(node, before) != before for node, before in change.opened):
        raise ChangedSince("flow {flow} was changed meanwhile; it stays as it is", flow=repr(flow.name))


def _refuse_connected(flow: Flow, leaving: Iterable[str]) -> None:
    gone = set(leaving)
    index = {entry.index: entry.id for entry in flow.entries if entry.id in gone} if gone else {}
    for edge in flow.edges if index else ():
        node = index.get(edge.source) or index.get(edge.target)
        if node:
            raise ChangedSince("node {node_id} was connected meanwhile; it stays as it is", node_id=node)


def _opening(entries: tuple[FlowEntry, ...], opens: Mapping[str, str]) -> tuple[FlowEntry, ...]:
    if not opens:
        return entries
    return tuple(replace(entry, flow=opens[entry.id]) if entry.id in opens else entry for entry in entries)


def _content(flow: Flow) -> tuple[list[tuple[str, str]], set[Connection]]:
    return sorted((entry.id, entry.flow) for entry in flow.entries), set(flow.connections)


def difference(old: Flow, new: Flow) -> FlowChange:
    """Return the change that makes the old flow say what the new one says."""
    nodes_before, had = _apart_from(new, old)
    nodes_after, wanted = _apart_from(old, new)
    opens = _opened(old, new)
    is_renamed, is_described = new.name != old.name, new.description != old.description
    return FlowChange(
        old.id,
        add=_without(nodes_after, nodes_before),
        leave=_without(nodes_before, nodes_after),
        connect=_without(wanted, had),
        release=_without(had, wanted),
        name=new.name if is_renamed else None,
        description=new.description if is_described else None,
        old_name=old.name if is_renamed else None,
        old_description=old.description if is_described else None,
        opens=opens,
        opened=_opened_before(old, opens),
        archived=new.archived if new.archived != old.archived else None,
        like=None if _begins_with(old, new) else new,
    )


def _begins_with(flow: Flow, other: Flow) -> bool:
    """Return whether `other` is left where `flow` loses its last nodes and connections: mostly a turn at its end."""
    return flow.entries[: len(other.entries)] == other.entries and flow.edges[: len(other.edges)] == other.edges


def _opened(old: Flow, new: Flow) -> tuple[tuple[str, str], ...]:
    count = len(old.entries)
    if new.entries[:count] == old.entries:
        return tuple((entry.id, entry.flow) for entry in new.entries[count:] if entry.flow)
    before = {entry.id: entry.flow for entry in old.entries}
    return tuple((entry.id, entry.flow) for entry in new.entries if entry.flow != before.get(entry.id, ""))


def _opened_before(old: Flow, opens: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    changing = {node for node, _ in opens}
    return tuple((entry.id, entry.flow) for entry in old.entries if entry.id in changing) if changing else ()


def _apart_from(other: Flow, flow: Flow) -> tuple[list[str], list[Connection]]:
    """Return nodes and connections of `flow`, without those at its beginning where it begins like `other`: mostly one
    of the two is the other with a turn at its end, and a flow may be long."""
    entries, edges = (min(map(len, both)) for both in ((flow.entries, other.entries), (flow.edges, other.edges)))
    if flow.entries[:entries] != other.entries[:entries] or flow.edges[:edges] != other.edges[:edges]:
        return flow.nodes, flow.connections
    rest = flow.edges[edges:]
    ends = {end for edge in rest for end in (edge.source, edge.target)}
    id_of = {entry.index: entry.id for entry in flow.entries if entry.index in ends} if ends else {}
    connections = [Connection(id_of[edge.source], id_of[edge.target], edge.branch) for edge in rest]
    return [entry.id for entry in flow.entries[entries:]], connections


def _without(items: Iterable[_Item], others: Iterable[_Item]) -> tuple[_Item, ...]:
    gone = set(others)
    return tuple(dict.fromkeys(item for item in items if item not in gone))
