"""Actions on nodes: make, read, change, remove, find, summarise."""

from __future__ import annotations

from typing import Any, Final

from nebula.graph.context.preview import DEFAULT_BUDGET, preview_context
from nebula.graph.errors import BadFile, NotFound
from nebula.graph.summaries.build import BuildReport, build
from nebula.graph.values import DEFAULT_FLOW, Node
from nebula.llm.choose import choose_model
from nebula.llm.errors import ModelError
from nebula.server.conversation.briefs import brief_node
from nebula.server.conversation.context import Action, Client, ServerContext, in_thread
from nebula.server.conversation.protocol import ActionError, ActionResult, Data

MAX_NODES_AT_ONCE: Final = 500
MAX_FOUND: Final = 1000


def node_json(node: Node) -> dict[str, Any]:
    return {"node_id": node.id} | node.to_json()


async def create_node(server: ServerContext, _: Client, data: Data) -> ActionResult:
    node = await in_thread(
        server.graph.create_node,
        data.text("prompt"),
        data.text("response", ""),
        tags=data.texts("tags"),
        model=data.text("model", ""),
        summary=data.text("summary", ""),
        flow=data.text("flow_id", DEFAULT_FLOW),
        parents=data.texts("parents"),
        branch=data.optional_text("branch_name"),
    )
    return ActionResult(node_json(node), {"node_id": node.id})


async def get_node(server: ServerContext, _: Client, data: Data) -> ActionResult:
    return ActionResult(node_json(await in_thread(server.graph.get_node, data.text("node_id"))))


async def get_nodes(server: ServerContext, _: Client, data: Data) -> ActionResult:
    """Titles and the like of many nodes, for lists; those that are not there are left out."""
    node_ids = data.texts("node_ids")
    if len(node_ids) > MAX_NODES_AT_ONCE:
        raise ActionError("bad_request", f"ask for {MAX_NODES_AT_ONCE} nodes at a time")

    def read() -> list[dict[str, Any]]:
        found = []
        for node_id in node_ids:
            try:
                found.append(brief_node(server.graph.get_node(node_id)))
            except (NotFound, BadFile):
                continue
        return found

    return ActionResult({"nodes": await in_thread(read)})


async def update_node(server: ServerContext, _: Client, data: Data) -> ActionResult:
    node = await in_thread(
        server.graph.update_node,
        data.text("node_id"),
        prompt=data.optional_text("prompt"),
        response=data.optional_text("response"),
        tags=data.optional_texts("tags"),
    )
    return ActionResult(node_json(node))


async def delete_node(server: ServerContext, _: Client, data: Data) -> ActionResult:
    node_id = data.text("node_id")
    await in_thread(server.graph.delete_node, node_id)
    return ActionResult({"node_id": node_id})


async def search_nodes(server: ServerContext, _: Client, data: Data) -> ActionResult:
    nodes = await in_thread(
        server.graph.search_nodes,
        tags=data.texts("tags"),
        keywords=data.texts("keywords"),
        text=data.text("text", ""),
        limit=data.number("limit", MAX_FOUND) or MAX_FOUND,
    )
    shown = brief_node if data.flag("brief") else node_json
    return ActionResult({"nodes": [shown(node) for node in nodes]})


async def list_tags(server: ServerContext, _: Client, __: Data) -> ActionResult:
    counts = await in_thread(server.graph.list_tags)
    return ActionResult({"tags": list(counts), "counts": counts})


async def get_history(server: ServerContext, _: Client, data: Data) -> ActionResult:
    node_id, flow = data.text("node_id"), data.optional_text("flow_id")
    return ActionResult({"node_ids": await in_thread(server.graph.history_ids, node_id, flow)})


async def show_context(server: ServerContext, _: Client, data: Data) -> ActionResult:
    preview = await in_thread(
        preview_context,
        server.graph,
        data.texts("node_ids"),
        data.text("prompt", ""),
        budget=data.number("budget", DEFAULT_BUDGET),
        flow=data.optional_text("flow_id"),
        model=server.settings.model,
        lang=server.settings.lang,
    )
    return ActionResult(preview.to_json())


async def build_summaries(server: ServerContext, _: Client, data: Data) -> ActionResult:
    """By the configured model; where none can be reached, extracts are made, marked as such."""
    node_ids = data.optional_texts("node_ids")
    if data.has("node_id"):
        node_ids = [data.text("node_id")]
    for node_id in node_ids or ():
        await in_thread(server.graph.get_node, node_id)
    everything = data.flag("all")
    try:
        chosen = await choose_model(server.settings)
    except ModelError:
        return _built(await build(server.graph, all=everything, node_ids=node_ids))
    try:
        return _built(await build(server.graph, all=everything, node_ids=node_ids, model=chosen))
    finally:
        await chosen.connector.aclose()


def _built(report: BuildReport) -> ActionResult:
    failed = [{"node_id": each.node_id, "error": each.error} for each in report.failed]
    built = [each.node_id for each in report.built]
    return ActionResult({"built": built, "failed": failed, "not_tried": report.not_tried, "stopped": report.stopped})


ACTIONS: Final = {
    "create_node": Action(create_node),
    "get_node": Action(get_node),
    "get_nodes": Action(get_nodes),
    "update_node": Action(update_node),
    "delete_node": Action(delete_node),
    "search_nodes": Action(search_nodes),
    "list_tags": Action(list_tags),
    "get_history": Action(get_history),
    "preview_context": Action(show_context),
    "build": Action(build_summaries, takes_long=True),
}
