"""Actions around turns and events: prompts, approvals, subscriptions."""

from __future__ import annotations

from typing import Any, Final

from nebula.graph.errors import NotFound
from nebula.graph.values import DEFAULT_FLOW
from nebula.server.protocol import ActionError, Answer, Data
from nebula.server.room import Action, Client, Room, in_thread
from nebula.server.served_graph import ServedGraph
from nebula.server.turns import Job

LANGUAGES: Final = ("en", "ja")


async def hello(room: Room, _: Client, __: Data) -> Answer:
    """The token, where one is asked for, was looked at before."""
    return Answer(_present(room) | {"modes": list(room.modes), "model": room.settings.model})


async def subscribe(room: Room, client: Client, data: Data) -> Answer:
    event, flow = data.optional_text("event"), data.optional_text("flow_id")
    resumed = False
    if data.has("since"):
        since = data.number("since", 0)
        resumed = room.hub.can_resume(since, data.optional_text("epoch"))
        client.hears.subscribe(event, flow, since=since if resumed else None)
    else:
        client.hears.subscribe(event, flow)
    answer = Answer(_present(room) | {"event": event, "flow_id": flow, "resumed": resumed})
    if data.has("since") and not resumed:
        client.hears.require_resync()
    return answer


async def unsubscribe(_: Room, client: Client, data: Data) -> Answer:
    event, flow = data.optional_text("event"), data.optional_text("flow_id")
    if event is None and flow is None:
        client.hears.unsubscribe_all()
    else:
        client.hears.unsubscribe(event, flow)
    return Answer({"event": event, "flow_id": flow})


def _present(room: Room) -> dict[str, Any]:
    return {"seq": room.hub.seq, "epoch": room.hub.epoch, "turns": room.turns.under_way()}


async def send_prompt(room: Room, client: Client, data: Data) -> Answer:
    prompt = data.text("prompt")
    if not prompt.strip():
        raise ActionError("bad_request", "the prompt is empty")
    mode = data.text("mode", room.modes[0])
    if mode not in room.modes:
        raise ActionError("bad_request", f"'mode' must be one of {', '.join(room.modes)}")
    lang = data.text("lang", room.settings.lang)
    lang = lang if lang in LANGUAGES else room.settings.lang
    parents = data.optional_texts("from")
    if parents is None:
        parents = await in_thread(_last_of, room.graph, client.turns)
    flow, name = await in_thread(_place, room.graph, parents, data.optional_text("flow_id"))
    job = Job(prompt, tuple(dict.fromkeys(parents)), flow, name, mode, lang)
    room.turns.start(job, client)
    client.hears.subscribe(trace_id=job.trace_id)
    client.turns.append(job.trace_id)
    return Answer({"trace_id": job.trace_id, "flow_id": flow})


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


async def approve(room: Room, _: Client, data: Data) -> Answer:
    approval_id, decision = data.text("approval_id"), data.text("decision")
    room.turns.approve(approval_id, decision)
    return Answer({"approval_id": approval_id, "decision": decision})


async def cancel(room: Room, client: Client, data: Data) -> Answer:
    stopped = room.turns.cancel(data.optional_text("trace_id"), client)
    return Answer({"trace_id": stopped[0], "trace_ids": stopped})


ACTIONS: Final = {
    "hello": Action(hello),
    "subscribe": Action(subscribe),
    "unsubscribe": Action(unsubscribe),
    "send_prompt": Action(send_prompt),
    "approve": Action(approve),
    "cancel": Action(cancel),
}
