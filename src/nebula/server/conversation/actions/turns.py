"""Actions for turns: prompts, commands that become prompts, approvals, steering, cancelling."""

from __future__ import annotations

from nebula.graph.context.references import referenced_nodes
from nebula.graph.errors import NotFound
from nebula.graph.graph import Graph
from nebula.language import LANGUAGES, explain_to
from nebula.llm.choose import choose_model, offered_models
from nebula.llm.choose import list_models as ask_for_models
from nebula.llm.errors import ModelError
from nebula.server.conversation.actions.attached import attachments_of
from nebula.server.conversation.actions.context_preview import place_of
from nebula.server.conversation.actions.declared import Numbers, Objects, Texts
from nebula.server.conversation.context import Client, ServerContext, in_thread
from nebula.server.conversation.protocol import ActionError, ActionResult
from nebula.server.conversation.turns.agent import Job
from nebula.tools.approval import Decision


async def send_prompt(
    server: ServerContext,
    client: Client,
    *,
    prompt: str,
    from_: Texts | None = None,
    flow_id: str | None = None,
    mode: str | None = None,
    references: Texts | None = None,
    without: Texts | None = None,
    model: str = "",
    images: Objects | None = None,
    files: Objects | None = None,
    lang: str = "",
    again: str = "",
) -> ActionResult:
    """Start a turn and answer at once; events then report it to the sender and to subscribers of the flow. `without`
    names turns of the path that are not sent; `model` is the one to ask, else the configured one; `images` and `files`
    are attached, the latter as text; `again` is the turn whose prompt is asked again, perhaps changed, so that two that
    begin a conversation are known as tries of one."""
    if not prompt.strip():
        raise ActionError("the prompt is empty")
    mode = mode or server.modes[0]
    if mode not in server.modes:
        raise ActionError("'mode' must be one of {modes}", modes=", ".join(server.modes))
    attached = await attachments_of(images, files)
    parents = from_ if from_ is not None else await in_thread(_last_of, server.graph, client.turns)
    beside = await in_thread(referenced_nodes, server.graph, references or [])
    flow, name = await in_thread(place_of, server.graph, parents, flow_id)
    lang = lang if lang in LANGUAGES else server.settings.lang
    beginning = (await in_thread(server.graph.get_node, again)).first_try if again else ""
    ways = tuple(beside), tuple(without or ()), model, attached, beginning
    job = Job(prompt, tuple(dict.fromkeys(parents)), flow, name, mode, lang, *ways)
    server.turns.start(job, client)
    client.subscriber.subscribe(trace_id=job.trace_id)
    client.turns.append(job.trace_id)
    return ActionResult({"trace_id": job.trace_id, "flow_id": flow})


async def list_models(server: ServerContext, _: Client) -> ActionResult:
    """Return all models that can answer, as `provider/name`; `current` is the one that answers if none is named, in the
    same form, or empty if there is none."""
    offered = offered_models(await ask_for_models(server.settings))
    try:
        wish = (await in_thread(lambda: server.graph.settings)).suggested_model
        chosen = await choose_model(server.settings, suggested=wish)
    except ModelError:
        current = ""
    else:
        current = f"{chosen.provider}/{chosen.name}"
        await chosen.connector.aclose()
    return ActionResult({"models": [f"{each.provider}/{each.name}" for each in offered], "current": current})


def _last_of(graph: Graph, turns: list[str]) -> list[str]:
    """Return the newest of these turns that became a node; a turn that failed before saying anything did not."""
    for node_id in reversed(turns):
        try:
            return [graph.get_node(node_id).id]
        except NotFound:
            continue
    return []


async def approve(
    server: ServerContext,
    _: Client,
    *,
    approval_id: str,
    decision: str,
    hunks: Numbers | None = None,
    paths: Texts | None = None,
) -> ActionResult:
    some = decision.strip().lower() == "some"
    if some != bool(hunks or paths):
        # Never read as a sentence that refuses, nor as a yes to everything.
        raise ActionError("'some' needs 'hunks' or 'paths', and these need 'some'")
    part = Decision(True, hunks=tuple(hunks or ()), paths=tuple(paths or ()))
    server.turns.approve(approval_id, part if some else Decision.read(decision))
    return ActionResult({"approval_id": approval_id, "decision": decision})


async def cancel(server: ServerContext, client: Client, *, trace_id: str | None = None) -> ActionResult:
    stopped = server.turns.cancel(trace_id, client)
    return ActionResult({"trace_id": stopped[0], "trace_ids": stopped})


async def steer(server: ServerContext, client: Client, *, text: str, trace_id: str | None = None) -> ActionResult:
    """Send a text into the turn of `trace_id`, else into the sender's. `final` has as `unheard` what came too late."""
    if not text.strip():
        raise ActionError("the prompt is empty")
    steered, steering_id = server.turns.steer(text, trace_id, client)
    return ActionResult({"trace_id": steered, "steering_id": steering_id})


async def list_commands(server: ServerContext, client: Client, *, servers: bool = False) -> ActionResult:
    """Return the commands from files that count now; with `servers` the MCP servers are started, and their prompts
    included."""
    offered, problems = await server.commands.offered(start_servers=servers)
    commands = [{"name": each.name, "about": each.about, "usage": each.usage, "owner": each.owner} for each in offered]
    return ActionResult({"commands": commands, "problems": [explain_to(client.lang, each) for each in problems]})


async def expand_command(server: ServerContext, _: Client, *, text: str) -> ActionResult:
    """Return as `prompt` what `/name ARGUMENTS` stands for; any other text is returned unchanged."""
    return ActionResult({"prompt": await server.commands.expand(text)})
