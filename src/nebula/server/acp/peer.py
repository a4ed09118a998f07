"""JSON-RPC 2.0 in both directions, one message a line.

Each request is handled in a task of its own, so that a cancellation is read while the turn is running.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from typing import Any

from nebula.errors import NebulaError
from nebula.language import explain
from nebula.llm.wire import from_text

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
CANCELLED = -32800
CANCEL = "$/cancel_request"
_log = logging.getLogger(__name__)

Handler = Callable[[Mapping[str, Any]], Awaitable[Any]]


class RpcError(NebulaError):
    """The error that the other side gets instead of a result."""

    code = INVALID_PARAMS


class RequestRefused(NebulaError):
    """Raised where the other side answered one of our requests with an error."""


class Peer:
    def __init__(self, send: Callable[[bytes], None], handlers: Mapping[str, Handler]) -> None:
        self._send_line = send
        self._handlers = handlers
        self._ids = count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._by_id: dict[Any, asyncio.Task[None]] = {}

    async def read(self, lines: asyncio.StreamReader) -> None:
        """Read messages until the other side closes its output."""
        while (line := await _read_line(lines)) != b"":
            if line is None:
                self._fail(None, PARSE_ERROR, "the line is too long")
            elif line.strip():
                self._receive(line)

    async def finish(self) -> None:
        """Finish the requests that came in before the other side closed; our own requests get no answer any more."""
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(RequestRefused("the editor has gone"))
        await asyncio.gather(*self._tasks)

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        self._send({"method": method, "params": params})

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Send the editor a request and return its answer. Raises RequestRefused."""
        number = next(self._ids)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._send({"id": number, "method": method, "params": params})
        try:
            return await answer
        finally:
            del self._waiting[number]

    def _receive(self, line: bytes) -> None:
        try:
            message = from_text(line.decode())
        except ValueError:
            self._fail(None, PARSE_ERROR, "not JSON, or nested too deeply")
            return
        if not isinstance(message, dict):
            self._fail(None, INVALID_REQUEST, "expected an object")
        elif not _is_id(message.get("id")):
            self._fail(None, INVALID_REQUEST, "'id' must be a text, a finite number or null")
        elif message.get("method") == CANCEL:
            self._cancel(message.get("params"))
        elif "method" in message:
            self._begin(message)
        else:
            self._take_answer(message)

    def _begin(self, message: Mapping[str, Any]) -> None:
        number = message.get("id")
        task = asyncio.get_running_loop().create_task(self._answer(message))
        self._tasks.add(task)
        if number is not None:
            self._by_id[number] = task

        def end(ended: asyncio.Task[None]) -> None:
            self._tasks.discard(ended)
            if self._by_id.get(number) is ended:
                del self._by_id[number]

        task.add_done_callback(end)

    def _cancel(self, params: Any) -> None:
        """Cancel a request of the other side; one that is over is ignored."""
        number = params.get("requestId") if isinstance(params, dict) else None
        task = self._by_id.get(number) if isinstance(number, str | int) else None
        if task is not None:
            task.cancel()

    def _take_answer(self, message: Mapping[str, Any]) -> None:
        waiting = self._waiting.get(message["id"]) if isinstance(message.get("id"), int) else None
        if waiting is None or waiting.done():
            return  # nobody waits for it any more
        if "error" in message:
            error = message["error"]
            reason = error.get("message", "") if isinstance(error, dict) else error
            waiting.set_exception(RequestRefused("the editor answered: {reason}", reason=str(reason)))
        else:
            waiting.set_result(message.get("result"))

    async def _answer(self, message: Mapping[str, Any]) -> None:
        number, params = message.get("id"), message.get("params") or {}
        handler = self._handlers.get(str(message["method"]))
        try:
            if handler is None or not isinstance(params, dict):
                code = NO_METHOD if handler is None else INVALID_PARAMS
                self._fail(number, code, f"cannot answer {message['method']}")
                return
            result = await handler(params)
            if number is not None:
                self._send({"id": number, "result": result if result is not None else {}})
        except asyncio.CancelledError:
            self._fail(number, CANCELLED, "the request was cancelled")
        except RpcError as problem:
            self._fail(number, problem.code, explain(problem))
        except NebulaError as problem:
            self._fail(number, INTERNAL, explain(problem))
        except Exception:  # noqa: BLE001 - whoever asked must hear that there will be no answer
            _log.exception("%s failed", message["method"])
            self._fail(number, INTERNAL, "internal error")

    def _fail(self, number: Any, code: int, reason: str) -> None:
        if number is not None or code in (PARSE_ERROR, INVALID_REQUEST):
            self._send({"id": number, "error": {"code": code, "message": reason}})

    def _send(self, message: Mapping[str, Any]) -> None:
        # In ASCII: a lone surrogate from the other side is sent back as it came.
        self._send_line(json.dumps({"jsonrpc": "2.0", **message}, allow_nan=False).encode() + b"\n")


async def _read_line(lines: asyncio.StreamReader) -> bytes | None:
    """Return the next line of `lines`, b"" at the end, or None for a line over the limit, which is skipped."""
    too_long = False
    while True:
        try:
            line = await lines.readuntil(b"\n")
        except asyncio.IncompleteReadError as end:
            line = end.partial
        except asyncio.LimitOverrunError as overrun:
            await lines.readexactly(overrun.consumed)
            too_long = True
            continue
        return None if too_long else line


def _is_id(given: Any) -> bool:
    if isinstance(given, bool):
        return False
    return given is None or isinstance(given, str | int) or (isinstance(given, float) and math.isfinite(given))
