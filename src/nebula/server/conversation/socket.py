"""One WebSocket: requests are carried out in order, and one writer sends answers and events.

Reading, working and writing are three tasks. Reading never waits long for work, so the connection notices a client that
has gone; writing waits for the client alone.
"""

from __future__ import annotations

import asyncio
import logging
from hmac import compare_digest
from typing import Any, Final

from starlette.websockets import WebSocket, WebSocketDisconnect

from nebula.errors import NebulaError
from nebula.language import explain_to
from nebula.server.asgi import tell_admitted
from nebula.server.conversation.actions.beginnings import complete_ids, has_beginnings
from nebula.server.conversation.actions.declared import Action
from nebula.server.conversation.actions.table import ACTIONS
from nebula.server.conversation.context import Client, ServerContext, in_thread
from nebula.server.conversation.hub import Subscriber
from nebula.server.conversation.protocol import (
    MAX_MESSAGE,
    ActionError,
    ActionRequest,
    ActionResult,
    failure,
    read_request,
    success,
)
from nebula.server.gate import PASSAGE, Passage

HELLO_WITHIN_S: Final = 10.0
REQUESTS_AHEAD: Final = 64
CLOSE_POLICY: Final = 1008
PING: Final = '{"action":"ping"}'
PONG: Final = success(ActionResult(), None)
"""The answer to a sign of life. It says that the server is alive, not that it is idle: the reader sends it, whatever is
running."""

_log = logging.getLogger(__name__)


async def serve_socket(websocket: WebSocket, server: ServerContext, token: str) -> None:
    passage: Passage = websocket.scope[PASSAGE]
    client = Client(Subscriber(server.hub), server.histories.of(""))
    await websocket.accept()
    try:
        if not passage.authorized and not await _greeted(websocket, server, client, token):
            await websocket.close(CLOSE_POLICY, "unauthorized")
            return
        tell_admitted(websocket.scope)
        await _converse(websocket, server, client)
    except WebSocketDisconnect:
        return


async def _greeted(websocket: WebSocket, server: ServerContext, client: Client, token: str) -> bool:
    """Return whether the first message is a `hello` with the token."""
    try:
        async with asyncio.timeout(HELLO_WITHIN_S):
            text = await websocket.receive_text()
    except (TimeoutError, KeyError):
        return False
    request_id = None
    try:
        request = read_request(text)
        request_id = request.id
        shown = request.data.get("token", "") if request.action == "hello" else ""
        if not isinstance(shown, str) or not compare_digest(shown.encode(), token.encode()):
            raise ActionError("say hello with the server's token first", code="unauthorized")
    except ActionError as refusal:
        await websocket.send_text(_refusal(refusal, refusal.request_id or request_id))
        return False
    await websocket.send_text(await _result(server, client, request, ACTIONS["hello"]))
    return True


async def _converse(websocket: WebSocket, server: ServerContext, client: Client) -> None:
    requests: asyncio.Queue[str | None] = asyncio.Queue(REQUESTS_AHEAD)
    server.hub.attach(client.subscriber)
    worker = asyncio.create_task(_work(server, client, requests))
    writer = asyncio.create_task(client.subscriber.write(websocket.send_text))
    reader = asyncio.create_task(_read(websocket, client, requests))
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


async def _read(websocket: WebSocket, client: Client, requests: asyncio.Queue[str | None]) -> None:
    while True:
        message = await websocket.receive()
        if message["type"] == "websocket.disconnect":
            return
        if message.get("text") == PING:
            client.subscriber.reply(PONG)
        else:
            await requests.put(message.get("text"))
            if len(message.get("text") or "") > MAX_MESSAGE:
                await (
                    requests.join()
                )  # after a large request nothing is read ahead: it is released before the next one comes


async def _work(server: ServerContext, client: Client, requests: asyncio.Queue[str | None]) -> None:
    while True:
        text = await requests.get()
        await client.subscriber.until_read()
        await _carry_out(server, client, text)
        text = None  # a large request is not kept while the next one is awaited
        requests.task_done()


async def _carry_out(server: ServerContext, client: Client, text: str | None) -> None:
    try:
        if text is None:
            raise ActionError("send text, not binary data")
        request = await in_thread(read_request, text) if len(text) > MAX_MESSAGE else read_request(text)
    except ActionError as refusal:
        client.subscriber.reply(_refusal(refusal, refusal.request_id, client.lang))
        return
    action = ACTIONS.get(request.action)
    if action is not None and action.takes_long:
        task = asyncio.create_task(_answer(server, client, request, action))
        client.background.add(task)
        task.add_done_callback(client.background.discard)
    else:
        await _answer(server, client, request, action)


async def _answer(server: ServerContext, client: Client, request: ActionRequest, action: Action | None) -> None:
    client.subscriber.reply(await _result(server, client, request, action))


async def _result(server: ServerContext, client: Client, request: ActionRequest, action: Action | None) -> str:
    try:
        if action is None:
            raise ActionError("there is no action '{name}'", code="unknown_action", name=request.action[:80])
        data = request.data
        if has_beginnings(data):
            data = await in_thread(complete_ids, server.graph, data)
        return success(await action.run(server, client, **action.arguments(data)), request.id)
    except NebulaError as problem:
        return _refusal(problem, request.id, client.lang)
    except OSError as problem:
        return failure("io_error", problem.strerror or "the files cannot be used", request.id)
    except Exception:  # noqa: BLE001 - one action's bug must not end the conversation; the client learns nothing of it
        _log.exception("the action %s failed", request.action)
        return failure("internal_error", "something went wrong; the server's log says what", request.id)


def _refusal(problem: NebulaError, request_id: Any, lang: str = "en") -> str:
    code: str = getattr(problem, "code", "") or getattr(problem, "kind", "error")
    return failure(code, explain_to(lang, problem), request_id)
