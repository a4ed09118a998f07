"""The MCP servers of one session: started with its first turn, ended with it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from nebula.language import Sentence, sentence_of
from nebula.tools.approval import Approvals
from nebula.tools.contract import Tool
from nebula.tools.external.configured import ExternalServer
from nebula.tools.external.connection import ServerConnection, ServerFailed
from nebula.tools.external.tool import ExternalTool


class ExternalServers:
    def __init__(self, servers: Sequence[ExternalServer]) -> None:
        self._connections = [ServerConnection(server) for server in servers]

    @property
    def secrets(self) -> tuple[str, ...]:
        return tuple(each for connection in self._connections for each in connection.server.secrets)

    async def open(self) -> list[Sentence]:
        """Starts those that do not run, all at once; what there is to say of those that could not be."""
        closed = [each for each in self._connections if not each.is_open]
        problems = await asyncio.gather(*map(_opened, closed))
        return [sentence_of(each) for each in problems if each is not None]

    def tools(self, approvals: Approvals | None, *, plan: bool) -> Mapping[str, Tool]:
        """What they offer by now. In plan mode only what the user says merely reads."""
        found: dict[str, Tool] = {}
        for connection in self._connections:
            for declared in connection.tools if connection.is_open else ():
                tool = ExternalTool(connection, declared, approvals)
                if tool.reads_only or not plan:
                    found.setdefault(tool.spec.name, tool)
        return found

    async def close(self) -> None:
        await asyncio.gather(*(each.close() for each in self._connections))


async def _opened(connection: ServerConnection) -> ServerFailed | None:
    try:
        await connection.open()
    except ServerFailed as problem:
        return problem
    return None
