"""The graph as a server holds it: one for everybody, and each turn goes into the flow it was asked for."""

from __future__ import annotations

from typing import Any

from nebula.graph.errors import NotFound
from nebula.graph.manager import Graph
from nebula.graph.values import DEFAULT_FLOW, Flow, Node


class ServedGraph(Graph):
    def __init__(self, data_dir: str) -> None:
        super().__init__(data_dir)
        self._places: dict[str, str] = {}

    def place_turn(self, node_id: str, flow: str) -> None:
        """The node of that id, when a turn becomes it, belongs into this flow."""
        self._places[node_id] = flow

    def add_turn(self, *, node_id: str | None = None, **turn: Any) -> Node:
        flow = self._places.pop(node_id, None) if node_id else None
        return super().add_turn(node_id=node_id, **(turn | {"flow": flow} if flow else turn))

    def flow_of(self, node_id: str) -> str:
        """The flow a continuation of this node goes into: `main` if the node is there, else the first that has it."""
        flows = self.list_flows()
        flows.sort(key=lambda flow: flow.name != DEFAULT_FLOW)
        return next((flow.id for flow in flows if node_id in flow.nodes), DEFAULT_FLOW)

    def find_flow(self, flow: str) -> Flow | None:
        """None only for the default flow, which need not be there yet."""
        try:
            return self.get_flow(flow)
        except NotFound:
            if flow == DEFAULT_FLOW:
                return None
            raise
