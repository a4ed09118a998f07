"""Actions around what goes without asking in a conversation: listing it, and taking it back."""

from __future__ import annotations

from nebula.language import explain_to
from nebula.server.conversation.context import Client, ServerContext, in_thread
from nebula.server.conversation.protocol import ActionError, ActionResult


async def list_permissions(server: ServerContext, client: Client, *, node_id: str = "") -> ActionResult:
    """List what goes without asking in this turn at work, or in a prompt that continues this turn; without one, in any
    conversation."""
    return _listed(server, client, await _turn(server, node_id))


async def revoke_permissions(
    server: ServerContext, client: Client, *, node_id: str = "", name: str = ""
) -> ActionResult:
    """Take back what is listed under this name, or all of it, from now on; what is allowed still is answered."""
    turn = await _turn(server, node_id)
    if not server.runner.revoke(turn, name) and name:
        raise ActionError("Nothing is allowed under the name {name}.", code="not_found", name=name)
    server.turns.tell_permissions(turn)
    return _listed(server, client, turn)


async def _turn(server: ServerContext, node_id: str) -> str:
    if not node_id or server.turns.is_at_work(node_id):
        return node_id
    return (await in_thread(server.graph.get_node, node_id)).id


def _listed(server: ServerContext, client: Client, turn: str) -> ActionResult:
    given = server.runner.permissions(turn)
    listed = [{"name": each.name, "about": explain_to(client.lang, each.about)} for each in given]
    return ActionResult({"permissions": listed})
