"""The MCP servers of one session: started in its first turn, ended with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from nebula.events import Activity
from nebula.language import Sentence, sentence_of
from nebula.messages import strip_hidden_characters
from nebula.tools.approval import Approvals
from nebula.tools.contract import Tool
from nebula.tools.external.configured import ExternalServer
from nebula.tools.external.connection import ServerConnection, ServerFailed
from nebula.tools.external.prompts import ServerPrompt
from nebula.tools.external.tool import MAX_NAME, ExternalTool, offered_name, takes_images

MOST_NAMED = 10


class ExternalServers:
    def __init__(self, servers: Sequence[ExternalServer]) -> None:
        self.connections = [ServerConnection(server) for server in servers]
        self.asks = True
        """Somebody answers for each call, a person or a rule. Where nobody does, as in a try, only those tools are
        offered that merely read or were allowed before."""

    @property
    def secrets(self) -> tuple[str, ...]:
        return tuple(each for connection in self.connections for each in connection.server.secrets)

    async def open(self, show: Callable[[Activity], None] = lambda _: None) -> list[Sentence]:
        """Start the servers that are not running, all at once; return remarks on those that failed. `show` gets the
        names of those still starting."""
        starting = {each.server.name: None for each in self.connections if not each.is_open}

        async def open_one(connection: ServerConnection) -> list[Sentence]:
            remarks = await _open(connection)
            starting.pop(connection.server.name, None)
            _show_starting(starting, show)
            return remarks

        _show_starting(starting, show)
        remarks = await asyncio.gather(*(open_one(each) for each in self.connections if not each.is_open))
        return [remark for each in remarks for remark in each]

    def tools(
        self, approvals: Approvals | None, *, plan: bool, takes_images: Callable[[], Awaitable[bool]] = takes_images
    ) -> Mapping[str, Tool]:
        """Return the tools of the servers that are running; in plan mode only those that the user declared
        read-only."""
        found: dict[str, Tool] = {}
        for connection in self.connections:
            for declared in connection.tools if connection.is_open else ():
                tool = ExternalTool(connection, declared, approvals, takes_images)
                if tool.reads_only or (not plan and (self.asks or tool.is_allowed)):
                    found.setdefault(tool.spec.name, tool)
        return found

    def prompts(self) -> Mapping[str, ServerPrompt]:
        """Return the prompts that the servers offer to people, by the name to type."""
        found: dict[str, ServerPrompt] = {}
        for connection in self.connections:
            for declared in connection.prompts if connection.is_open else ():
                name = offered_name(connection.server.name, declared.name)
                found.setdefault(name, ServerPrompt(connection, declared))
        return found

    async def restart(self, connection: ServerConnection) -> list[Sentence]:
        """End one server and start it again; return remarks if that failed."""
        await connection.close()
        return await _open(connection)

    async def close(self) -> None:
        await asyncio.gather(*(each.close() for each in self.connections))


def _show_starting(names: Iterable[str], show: Callable[[Activity], None]) -> None:
    if starting := ", ".join(strip_hidden_characters(each)[:MAX_NAME] for each in names):
        show(Activity(Sentence("starting MCP server {names}", names=starting)))


async def _open(connection: ServerConnection) -> list[Sentence]:
    try:
        await connection.open()
    except ServerFailed as problem:
        return [sentence_of(problem)]
    if not connection.left_out:
        return []
    return [
        Sentence(
            "Tools of the MCP server {name} that are not offered, because their description is too large or not valid: "
            "{tools}",
            name=connection.server.name,
            tools=", ".join(strip_hidden_characters(each)[:MAX_NAME] for each in connection.left_out[:MOST_NAMED]),
        )
    ]
