"""Actions behind the slash: which commands there are, and the prompt that one stands for."""

from __future__ import annotations

from nebula.language import explain_to
from nebula.server.conversation.context import Client, ServerContext
from nebula.server.conversation.protocol import ActionResult


async def list_commands(server: ServerContext, client: Client, *, servers: bool = False) -> ActionResult:
    """List the commands from files that count now; with `servers` the MCP servers are started, and their prompts are
    among them."""
    offered, problems = await server.commands.offered(start_servers=servers)
    commands = [{"name": each.name, "about": each.about, "usage": each.usage, "owner": each.owner} for each in offered]
    return ActionResult({"commands": commands, "problems": [explain_to(client.lang, each) for each in problems]})


async def expand_command(server: ServerContext, _: Client, *, text: str) -> ActionResult:
    """Return as `prompt` what `/name ARGUMENTS` stands for; other text comes back as it is."""
    return ActionResult({"prompt": await server.commands.expand(text)})
