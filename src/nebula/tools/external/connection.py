"""A connection to one MCP server, by the official client, in a task of its own from its start to its end.

The client's way of closing wants the task that opened it; calls may come from any.
"""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import AbstractAsyncContextManager, suppress
from typing import TYPE_CHECKING, Any

from nebula.errors import NebulaError

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult, Tool

    from nebula.tools.external.configured import ExternalServer

START_TIMEOUT_S = 30.0
MAX_TOOLS = 200
MAX_REASON = 200


class ServerFailed(NebulaError):
    """An MCP server that could not be started, reached or understood."""


class ServerConnection:
    def __init__(self, server: ExternalServer) -> None:
        self.server = server
        self.tools: tuple[Tool, ...] = ()
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    @property
    def is_open(self) -> bool:
        return self._client is not None and self._task is not None and not self._task.done()

    async def open(self) -> None:
        """Raises ServerFailed."""
        self._stop = asyncio.Event()
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(ready))
        try:
            await asyncio.wait_for(asyncio.shield(ready), START_TIMEOUT_S)
        except TimeoutError:
            await self.close()
            raise self._failed(f"no answer within {START_TIMEOUT_S:.0f} s") from None
        except asyncio.CancelledError:
            await self.close()
            raise

    async def call(self, tool: str, args: dict[str, Any]) -> CallToolResult:
        from mcp import MCPError

        if self._client is None or not self.is_open:
            raise self._failed("it has ended")
        try:
            return await self._client.call_tool(tool, args, read_timeout_seconds=self.server.timeout_s)
        except MCPError as problem:
            raise self._failed(str(problem)) from None

    async def close(self) -> None:
        self._stop.set()
        if self._task is not None and self._client is None:
            self._task.cancel()  # it waits for a word of the server, which may never come
        if self._task is not None:
            with suppress(asyncio.CancelledError, TimeoutError):
                await asyncio.wait_for(self._task, START_TIMEOUT_S)
        self._client = None

    async def _live(self, ready: asyncio.Future[None]) -> None:
        with tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace") as said:
            try:
                from mcp import Client

                async with Client(self._transport(said)) as client:
                    self.tools = await _all_tools(client)
                    self._client = client
                    ready.set_result(None)
                    await self._stop.wait()
            except Exception as problem:  # noqa: BLE001 - a stranger's server, in any of the ways it can fail
                if not ready.done():
                    ready.set_exception(self._failed(_last_line(said) or _reason(problem)))

    def _transport(self, said: Any) -> AbstractAsyncContextManager[Any]:
        server = self.server
        if server.url:
            import httpx2
            from mcp.client.streamable_http import streamable_http_client

            return streamable_http_client(server.url, http_client=httpx2.AsyncClient(headers=dict(server.headers)))
        from mcp.client.stdio import StdioServerParameters, stdio_client

        wanted = StdioServerParameters(
            command=server.command, args=list(server.args), env=dict(server.env), cwd=server.cwd or None
        )
        return stdio_client(wanted, errlog=said)

    def _failed(self, reason: str) -> ServerFailed:
        return ServerFailed(
            "The MCP server {name} cannot be used: {reason}", name=self.server.name, reason=reason[:MAX_REASON]
        )


async def _all_tools(client: Client) -> tuple[Tool, ...]:
    found: list[Tool] = []
    cursor: str | None = None
    while len(found) < MAX_TOOLS:
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if not cursor:
            break
    return tuple(found[:MAX_TOOLS])


def _reason(problem: BaseException) -> str:
    """The first of what a group of failures holds."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return str(problem) or type(problem).__name__


def _last_line(said: Any) -> str:
    said.seek(0)
    lines = [line.strip() for line in said if line.strip()]
    return lines[-1] if lines else ""
