"""Actions around turns and events: prompts, approvals, subscriptions."""

from __future__ import annotations

from typing import Any, Final

from nebula.graph.errors import NotFound
from nebula.graph.values import DEFAULT_FLOW
from nebula.server.conversation.context import Action, Client, ServerContext, in_thread
from nebula.server.conversation.protocol import ActionError, ActionResult, Data
from nebula.server.conversation.served_graph import ServedGraph
from nebula.server.conversation.turns.turns import Job

LANGUAGES: Final = ("en", "ja")


async def hello(server: ServerContext, _: Client, __: Data) -> ActionResult:
    """The token, where one is asked for, was looked at before."""
    return ActionResult(_present(server) | {"modes": list(server.modes), "model": server.settings.model})


async def subscribe(server: ServerContext, client: Client, data: Data) -> ActionResult:
    event, flow = data.optional_text("event"), data.optional_text("flow_id")
    resumed = False
    if data.has("since"):
        since = data.number("since", 0)
        resumed = server.hub.can_resume(since, data.optional_text("epoch"))
        client.subscriber.subscribe(event, flow, since=since if resumed else None)
    else:
        client.subscriber.subscribe(event, flow)
    answer = ActionResult(_present(server) | {"event": event, "flow_id": flow, "resumed": resumed})
    if data.has("since") and not resumed:
        client.subscriber.require_resync()
    return answer


async def unsubscribe(_: ServerContext, client: Client, data: Data) -> ActionResult:
    event, flow = data.optional_text("event"), data.optional_text("flow_id")
    if event is None and flow is None:
        client.subscriber.unsubscribe_all()
    else:
        client.subscriber.unsubscribe(event, flow)
    return ActionResult({"event": event, "flow_id": flow})


def _present(server: ServerContext) -> dict[str, Any]:
    return {"seq": server.hub.seq, "epoch": server.hub.epoch, "turns": server.turns.under_way()}


async def send_prompt(server: ServerContext, client: Client, data: Data) -> ActionResult:
    prompt = data.text("prompt")
    if not prompt.strip():
        raise ActionError("bad_request", "the prompt is empty")
    mode = data.text("mode", server.modes[0])
    if mode not in server.modes:
        raise ActionError("bad_request", f"'mode' must be one of {', '.join(server.modes)}")
    lang = data.text("lang", server.settings.lang)
    lang = lang if lang in LANGUAGES else server.settings.lang
    parents = data.optional_texts("from")
    if parents is None:
        parents = await in_thread(_last_of, server.graph, client.turns)
    flow, name = await in_thread(_place, server.graph, parents, data.optional_text("flow_id"))
    job = Job(prompt, tuple(dict.fromkeys(parents)), flow, name, mode, lang)
    server.turns.start(job, client)
    client.subscriber.subscribe(trace_id=job.trace_id)
    client.turns.append(job.trace_id)
    return ActionResult({"trace_id": job.trace_id, "flow_id": flow})


def _last_of(graph: ServedGraph, turns: list[str]) -> list[str]:
    """The newest of these turns that became a node; one that failed before a word was said did not."""
    for node_id in reversed(turns):
        try:
            return [graph.get_node(node_id).id]
        except NotFound:
            continue
    return []


def _place(graph: ServedGraph, parents: list[str], wanted: str | None) -> tuple[str, str]:
    """Id and name of the flow for a continuation of these nodes. Raises NotFound."""
    for node_id in parents:
        graph.get_node(node_id)
    if wanted is None:
        wanted = graph.flow_of(parents[0]) if parents else DEFAULT_FLOW
    flow = graph.find_flow(wanted)
    return (flow.id, flow.name) if flow else (DEFAULT_FLOW, DEFAULT_FLOW)


async def approve(server: ServerContext, _: Client, data: Data) -> ActionResult:
    approval_id, decision = data.text("approval_id"), data.text("decision")
    server.turns.approve(approval_id, decision)
    return ActionResult({"approval_id": approval_id, "decision": decision})


async def cancel(server: ServerContext, client: Client, data: Data) -> ActionResult:
    stopped = server.turns.cancel(data.optional_text("trace_id"), client)
    return ActionResult({"trace_id": stopped[0], "trace_ids": stopped})


ACTIONS: Final = {
    "hello": Action(hello),
    "subscribe": Action(subscribe),
    "unsubscribe": Action(unsubscribe),
    "send_prompt": Action(send_prompt),
    "approve": Action(approve),
    "cancel": Action(cancel),
}
