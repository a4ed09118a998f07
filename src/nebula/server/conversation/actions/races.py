"""Actions for races: several tries of one prompt, and taking the changes of one."""

from __future__ import annotations

from functools import partial

from nebula.agent.judging import judged
from nebula.agent.race.begin import RaceWish, command_line, prepare_race
from nebula.agent.race.compare import compare_tries as compare
from nebula.agent.race.judge import ask_opinion
from nebula.agent.race.race import FEWEST, MOST
from nebula.agent.race.take import Wanted, take_tries
from nebula.agent.recording.turn_archive import TurnArchive
from nebula.events import new_trace_id
from nebula.language import explain_to
from nebula.server.conversation.actions.context_preview import place_of
from nebula.server.conversation.actions.declared import Numbers, Texts
from nebula.server.conversation.context import Client, ServerContext, in_thread
from nebula.server.conversation.protocol import ActionError, ActionResult
from nebula.tools.approval import allow_all


async def race(
    server: ServerContext,
    client: Client,
    *,
    prompt: str,
    tries: int | None = None,
    models: Texts | None = None,
    from_: Texts | None = None,
    flow_id: str | None = None,
    judge: str = "",
) -> ActionResult:
    """Begin a race. The events of its tries have trace ids of their own and `try`; at the end `final` lists the
    tries."""
    files = server.files()
    flow, _ = await in_thread(place_of, server.graph, from_ or [], flow_id)
    trace_id, hub = new_trace_id(), server.turns.races
    wish = RaceWish(
        prompt,
        tries,
        tuple(models) if models is not None else None,
        tuple(from_ or ()),
        command_line(server.settings),
        judge=judge,
    )
    archive = TurnArchive(lambda: server.graph)
    begun = await prepare_race(server.settings, wish, hub.hear, lambda said: hub.remark(trace_id, said), archive)
    begun.workspace.close()
    begun.workspace = files
    begun.flow = flow
    for each in (trace_id, *begun.order.trace_ids):
        client.subscriber.subscribe(trace_id=each)
    opinion = partial(ask_opinion, server.settings, judge, prompt, workspace=files) if judge else None
    hub.start(begun, trace_id, client, opinion)
    return ActionResult({"trace_id": trace_id, "trace_ids": list(begun.order.trace_ids)})


async def compare_tries(server: ServerContext, _: Client, *, node_ids: Texts) -> ActionResult:
    """Return the changes of these nodes' turns, file by file and side by side; the turns are numbered from 1."""
    if not FEWEST <= len(node_ids) <= MOST:
        raise ActionError("'node_ids' must name {fewest} to {most} nodes", fewest=FEWEST, most=MOST)
    nodes = [await in_thread(server.graph.get_node, each) for each in node_ids]
    history = server.files().history
    found = await in_thread(compare, {number: node.files for number, node in enumerate(nodes, 1)}, history)
    tries = [
        {"try": number, "node_id": node.id, "model": node.model, "verified": node.verified or None}
        | {"cost": node.usage.cost if node.usage else None, "files_changed": len(node.files)}
        for number, node in enumerate(nodes, 1)
    ]
    return ActionResult({"tries": tries, "files": [each.to_json() for each in found]})


async def take(
    server: ServerContext,
    client: Client,
    *,
    node_id: str,
    paths: Texts | None = None,
    hunks: Numbers | None = None,
) -> ActionResult:
    """Take the changes of a try: all of them, some paths, or some hunks of one file. The caller has seen and approved
    them."""
    if [] in (paths, hunks):
        raise ActionError("an empty list names nothing: leave 'paths' and 'hunks' out to take all of it")
    node = await in_thread(server.graph.get_node, node_id)
    if hunks and len(paths or ()) != 1:
        raise ActionError("'hunks' belong to one file: name it in 'paths'")
    wanted = Wanted(node.id, tuple(node.files), tuple(paths or ()), tuple(hunks or ()))
    done = await take_tries([wanted], server.files(), judged(allow_all, server.settings), server.settings)
    changed = [each.path for each in done.applied]
    say = partial(explain_to, client.lang)
    told = {"left_out": [*map(say, done.left_out)], "remarks": [*map(say, done.remarks)]}
    return ActionResult(
        {"node_id": node.id, "paths": changed, "changed": changed, "conflicts": list(done.conflicts)} | told
    )
