"""Actions on flows: list, read, change, connect, branch."""

from __future__ import annotations

from typing import Any

from nebula.graph.graph import Graph
from nebula.graph.values import DEFAULT_FLOW, Connection, Flow
from nebula.server.conversation.actions.declared import Objects, Texts
from nebula.server.conversation.actions.nodes import node_json
from nebula.server.conversation.briefs import brief_flow, compact_flow
from nebula.server.conversation.context import Client, ServerContext, in_thread
from nebula.server.conversation.protocol import ActionError, ActionResult


def flow_result(flow: Flow) -> ActionResult:
    return ActionResult({"flow_id": flow.id} | flow.to_json())


async def list_flows(server: ServerContext, _: Client) -> ActionResult:
    flows = await in_thread(server.graph.list_flows)
    return ActionResult({"flows": [{"flow_id": flow.id} | brief_flow(flow) for flow in flows]})


async def get_flow(
    server: ServerContext, _: Client, *, flow_id: str = DEFAULT_FLOW, compact: bool = False
) -> ActionResult:
    """`compact` spares a page megabytes: connections as pairs of places in the list of ids, and nothing else."""
    flow = await in_thread(server.graph.get_flow, flow_id)
    return ActionResult(await in_thread(compact_flow, flow)) if compact else flow_result(flow)


async def create_flow(server: ServerContext, _: Client, *, name: str, description: str = "") -> ActionResult:
    if not name.strip():
        raise ActionError("a flow needs a name")
    return flow_result(await in_thread(server.graph.create_flow, name, description))


async def update_flow(
    server: ServerContext,
    _: Client,
    *,
    flow_id: str = DEFAULT_FLOW,
    name: str | None = None,
    description: str | None = None,
    nodes: Texts | None = None,
    connections: Objects | None = None,
) -> ActionResult:
    """`nodes` alone makes the flow the chain of these; with `connections`, exactly those nodes and connections."""
    if name is None and description is None and nodes is None and connections is None:
        raise ActionError("say what to change: 'name', 'description', 'nodes' (ids), 'connections'")
    wanted = [_connection(each) for each in connections] if connections is not None else None
    flow = await in_thread(server.graph.get_flow, flow_id)
    if wanted is not None:
        flow = await in_thread(_rewire, server.graph, flow.id, nodes, wanted)
    elif nodes is not None:
        flow = await in_thread(server.graph.rebuild_flow, flow.id, nodes)
    if name is not None or description is not None:
        flow = await in_thread(server.graph.update_flow, flow.id, name=name, description=description)
    return flow_result(flow)


def _connection(data: dict[str, Any]) -> Connection:
    source, target = data.get("source_id", data.get("source")), data.get("target_id", data.get("target"))
    branch = data.get("branch_name", data.get("branch"))
    if not isinstance(source, str) or not isinstance(target, str) or not isinstance(branch, str | None):
        raise ActionError("each of 'connections' needs 'source_id' and 'target_id', and may have 'branch_name'")
    return Connection(source, target, branch)


def _rewire(graph: Graph, flow_id: str, nodes: list[str] | None, wanted: list[Connection]) -> Flow:
    flow = graph.get_flow(flow_id)
    wished = list(dict.fromkeys(nodes)) if nodes is not None else flow.nodes
    members = set(wished) | {end for each in wanted for end in (each.source, each.target)}
    for node_id in members:
        graph.get_node(node_id)
    _refuse_circle(wanted)
    for node_id in flow.nodes:
        if node_id not in members:
            flow = graph.remove_node_from_flow(flow.id, node_id)
    for node_id in wished:
        if node_id not in flow.nodes:
            flow = graph.add_node_to_flow(flow.id, node_id)
    keep = set(wanted)
    for old in flow.connections:
        if old not in keep:
            flow = graph.disconnect_nodes(old.source, old.target, flow.id)
    for new in wanted:
        flow = graph.connect_nodes(new.source, new.target, new.branch, flow.id)
    return flow


def _refuse_circle(connections: list[Connection]) -> None:
    """Before anything is changed: a flow must not be left half rewired."""
    open_ends: dict[str, int] = {}
    children: dict[str, list[str]] = {}
    for each in connections:
        children.setdefault(each.source, []).append(each.target)
        open_ends.setdefault(each.source, 0)
        open_ends[each.target] = open_ends.get(each.target, 0) + 1
    ready = [node for node, count in open_ends.items() if count == 0]
    done = 0
    while ready:
        done += 1
        for child in children.get(ready.pop(), ()):
            open_ends[child] -= 1
            if open_ends[child] == 0:
                ready.append(child)
    if done < len(open_ends):
        raise ActionError("these connections close a circle, and a flow has no cycles", code="cycle_detected")


async def connect_nodes(
    server: ServerContext,
    _: Client,
    *,
    source_id: str,
    target_id: str,
    branch_name: str | None = None,
    flow_id: str = DEFAULT_FLOW,
) -> ActionResult:
    return flow_result(await in_thread(server.graph.connect_nodes, source_id, target_id, branch_name, flow_id))


async def disconnect_nodes(
    server: ServerContext, _: Client, *, source_id: str, target_id: str, flow_id: str = DEFAULT_FLOW
) -> ActionResult:
    return flow_result(await in_thread(server.graph.disconnect_nodes, source_id, target_id, flow_id))


async def create_branch(
    server: ServerContext,
    _: Client,
    *,
    node_id: str,
    branch_name: str,
    prompt: str = "",
    response: str = "",
    flow_id: str = DEFAULT_FLOW,
) -> ActionResult:
    """A new node behind `node_id`, on a connection of that name."""
    node = await in_thread(server.graph.create_branch, node_id, branch_name, prompt, response, flow=flow_id)
    return ActionResult(node_json(node) | {"branch_name": branch_name}, {"node_id": node.id})
