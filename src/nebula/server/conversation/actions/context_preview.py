"""Actions on what a prompt would continue: the path to a node, and the context built from it."""

from __future__ import annotations

from nebula.graph.context.path import flow_of
from nebula.graph.context.references import referenced_nodes
from nebula.graph.errors import NotFound
from nebula.graph.graph import Graph
from nebula.graph.values import DEFAULT_FLOW
from nebula.server.conversation.actions.attached import attachments_of
from nebula.server.conversation.actions.declared import Objects, Texts
from nebula.server.conversation.context import Client, ServerContext, in_thread
from nebula.server.conversation.protocol import ActionResult
from nebula.server.conversation.turns.agent import Job


async def get_history(server: ServerContext, _: Client, *, node_id: str, flow_id: str | None = None) -> ActionResult:
    return ActionResult({"node_ids": await in_thread(server.graph.history_ids, node_id, flow_id)})


async def preview_context(
    server: ServerContext,
    _: Client,
    *,
    node_ids: Texts,
    prompt: str = "",
    references: Texts | None = None,
    flow_id: str | None = None,
    mode: str | None = None,
    without: Texts | None = None,
    model: str = "",
    images: Objects | None = None,
    files: Objects | None = None,
) -> ActionResult:
    """Return exactly what would be sent with a prompt that continues from these nodes, and what its tokens cost."""
    attached = await attachments_of(images, files)
    beside = await in_thread(referenced_nodes, server.graph, references or [])
    flow, name = await in_thread(place_of, server.graph, node_ids, flow_id)
    job = Job(
        prompt,
        tuple(dict.fromkeys(node_ids)),
        flow,
        name,
        mode or server.modes[0],
        references=tuple(beside),
        without=tuple(without or ()),
        model=model,
        attachments=attached,
    )
    return ActionResult((await server.runner.preview(job)).to_json())


def place_of(graph: Graph, parents: list[str], wanted: str | None) -> tuple[str, str]:
    """Return id and name of the flow for a turn that continues these nodes: by default `main` if the first of them is
    in it, else any flow that has that node. Raises NotFound, but not for `main`, which need not exist yet."""
    for node_id in parents:
        graph.get_node(node_id)
    home = flow_of(graph, parents[0]) if wanted is None and parents else None
    try:
        flow = home or graph.get_flow(wanted or DEFAULT_FLOW)
    except NotFound:
        if wanted not in (None, DEFAULT_FLOW):
            raise
        return DEFAULT_FLOW, DEFAULT_FLOW
    return flow.id, flow.name
