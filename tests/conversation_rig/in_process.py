"""The conversation server in this process: no port, no other process, milliseconds.

async with serving_here(settings, graph, AgentTurns(settings, graph), AGENT_MODES) as server, server.talk() as client:
    await client.ask("create_node", prompt="question")
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from conversation_rig import Talk
from nebula.config import Settings
from nebula.graph.graph import Graph
from nebula.server.conversation.app import create_conversation
from nebula.server.conversation.turns.agent import AgentTurns
from nebula.server.gate import Rules

HOST = "localhost:1"


class Line:
    """One WebSocket to an ASGI app: what a client's connection can do, without a socket."""

    def __init__(self) -> None:
        self._to_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._from_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def send(self, message: str | bytes) -> None:
        kind = "text" if isinstance(message, str) else "bytes"
        await self._to_app.put({"type": "websocket.receive", kind: message})

    async def recv(self) -> str:
        message = await self._from_app.get()
        assert message["type"] == "websocket.send", message
        return str(message["text"])

    async def run(self, app: Any, path: str) -> None:
        headers = [(b"host", HOST.encode())]
        scope = {"type": "websocket", "path": path, "headers": headers, "query_string": b"", "scheme": "ws"}
        scope |= {
            "client": ("127.0.0.1", 2),
            "server": ("localhost", 1),
            "subprotocols": [],
            "asgi": {"version": "3.0"},
        }
        await self._to_app.put({"type": "websocket.connect"})
        await app(scope, self._to_app.get, self._from_app.put)

    async def opened(self) -> None:
        assert (await self._from_app.get())["type"] == "websocket.accept"

    async def close(self) -> None:
        await self._to_app.put({"type": "websocket.disconnect", "code": 1000})


class ServerHere:
    def __init__(self, app: Any) -> None:
        self._app = app

    @asynccontextmanager
    async def talk(self, path: str = "/") -> AsyncIterator[Talk]:
        line = Line()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(line.run(self._app, path))
            await line.opened()
            yield Talk(line)  # type: ignore[arg-type]
            await line.close()


@asynccontextmanager
async def serving_here(
    settings: Settings, graph: Graph, runner: AgentTurns, modes: tuple[str, ...]
) -> AsyncIterator[ServerHere]:
    """Start the server's own lifespan, and end it as a stopped server would."""
    app = create_conversation(graph, settings, Rules(hosts=frozenset({HOST})), runner, modes)
    to_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    from_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, to_app.get, from_app.put))
        for step in ("startup", "shutdown"):
            await to_app.put({"type": f"lifespan.{step}"})
            assert (await from_app.get())["type"] == f"lifespan.{step}.complete"
            if step == "startup":
                yield ServerHere(app)
