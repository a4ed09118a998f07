"""Actions on what a prompt continues: the path to a node, and the context made of it."""

from __future__ import annotations

from nebula.graph.context import preview
from nebula.graph.graph import Graph
from nebula.server.conversation.actions.declared import Texts
from nebula.server.conversation.context import Client, ServerContext, in_thread
from nebula.server.conversation.protocol import ActionError, ActionResult


async def get_history(server: ServerContext, _: Client, *, node_id: str, flow_id: str | None = None) -> ActionResult:
    return ActionResult({"node_ids": await in_thread(server.graph.history_ids, node_id, flow_id)})


async def preview_context(
    server: ServerContext,
    _: Client,
    *,
    node_ids: Texts,
    prompt: str = "",
    references: Texts | None = None,
    budget: int = preview.DEFAULT_BUDGET,
    flow_id: str | None = None,
) -> ActionResult:
    found = await in_thread(
        preview.preview_context,
        server.graph,
        node_ids,
        prompt,
        references=await in_thread(referenced_nodes, server.graph, references or []),
        budget=budget,
        flow=flow_id,
        model=server.settings.model,
        lang=server.settings.lang,
    )
    return ActionResult(found.to_json())


def referenced_nodes(graph: Graph, references: Texts) -> list[str]:
    """Ids of the nodes that are named by id, a unique beginning of it, or `#tag`. Raises NotFound, AmbiguousId, or
    ActionError for an unknown tag."""
    found: list[str] = []
    for reference in references:
        if not reference.startswith("#"):
            found.append(graph.resolve_id(reference.removeprefix("@")))
            continue
        tagged = graph.search_nodes(tags=[reference[1:]])
        if not tagged:
            raise ActionError("no node has the tag {tag}", code="not_found", tag=reference)
        found += [node.id for node in tagged]
    return list(dict.fromkeys(found))
