"""One WebSocket: requests carried out in order, answers and events written by one writer.

Reading, working and writing are three tasks. Reading never waits for work for long, so the connection notices a client
that has gone; writing waits for the client alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from hmac import compare_digest
from typing import Final

from starlette.websockets import WebSocket, WebSocketDisconnect

from nebula.graph.errors import GraphError
from nebula.llm.errors import ModelError
from nebula.server.asgi import welcome
from nebula.server.conversation.actions import flows, nodes, turns
from nebula.server.conversation.context import Action, Client, ServerContext
from nebula.server.conversation.hub import Subscriber
from nebula.server.conversation.protocol import ActionError, ActionRequest, failure, read_request, success
from nebula.server.gate import PASSAGE, Passage

ACTIONS: Final[Mapping[str, Action]] = {**nodes.ACTIONS, **flows.ACTIONS, **turns.ACTIONS}
"""Everything a client can ask for."""
HELLO_WITHIN_S: Final = 10.0
REQUESTS_AHEAD: Final = 64
CLOSE_POLICY: Final = 1008

_log = logging.getLogger(__name__)


async def serve_socket(websocket: WebSocket, server: ServerContext, token: str) -> None:
    passage: Passage = websocket.scope[PASSAGE]
    await websocket.accept()
    try:
        if not passage.authorized and not await _greeted(websocket, server, token):
            await websocket.close(CLOSE_POLICY, "unauthorized")
            return
        welcome(websocket.scope)
        await _converse(websocket, server)
    except WebSocketDisconnect:
        return


async def _greeted(websocket: WebSocket, server: ServerContext, token: str) -> bool:
    """Whether the first message is a hello with the token."""
    try:
        async with asyncio.timeout(HELLO_WITHIN_S):
            text = await websocket.receive_text()
    except (TimeoutError, KeyError):
        return False
    request_id = None
    try:
        request = read_request(text)
        request_id = request.id
        shown = request.data.text("token", "") if request.action == "hello" else ""
        if not compare_digest(shown.encode(), token.encode()):
            raise ActionError("unauthorized", "say hello with the server's token first")
    except ActionError as refusal:
        await websocket.send_text(failure(refusal, refusal.request_id or request_id))
        return False
    client = Client(Subscriber(server.hub))
    await websocket.send_text(success(await ACTIONS["hello"].run(server, client, request.data), request.id))
    return True


async def _converse(websocket: WebSocket, server: ServerContext) -> None:
    client = Client(Subscriber(server.hub))
    requests: asyncio.Queue[str | None] = asyncio.Queue(REQUESTS_AHEAD)
    server.hub.attach(client.subscriber)
    worker = asyncio.create_task(_work(server, client, requests))
    writer = asyncio.create_task(client.subscriber.write(websocket.send_text))
    reader = asyncio.create_task(_read(websocket, requests))
    try:
        await asyncio.wait((reader, writer, worker), return_when=asyncio.FIRST_COMPLETED)
    finally:
        server.hub.detach(client.subscriber)
        tasks = (reader, writer, worker, *client.background)
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception) and not isinstance(outcome, WebSocketDisconnect | RuntimeError):
                _log.error("a connection failed", exc_info=outcome)


async def _read(websocket: WebSocket, requests: asyncio.Queue[str | None]) -> None:
    while True:
        message = await websocket.receive()
        if message["type"] == "websocket.disconnect":
            return
        await requests.put(message.get("text"))


async def _work(server: ServerContext, client: Client, requests: asyncio.Queue[str | None]) -> None:
    while True:
        text = await requests.get()
        await client.subscriber.until_read()
        try:
            if text is None:
                raise ActionError("bad_request", "send text, not binary data")
            request = read_request(text)
        except ActionError as refusal:
            client.subscriber.reply(failure(refusal, refusal.request_id))
            continue
        action = ACTIONS.get(request.action)
        if action is not None and action.takes_long:
            task = asyncio.create_task(_answer(server, client, request, action))
            client.background.add(task)
            task.add_done_callback(client.background.discard)
        else:
            await _answer(server, client, request, action)


async def _answer(server: ServerContext, client: Client, request: ActionRequest, action: Action | None) -> None:
    try:
        if action is None:
            raise ActionError("unknown_action", f"there is no action '{request.action[:80]}'")
        text = success(await action.run(server, client, request.data), request.id)
    except ActionError as refusal:
        text = failure(refusal, request.id)
    except GraphError as problem:
        text = failure(ActionError(problem.code, str(problem)), request.id)
    except ModelError as problem:
        text = failure(ActionError(problem.kind, str(problem)), request.id)
    except OSError as problem:
        text = failure(ActionError("io_error", problem.strerror or "the files cannot be used"), request.id)
    except Exception:  # noqa: BLE001 - one action's bug must not end the conversation; the client is told nothing of it
        _log.exception("the action %s failed", request.action)
        text = failure(ActionError("internal_error", "something went wrong; the server's log says what"), request.id)
    client.subscriber.reply(text)
