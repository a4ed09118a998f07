"""Actions on flows: list, read, change, connect, branch."""

from __future__ import annotations

from typing import Any

from nebula.exchange.export.excerpt import choose_excerpt, redact_excerpt
from nebula.graph.values import DEFAULT_FLOW, Connection, Flow
from nebula.messages.redaction import Redactor
from nebula.server.conversation.actions.declared import Objects, Texts
from nebula.server.conversation.actions.nodes import node_json
from nebula.server.conversation.briefs import brief_flow
from nebula.server.conversation.context import Client, ServerContext, in_thread
from nebula.server.conversation.protocol import ActionError, ActionResult


def flow_result(flow: Flow) -> ActionResult:
    return ActionResult({"flow_id": flow.id} | flow.to_json())


async def list_flows(server: ServerContext, _: Client) -> ActionResult:
    """Return all flows; `unreadable` names the files of flows that cannot be read."""
    flows = await in_thread(server.graph.list_flows)
    broken = await in_thread(server.graph.unreadable_flows)
    if broken:
        server.watch.note_shown(flows)
    unreadable = [{"path": problem.path, "problem": problem.message} for problem in broken]
    return ActionResult(
        {"flows": [{"flow_id": flow.id} | brief_flow(flow) for flow in flows], "unreadable": unreadable}
    )


async def get_flow(
    server: ServerContext, _: Client, *, flow_id: str = DEFAULT_FLOW, compact: bool = False
) -> ActionResult:
    """Return a flow. `compact` saves a page megabytes: connections as indexes into the list of ids, alternating from
    and to, and which first prompts are further tries of another."""
    if compact:
        return ActionResult(written=await in_thread(server.compact_flows.write, server.graph, flow_id))
    return flow_result(await in_thread(server.graph.get_flow, flow_id))


async def create_flow(server: ServerContext, client: Client, *, name: str, description: str = "") -> ActionResult:
    if not name.strip():
        raise ActionError("a flow needs a name")
    return flow_result(await client.edit(server.graph.create_flow, name, description))


async def update_flow(
    server: ServerContext,
    client: Client,
    *,
    flow_id: str = DEFAULT_FLOW,
    name: str | None = None,
    description: str | None = None,
    nodes: Texts | None = None,
    connections: Objects | None = None,
    archived: bool | None = None,
) -> ActionResult:
    """Change a flow. `nodes` alone makes it a chain of these; with `connections`, it has exactly those nodes and
    connections."""
    if all(each is None for each in (name, description, nodes, connections, archived)):
        raise ActionError("say what to change: 'name', 'description', 'nodes' (ids), 'connections', 'archived'")
    wanted = [_connection(each) for each in connections] if connections is not None else None
    flow = await in_thread(server.graph.get_flow, flow_id)
    edited = await client.edit(
        server.graph.update_flow,
        flow.id,
        name=name,
        description=description,
        nodes=nodes,
        connections=wanted,
        archived=archived,
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
    client: Client,
    *,
    source_id: str,
    target_id: str,
    branch_name: str | None = None,
    flow_id: str = DEFAULT_FLOW,
) -> ActionResult:
    return flow_result(await client.edit(server.graph.connect_nodes, source_id, target_id, branch_name, flow_id))


async def disconnect_nodes(
    server: ServerContext, client: Client, *, source_id: str, target_id: str, flow_id: str = DEFAULT_FLOW
) -> ActionResult:
    return flow_result(await client.edit(server.graph.disconnect_nodes, source_id, target_id, flow_id))


async def create_branch(
    server: ServerContext,
    client: Client,
    *,
    node_id: str,
    branch_name: str,
    prompt: str = "",
    response: str = "",
    flow_id: str = DEFAULT_FLOW,
) -> ActionResult:
    """Make a new node after `node_id`, on a branch of that name."""
    node = await client.edit(server.graph.create_branch, node_id, branch_name, prompt, response, flow=flow_id)
    return ActionResult(node_json(node) | {"branch_name": branch_name}, {"node_id": node.id})


async def delete_flow(server: ServerContext, client: Client, *, flow_id: str) -> ActionResult:
    """Delete a flow; its nodes stay."""
    flow = await in_thread(server.graph.get_flow, flow_id)
    await client.edit(server.graph.delete_flow, flow.id)
    return ActionResult({"flow_id": flow.id, "name": flow.name})


async def move_branch(
    server: ServerContext, client: Client, *, node_id: str, to: str, flow_id: str = DEFAULT_FLOW, copy: bool = False
) -> ActionResult:
    """Move a node, and all that follows from it alone, into the flow `to`; with `copy` they also stay where they
    are."""
    goal = await in_thread(server.graph.get_flow, to)
    moved = await client.edit(server.graph.move_branch, node_id, goal.id, flow_id, copy=copy)
    return ActionResult({"flow_id": goal.id, "node_ids": moved})


async def nest_branch(
    server: ServerContext, client: Client, *, node_id: str, name: str, flow_id: str = DEFAULT_FLOW
) -> ActionResult:
    """Move all that follows from a node alone into a new flow, which the node opens from then on."""
    if not name.strip():
        raise ActionError("a flow needs a name")
    return flow_result(await client.edit(server.graph.nest_branch, node_id, name, flow_id))


async def link_flow(
    server: ServerContext, client: Client, *, node_id: str, to: str = "", flow_id: str = DEFAULT_FLOW
) -> ActionResult:
    """Make a node open the flow `to`; if that is empty it opens none."""
    return flow_result(await client.edit(server.graph.link_flow, node_id, to, flow_id))


async def add_to_flow(
    server: ServerContext, client: Client, *, node_id: str, flow_id: str = DEFAULT_FLOW
) -> ActionResult:
    """Add a node to a flow, unconnected."""
    return flow_result(await client.edit(server.graph.add_node_to_flow, flow_id, node_id))


async def name_branch(
    server: ServerContext,
    client: Client,
    *,
    source_id: str,
    target_id: str,
    branch_name: str,
    flow_id: str = DEFAULT_FLOW,
) -> ActionResult:
    return flow_result(await client.edit(server.graph.name_branch, source_id, target_id, branch_name, flow_id))


async def count_flow(server: ServerContext, _: Client, *, flow_id: str = DEFAULT_FLOW) -> ActionResult:
    """Return the totals of a flow: turns, conversations, tokens, cost, models and tags."""
    return ActionResult((await in_thread(server.graph.count_flow, flow_id)).to_json())


async def export_branch(server: ServerContext, client: Client, *, node_id: str) -> ActionResult:
    """Return the turns that lead to a node as one page, to read and to share; secrets are marked."""

    def write() -> dict[str, Any]:
        from nebula.exchange.export.page import write_page

        chosen = choose_excerpt(server.graph, node_id, branch=True)
        excerpt, marks = redact_excerpt(chosen, Redactor(server.settings.secrets))
        return {"html": write_page(excerpt, client.lang), "marks": marks, "turns": len(excerpt.nodes)}

    return ActionResult(await in_thread(write))
