"""A change of the graph as JSON, so that another process can carry it out: every value is the list of its fields."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from nebula.graph.flows.change import FlowChange, GraphChange, NodeEdit
from nebula.graph.values import Connection, Edge, Flow, FlowEntry, Node, row_of


def dump_changes(changes: Sequence[GraphChange]) -> str:
    return json.dumps(changes, default=row_of, ensure_ascii=False, separators=(",", ":"))


def load_changes(text: str) -> list[GraphChange]:
    """Return what `dump_changes` wrote. Raises ValueError or TypeError for anything else."""
    return [_change(*row) for row in json.loads(text)]


def _change(
    create: Any, edit: Any, remove: Any, take_back: Any, flows: Any, create_flows: Any, remove_flows: Any
) -> GraphChange:
    return GraphChange(
        create=_nodes(create),
        edit=tuple(NodeEdit(*_nodes(pair)) for pair in edit),
        remove=tuple(remove),
        take_back=_nodes(take_back),
        flows=tuple(_flow_change(*row) for row in flows),
        create_flows=tuple(_flow(*row) for row in create_flows),
        remove_flows=tuple(_flow(*row) for row in remove_flows),
    )


def _nodes(rows: Iterable[list[Any]]) -> tuple[Node, ...]:
    return tuple(map(Node.from_row, rows))


def _flow_change(*row: Any) -> FlowChange:
    given = dict(zip(FlowChange.__match_args__, row, strict=True))
    for name in ("add", "drop", "leave"):
        given[name] = tuple(given[name])
    for name in ("connect", "disconnect", "release"):
        given[name] = tuple(Connection(*each) for each in given[name])
    for name in ("opens", "opened"):
        given[name] = tuple((node, flow) for node, flow in given[name])
    given["like"] = _flow(*given["like"]) if given["like"] else None
    return FlowChange(**given)


def _flow(known: str, name: str, created: str, updated: str, description: str, *parts: Any) -> Flow:
    entries, edges, archived = parts
    places, links = tuple(FlowEntry(*row) for row in entries), tuple(Edge(*row) for row in edges)
    return Flow(known, name, created, updated, description, places, links, archived)
