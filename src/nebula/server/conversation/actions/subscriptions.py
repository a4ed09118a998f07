"""Actions of a client that connects, subscribes and unsubscribes."""

from __future__ import annotations

from typing import Any

from nebula.language import LANGUAGES
from nebula.server.conversation.context import Client, ServerContext
from nebula.server.conversation.protocol import ActionResult


async def hello(server: ServerContext, client: Client, *, lang: str = "", page: str = "") -> ActionResult:
    """Greet a client, whose token was checked before, if one is needed. `lang` is the language of error messages; edits
    from now on are undone by the same `page` alone."""
    client.edits = server.histories.of(page)
    if lang in LANGUAGES:
        client.lang = lang
    return ActionResult(greeting(server))


def greeting(server: ServerContext) -> dict[str, Any]:
    """Return where the server is, and what is running there."""
    settings = server.settings
    here = {"modes": list(server.modes), "model": settings.model}
    if server.runner.has_files:
        here |= {"root": settings.root, "editor_url": settings.editor_url}
    return _present(server) | here


async def subscribe(
    server: ServerContext,
    client: Client,
    *,
    event: str | None = None,
    flow_id: str | None = None,
    since: int | None = None,
    epoch: str | None = None,
) -> ActionResult:
    """Subscribe to events. `since` is the number of the last event received, in the run of the server that `epoch`
    names."""
    resumed = since is not None and server.hub.can_resume(since, epoch)
    client.subscriber.subscribe(event, flow_id, since=since if resumed else None)
    result = ActionResult(_present(server) | {"event": event, "flow_id": flow_id, "resumed": resumed})
    if since is not None and not resumed:
        client.subscriber.require_resync()
    return result


async def unsubscribe(
    _: ServerContext, client: Client, *, event: str | None = None, flow_id: str | None = None
) -> ActionResult:
    if event is None and flow_id is None:
        client.subscriber.unsubscribe_all()
    else:
        client.subscriber.unsubscribe(event, flow_id)
    return ActionResult({"event": event, "flow_id": flow_id})


def _present(server: ServerContext) -> dict[str, Any]:
    under_way = {"turns": server.turns.under_way(), "races": server.turns.races.under_way()}
    return {"seq": server.hub.seq, "epoch": server.hub.epoch} | under_way
