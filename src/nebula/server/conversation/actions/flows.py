"""Actions on flows: list, read, change, connect, branch."""

from __future__ import annotations

from typing import Any

from nebula.graph.values import DEFAULT_FLOW, Connection, Flow
from nebula.server.conversation.actions.declared import Objects, Texts
from nebula.server.conversation.actions.nodes import node_json
from nebula.server.conversation.briefs import brief_flow
from nebula.server.conversation.context import Client, ServerContext, in_thread
from nebula.server.conversation.protocol import ActionError, ActionResult


def flow_result(flow: Flow) -> ActionResult:
    return ActionResult({"flow_id": flow.id} | flow.to_json())


async def list_flows(server: ServerContext, _: Client) -> ActionResult:
    """`unreadable` names the files of flows that are there but cannot be read."""
    flows = await in_thread(server.graph.list_flows)
    broken = await in_thread(server.graph.unreadable_flows)
    unreadable = [{"path": problem.path, "problem": problem.message} for problem in broken]
    return ActionResult(
        {"flows": [{"flow_id": flow.id} | brief_flow(flow) for flow in flows], "unreadable": unreadable}
    )


async def get_flow(
    server: ServerContext, _: Client, *, flow_id: str = DEFAULT_FLOW, compact: bool = False
) -> ActionResult:
    """`compact` spares a page megabytes: connections as pairs of places in the list of ids, and nothing else."""
    flow = await in_thread(server.graph.get_flow, flow_id)
    return ActionResult(written=await in_thread(server.compact_flows.written, flow)) if compact else flow_result(flow)


async def create_flow(server: ServerContext, _: Client, *, name: str, description: str = "") -> ActionResult:
    if not name.strip():
        raise ActionError("a flow needs a name")
    return flow_result(await server.edit(server.graph.create_flow, name, description))


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
    edited = await server.edit(
        server.graph.update_flow, flow.id, name=name, description=description, nodes=nodes, connections=wanted
    )
    return flow_result(edited)


def _connection(data: dict[str, Any]) -> Connection:
    source, target = data.get("source_id", data.get("source")), data.get("target_id", data.get("target"))
    branch = data.get("branch_name", data.get("branch"))
    if not isinstance(source, str) or not isinstance(target, str) or not isinstance(branch, str | None):
        raise ActionError("each of 'connections' needs 'source_id' and 'target_id', and may have 'branch_name'")
    return Connection(source, target, branch)


async def connect_nodes(
    server: ServerContext,
    _: Client,
    *,
    source_id: str,
    target_id: str,
    branch_name: str | None = None,
    flow_id: str = DEFAULT_FLOW,
) -> ActionResult:
    return flow_result(await server.edit(server.graph.connect_nodes, source_id, target_id, branch_name, flow_id))


async def disconnect_nodes(
    server: ServerContext, _: Client, *, source_id: str, target_id: str, flow_id: str = DEFAULT_FLOW
) -> ActionResult:
    return flow_result(await server.edit(server.graph.disconnect_nodes, source_id, target_id, flow_id))


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
    node = await server.edit(server.graph.create_branch, node_id, branch_name, prompt, response, flow=flow_id)
    return ActionResult(node_json(node) | {"branch_name": branch_name}, {"node_id": node.id})
