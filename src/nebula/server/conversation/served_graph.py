"""The graph as a server holds it: one for everybody, with the questions that only a server asks."""

from __future__ import annotations

from nebula.graph.errors import NotFound
from nebula.graph.graph import Graph
from nebula.graph.values import DEFAULT_FLOW, Flow


class ServedGraph(Graph):
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
