"""The conversation server: the page at `/`, and the WebSocket that it and other programs speak with.

    graph = Graph(data_dir)
    app = create_conversation(graph, settings, rules, AgentTurns(settings, graph), modes=("agent", "plan"))

Files of the page are open to whoever passes Host and Origin: they hold nothing. All else asks for the token.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from nebula.config import Settings
from nebula.graph.graph import Graph
from nebula.graph.undo import EditHistories
from nebula.server.asgi import AT_STOP, App, Message, Receive, Scope, Send
from nebula.server.conversation.context import ServerContext
from nebula.server.conversation.first_look import PATH as FIRST_LOOK
from nebula.server.conversation.first_look import FirstLooks
from nebula.server.conversation.graph_watch import GraphWatch
from nebula.server.conversation.hub import Hub
from nebula.server.conversation.pages import Pages
from nebula.server.conversation.socket import serve_socket
from nebula.server.conversation.turns.agent import AgentTurns
from nebula.server.conversation.turns.turns import Turns
from nebula.server.conversation.typed_commands import TypedCommands
from nebula.server.gate import Gate, Rules
from nebula.value import replace

AGENT_MODES: Final = ("agent", "plan")
CHAT_MODES: Final = ("chat", "plan", "agent")
"""Plain chat treats the other modes as itself: there is nothing that it could do differently."""

GOODBYE_S: Final = 5.0


def create_conversation(
    graph: Graph,
    settings: Settings,
    rules: Rules,
    runner: AgentTurns,
    modes: tuple[str, ...],
    words: Callable[[], Collection[str]] = frozenset,
) -> App:
    """Return the app. `words` are the commands of the terminal, which no file replaces."""
    hub = Hub()
    watch = GraphWatch(graph, hub)
    turns = Turns(runner, hub, watch, settings.curtain)
    commands = TypedCommands(settings, words, has_servers=runner.has_files)
    server = ServerContext(graph, EditHistories(graph), hub, watch, turns, runner, settings, commands, modes)
    pages = Pages()
    first_looks = FirstLooks(server)

    async def index(request: Request) -> Response:
        page = await pages.index(request)
        if not rules.token:  # if it needed one, a browser could not send it
            first_looks.announce(page, request)
        return page

    async def socket(websocket: WebSocket) -> None:
        await serve_socket(websocket, server, rules.token)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[dict[str, Any]]:
        watching = asyncio.create_task(watch.run())
        try:
            yield {AT_STOP: turns.close}  # while the clients are there to hear how their turns ended
        finally:
            await turns.close()
            await commands.close()
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
            await asyncio.to_thread(graph.close)

    app = Starlette(
        routes=[
            Route("/", index),
            Route(FIRST_LOOK, first_looks.answer),
            Route("/healthz", _healthz),
            Route("/web/{path:path}", pages.file),
            WebSocketRoute("/", socket),
            WebSocketRoute("/ws", socket),
        ],
        lifespan=lifespan,
    )
    return _gated(app, rules)


async def _healthz(_: Request) -> Response:
    return JSONResponse({"status": "ok"})


def _gated(app: App, rules: Rules) -> App:
    """Guard everything but the files of the page with the token; a browser cannot send one while it loads those."""
    page = Gate(app, replace(rules, token=""))
    data = Gate(app, rules)
    socket = Gate(app, replace(rules, for_browsers=True))

    async def gate(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            door = data if scope["type"] == "http" and not _is_page(scope["path"]) else page
            await door(scope, receive, send)
            return
        refused = False

        async def noting(message: Message) -> None:
            nonlocal refused
            refused = refused or message["type"] == "websocket.http.response.body"
            await send(message)

        await socket(scope, receive, noting)
        if refused:
            await _wait_until_gone(receive)

    return gate


def _is_page(path: str) -> bool:
    return path == "/" or path.startswith("/web/")


async def _wait_until_gone(receive: Receive) -> None:
    """Wait until a refused client has disconnected: before that, uvicorn treats a refusal as an unfinished
    handshake."""
    with suppress(TimeoutError):
        async with asyncio.timeout(GOODBYE_S):
            await receive()  # the end of the handshake
            await receive()  # the end of the connection
