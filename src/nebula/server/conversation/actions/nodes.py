"""Actions on nodes: make, read, change, remove, find, summarise."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any, Final

from nebula.graph.ids import sort_key
from nebula.graph.summaries.build import BuildReport
from nebula.graph.summaries.build import build as build_summaries
from nebula.graph.values import DEFAULT_FLOW, Node
from nebula.language import Sentence
from nebula.llm.choose import choose_model
from nebula.llm.errors import ModelError
from nebula.server.conversation.actions.declared import Texts
from nebula.server.conversation.briefs import brief_node
from nebula.server.conversation.context import Client, ServerContext, in_thread
from nebula.server.conversation.protocol import ActionError, ActionResult

MAX_NODES_AT_ONCE: Final = 500
MAX_FOUND: Final = 1000
LONGEST_WAIT_S: Final = 600.0


def node_json(node: Node) -> dict[str, Any]:
    return {"node_id": node.id} | node.to_json()


async def create_node(
    server: ServerContext,
    client: Client,
    *,
    prompt: str,
    response: str = "",
    tags: Texts | None = None,
    model: str = "",
    summary: str = "",
    flow_id: str = DEFAULT_FLOW,
    parents: Texts | None = None,
    branch_name: str | None = None,
) -> ActionResult:
    node = await client.edit(
        server.graph.create_node,
        prompt,
        response,
        tags=tags or [],
        model=model,
        summary=summary,
        flow=flow_id,
        parents=parents or [],
        branch=branch_name,
    )
    return ActionResult(node_json(node), {"node_id": node.id})


async def get_node(server: ServerContext, _: Client, *, node_id: str) -> ActionResult:
    """Return a node. `beside` are the tries of a first prompt, oldest first, if there are several and they have been
    read by now."""

    def read() -> dict[str, Any]:
        node = server.graph.get_node(node_id)
        tries = server.graph.list_tries(node, wait=False)
        return node_json(node) | ({"beside": tries} if len(tries) > 1 else {})

    return ActionResult(await in_thread(read))


async def get_nodes(server: ServerContext, _: Client, *, node_ids: Texts) -> ActionResult:
    """Return many nodes in short form, for lists. Missing nodes are left out; nodes whose file cannot be read say
    so."""
    if len(node_ids) > MAX_NODES_AT_ONCE:
        raise ActionError("ask for {count} nodes at a time", count=MAX_NODES_AT_ONCE)

    return ActionResult({"nodes": await in_thread(list_briefs, server, node_ids)})


async def first_nodes(
    server: ServerContext, _: Client, *, flow_id: str = DEFAULT_FLOW, near: str | None = None
) -> ActionResult:
    """Return the nodes of a flow that will probably be seen first, as `get_nodes` does; the client need not know their
    ids."""

    def read() -> list[dict[str, Any]]:
        return list_briefs(server, server.seen_first.list_ids(server.graph.get_flow(flow_id), near))

    return ActionResult({"nodes": await in_thread(read)})


def list_briefs(server: ServerContext, node_ids: list[str]) -> list[dict[str, Any]]:
    found = server.graph.get_nodes(node_ids).items()
    return [brief_node(each) if isinstance(each, Node) else {"id": i, "problem": str(each)} for i, each in found]


async def update_node(
    server: ServerContext,
    client: Client,
    *,
    node_id: str,
    prompt: str | None = None,
    response: str | None = None,
    tags: Texts | None = None,
    summary: str | None = None,
    pinned: bool | None = None,
    note: str | None = None,
) -> ActionResult:
    texts = {"prompt": prompt, "response": response, "summary": summary, "note": note}
    return ActionResult(
        node_json(await client.edit(server.graph.update_node, node_id, tags=tags, pinned=pinned, **texts))
    )


async def rename_tag(server: ServerContext, client: Client, *, tag: str, name: str) -> ActionResult:
    """Rename a tag in every node; an empty name removes it. One step of undo."""
    return ActionResult({"node_ids": await client.edit(server.graph.rename_tag, tag, name)})


async def list_outside(server: ServerContext, _: Client) -> ActionResult:
    """Return the nodes that are in no flow, newest first."""
    nodes = await in_thread(server.graph.list_nodes_outside)
    return ActionResult({"nodes": [brief_node(node) for node in nodes[:MAX_FOUND]], "total": len(nodes)})


async def delete_node(server: ServerContext, client: Client, *, node_id: str) -> ActionResult:
    await client.edit(server.graph.delete_node, node_id)
    return ActionResult({"node_id": node_id})


async def delete_nodes(server: ServerContext, client: Client, *, node_ids: Texts) -> ActionResult:
    """Delete all of the nodes or none; one step of undo."""
    await client.edit(server.graph.delete_nodes, node_ids)
    return ActionResult({"node_ids": node_ids})


async def delete_branch(
    server: ServerContext, client: Client, *, node_id: str, flow_id: str = DEFAULT_FLOW
) -> ActionResult:
    """Delete a node and all that follows from it alone; one step of undo."""
    return ActionResult({"node_ids": await client.edit(server.graph.delete_branch, node_id, flow_id)})


async def undo(_: ServerContext, client: Client) -> ActionResult:
    """Undo the last edit of this page, or the last one by a connection that named no page."""
    return ActionResult({"done": await in_thread(client.edits.undo)})


async def redo(_: ServerContext, client: Client) -> ActionResult:
    return ActionResult({"done": await in_thread(client.edits.redo)})


async def search_nodes(
    server: ServerContext,
    _: Client,
    *,
    tags: Texts | None = None,
    keywords: Texts | None = None,
    text: str = "",
    model: str = "",
    since: str = "",
    until: str = "",
    path: str = "",
    pinned: bool = False,
    limit: int = MAX_FOUND,
    brief: bool = False,
    wait: bool = False,
) -> ActionResult:
    """Search nodes. `since` and `until` are ISO 8601 times; `path` is part of a path that the turn changed. With `wait`
    the answer comes when every node has been read."""
    moments = {"since": _moment("since", since), "until": _moment("until", until)}
    filters = {"model": model, "path": path, "pinned": pinned, **moments}

    def search() -> dict[str, Any]:
        patience = LONGEST_WAIT_S if wait else 0.0
        nodes = server.graph.search_nodes(tags, keywords, text, limit or MAX_FOUND, patience=patience, **filters)
        shown = brief_node if brief else node_json
        left_out = {"unread": nodes.unread, "unreadable": nodes.unreadable}
        counted = {"nodes": [shown(node) for node in nodes], "total": nodes.total}
        return counted | {name: count for name, count in left_out.items() if count}

    return ActionResult(await in_thread(search))


def _moment(key: str, text: str) -> float | None:
    if not text:
        return None
    known, seconds, _ = sort_key(text)
    if not known:
        raise ActionError("'{key}' must be {description}", key=key, description=Sentence("a date, as 2026-01-31"))
    return seconds


async def list_filters(server: ServerContext, _: Client) -> ActionResult:
    """Return what a search can be narrowed to: tags and models, with how many nodes have each."""
    tags = await in_thread(server.graph.list_tags)
    models = await in_thread(server.graph.list_models)
    return ActionResult({"tags": tags, "models": models})


async def list_tags(server: ServerContext, _: Client) -> ActionResult:
    counts = await in_thread(server.graph.list_tags)
    return ActionResult({"tags": list(counts), "counts": counts})


async def list_due(server: ServerContext, _: Client) -> ActionResult:
    """Return the nodes that `build` would summarise, oldest first."""
    return ActionResult({"node_ids": [node.id for node in await in_thread(server.graph.due_nodes)]})


async def build(
    server: ServerContext, _: Client, *, node_id: str | None = None, node_ids: Texts | None = None, all_: bool = False
) -> ActionResult:
    """Build summaries with the configured model; if no model can be reached, extracts are made and marked as such."""
    wanted = [node_id] if node_id is not None else node_ids
    for each in wanted or ():
        await in_thread(server.graph.get_node, each)
    try:
        wish = (await in_thread(lambda: server.graph.settings)).suggested_model
        chosen = await choose_model(server.settings, suggested=wish)
    except ModelError:
        return _built(await build_summaries(server.graph, all=all_, node_ids=wanted))
    async with aclosing(chosen.connector):
        return _built(await build_summaries(server.graph, all=all_, node_ids=wanted, model=chosen))


def _built(report: BuildReport) -> ActionResult:
    failed = [{"node_id": each.node_id, "error": each.error} for each in report.failed]
    built = [each.node_id for each in report.built]
    return ActionResult({"built": built, "failed": failed, "not_tried": report.not_tried, "stopped": report.stopped})
