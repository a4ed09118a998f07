"""What can be done with flows: make, name, archive and delete them, connect their nodes, move and nest branches."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.graph.commit import Commit
from nebula.graph.errors import BadRequest, NotFound, require_texts
from nebula.graph.flows.change import FlowChange, GraphChange, difference
from nebula.graph.flows.statistics import FlowStatistics, count_flow
from nebula.graph.flows.topology import branch_of, new_flow, rebuilt, rewired
from nebula.graph.reader import GraphReader
from nebula.graph.values import DEFAULT_FLOW, Connection, Flow, several
from nebula.value import replace


class FlowEditor(GraphReader):
    """A data folder in the seed's layout, with what changes its flows."""

    def _change_flow(self, change: FlowChange) -> Flow:
        with self._store.writing():
            Commit(self._store, GraphChange(flows=(change,))).run()
            return self._store.flows.get(change.flow if change.name is None else change.name).flow

    def create_flow(self, name: str, description: str = "") -> Flow:
        """Make a new, empty flow, and return it; one of that name that is there already is returned as it is."""
        with self._store.writing():
            found = self._store.flows.find(name)
            if found:
                return found.flow
            made = new_flow(name, description)
            Commit(self._store, GraphChange(create_flows=(made,))).run()
            return self._store.flows.get(made.id).flow

    def update_flow(
        self,
        flow: str,
        *,
        name: str | None = None,
        description: str | None = None,
        nodes: Sequence[str] | None = None,
        connections: Sequence[Connection] | None = None,
        archived: bool | None = None,
    ) -> Flow:
        """Change what is given, in one step. With `connections` the flow holds exactly `nodes` (None: those it has)
        and these; `nodes` alone makes it the chain of these, in this order. `archived` keeps it out of lists."""
        with self._store.writing():
            is_only_named = nodes is None and connections is None
            before = (self._store.flows.get if is_only_named else self._store.flow_for_writing)(flow).flow
            after = before
            if connections is not None:
                after = rewired(before, nodes, connections)
            elif nodes is not None:
                after = rebuilt(before, several(nodes))
            marked = {"name": name, "description": description, "archived": archived}
            after = replace(after, **{key: each for key, each in marked.items() if each is not None})
            return self._change_flow(replace(difference(before, after), flow=flow))

    def delete_flow(self, flow: str) -> None:
        """Remove a flow; its nodes stay, and `list_nodes_outside` has those that are in no other. Raises NotFound."""
        with self._store.writing():
            Commit(self._store, GraphChange(remove_flows=(self._store.flows.get(flow).flow,))).run()

    def move_branch(self, node_id: str, to: str, flow: str = DEFAULT_FLOW, *, copy: bool = False) -> list[str]:
        """Put a node and all that follows from it alone into another flow, with the connections between them, in one
        step; with `copy` they stay in this one, too. Return their ids; raises NotFound and BadRequest."""
        with self._store.writing():
            source, goal = self._store.flows.get(flow).flow, self._store.flows.get(to).flow
            if source.id == goal.id:
                raise BadRequest("the branch is in flow {flow} already", flow=repr(goal.name))
            ids = branch_of(source, node_id)
            inner = tuple(c for c in source.connections if c.source in ids and c.target in ids)
            changes = [FlowChange(goal.id, add=tuple(ids), connect=inner)]
            changes += [] if copy else [FlowChange(source.id, drop=tuple(ids))]
            Commit(self._store, GraphChange(flows=tuple(changes))).run()
        return ids

    def nest_branch(self, node_id: str, name: str, flow: str = DEFAULT_FLOW) -> Flow:
        """Put all that follows from a node alone into a new flow of that name, which begins with the node; here the
        node stands for all of it, and opens it. One step. Raises NotFound, and BadRequest where the name is taken."""
        require_texts(name=name)
        with self._store.writing():
            source = self._store.flows.get(flow).flow
            ids = branch_of(source, node_id)
            inner = [c for c in source.connections if c.source in ids and c.target in ids]
            made = rewired(new_flow(name), ids, inner)
            followers = tuple(each for each in ids if each != node_id)
            here = FlowChange(source.id, drop=followers, opens=((node_id, made.id),))
            Commit(self._store, GraphChange(flows=(here,), create_flows=(made,))).run()
            return self._store.flows.get(made.id).flow

    def link_flow(self, node_id: str, to: str, flow: str = DEFAULT_FLOW) -> Flow:
        """Make a node open another flow; an empty `to` makes it open none. Raises NotFound and BadRequest."""
        with self._store.writing():
            source = self._store.flows.get(flow).flow
            goal = self._store.flows.get(to).flow.id if to else ""
            if goal == source.id:
                raise BadRequest("a flow cannot be its own sub-flow")
            if node_id not in source.nodes:
                raise NotFound("flow {flow} has no node {node}", flow=repr(source.name), node=node_id)
            return self._change_flow(FlowChange(source.id, opens=((node_id, goal),)))

    def name_branch(self, source_id: str, target_id: str, name: str, flow: str = DEFAULT_FLOW) -> Flow:
        """Name the connection between two nodes; an empty name takes it away. Raises NotFound when there is none."""
        require_texts(name=name)
        with self._store.writing():
            connections = self._store.flows.get(flow).flow.connections
            if not any((c.source, c.target) == (source_id, target_id) for c in connections):
                raise NotFound(
                    "flow {flow} has no connection from {source} to {target}",
                    flow=repr(flow),
                    source=source_id,
                    target=target_id,
                )
            named = Connection(source_id, target_id, name or None)
            wanted = [named if (c.source, c.target) == (source_id, target_id) else c for c in connections]
            return self.update_flow(flow, connections=wanted)

    def count_flow(self, flow: str = DEFAULT_FLOW) -> FlowStatistics:
        """Return what a flow comes to: turns, conversations, tokens, cost, models and tags. Raises NotFound."""
        found = self.get_flow(flow)
        return count_flow(found, self._readable(found.nodes))

    def add_node_to_flow(self, flow: str, node_id: str) -> Flow:
        """Put a node into a flow, unconnected; one that is in it already stays as it is."""
        return self._change_flow(FlowChange(flow, add=(node_id,)))

    def remove_node_from_flow(self, flow: str, node_id: str) -> Flow:
        """Take a node and its connections out of a flow; the node itself stays. Raises NotFound."""
        return self._change_flow(FlowChange(flow, drop=(node_id,)))

    def connect_nodes(
        self, source_id: str, target_id: str, branch_name: str | None = None, flow: str = DEFAULT_FLOW
    ) -> Flow:
        """Make the target follow the source. Raises CycleError; a connection already there is left as it is."""
        return self._change_flow(FlowChange(flow, connect=(Connection(source_id, target_id, branch_name),)))

    def disconnect_nodes(self, source_id: str, target_id: str, flow: str = DEFAULT_FLOW) -> Flow:
        """Take away that one connection. Raises NotFound when there is none."""
        return self._change_flow(FlowChange(flow, disconnect=(Connection(source_id, target_id),)))

    def rebuild_flow(self, flow: str, node_ids: Sequence[str]) -> Flow:
        """Make the flow the chain of exactly these nodes, in this order."""
        return self.update_flow(flow, nodes=several(node_ids))
