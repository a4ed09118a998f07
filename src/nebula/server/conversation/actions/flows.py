"""Actions on flows: list, read, change, connect, branch."""

from __future__ import annotations

from typing import Final

from nebula.graph.values import DEFAULT_FLOW, Connection, Flow
from nebula.server.conversation.actions.nodes import node_json
from nebula.server.conversation.briefs import brief_flow, compact_flow
from nebula.server.conversation.context import Action, Client, ServerContext, in_thread
from nebula.server.conversation.protocol import ActionError, ActionResult, Data
from nebula.server.conversation.served_graph import ServedGraph


def flow_answer(flow: Flow) -> ActionResult:
    return ActionResult({"flow_id": flow.id} | flow.to_json())


async def list_flows(server: ServerContext, _: Client, __: Data) -> ActionResult:
    flows = await in_thread(server.graph.list_flows)
    return ActionResult({"flows": [{"flow_id": flow.id} | brief_flow(flow) for flow in flows]})


async def get_flow(server: ServerContext, _: Client, data: Data) -> ActionResult:
    """`compact` spares a page megabytes: connections as pairs of places in the list of ids, and nothing else."""
    flow = await in_thread(server.graph.get_flow, data.text("flow_id", DEFAULT_FLOW))
    return ActionResult(await in_thread(compact_flow, flow)) if data.flag("compact") else flow_answer(flow)


async def create_flow(server: ServerContext, _: Client, data: Data) -> ActionResult:
    name = data.text("name")
    if not name.strip():
        raise ActionError("bad_request", "a flow needs a name")
    return flow_answer(await in_thread(server.graph.create_flow, name, data.text("description", "")))


async def update_flow(server: ServerContext, _: Client, data: Data) -> ActionResult:
    """`nodes` alone makes the flow the chain of these; with `connections`, exactly those nodes and connections."""
    flow_id = data.text("flow_id", DEFAULT_FLOW)
    nodes = data.optional_texts("nodes")
    connections = [_connection(each) for each in data.objects("connections")] if data.has("connections") else None
    words = {key: data.text(key) for key in ("name", "description") if data.has(key)}
    if not words and nodes is None and connections is None:
        raise ActionError("bad_request", "say what to change: 'name', 'description', 'nodes' (ids), 'connections'")
    flow = await in_thread(server.graph.get_flow, flow_id)
    if connections is not None:
        flow = await in_thread(_rewire, server.graph, flow.id, nodes, connections)
    elif nodes is not None:
        flow = await in_thread(server.graph.rebuild_flow, flow.id, nodes)
    if words:
        flow = await in_thread(server.graph.update_flow, flow.id, **words)
    return flow_answer(flow)


def _connection(data: Data) -> Connection:
    source = data.optional_text("source_id") or data.text("source")
    target = data.optional_text("target_id") or data.text("target")
    return Connection(source, target, data.optional_text("branch_name") or data.optional_text("branch"))


def _rewire(graph: ServedGraph, flow_id: str, nodes: list[str] | None, wanted: list[Connection]) -> Flow:
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
        raise ActionError("cycle_detected", "these connections close a circle, and a flow has no cycles")


async def connect_nodes(server: ServerContext, _: Client, data: Data) -> ActionResult:
    branch, flow = data.optional_text("branch_name"), data.text("flow_id", DEFAULT_FLOW)
    source, target = data.text("source_id"), data.text("target_id")
    return flow_answer(await in_thread(server.graph.connect_nodes, source, target, branch, flow))


async def disconnect_nodes(server: ServerContext, _: Client, data: Data) -> ActionResult:
    source, target = data.text("source_id"), data.text("target_id")
    flow = data.text("flow_id", DEFAULT_FLOW)
    return flow_answer(await in_thread(server.graph.disconnect_nodes, source, target, flow))


async def create_branch(server: ServerContext, _: Client, data: Data) -> ActionResult:
    """A new node behind `node_id`, on a connection of that name."""
    node = await in_thread(
        server.graph.create_node,
        data.text("prompt", ""),
        data.text("response", ""),
        flow=data.text("flow_id", DEFAULT_FLOW),
        parents=[data.text("node_id")],
        branch=data.text("branch_name"),
    )
    return ActionResult(node_json(node) | {"branch_name": data.text("branch_name")}, {"node_id": node.id})


ACTIONS: Final = {
    "list_flows": Action(list_flows),
    "get_flow": Action(get_flow),
    "create_flow": Action(create_flow),
    "update_flow": Action(update_flow),
    "connect_nodes": Action(connect_nodes),
    "disconnect_nodes": Action(disconnect_nodes),
    "create_branch": Action(create_branch),
}
