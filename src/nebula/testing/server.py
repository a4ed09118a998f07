"""The server: a thread with an event loop of its own, so that any test, sync or async, can use it."""

from __future__ import annotations

import asyncio
import atexit
import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from nebula.testing import wires
from nebula.testing.http import (
    NotHttpError,
    format_head,
    has_key,
    read_request,
    reset_connection,
    write_chunk,
    write_whole,
)
from nebula.testing.script import RecordedRequest, ScriptedAnswer, ScriptedFault, ScriptedReply, ScriptStep

DEFAULT_MODELS = {
    "openai": ("gpt-4.1-nano", "gpt-4.1-mini"),
    "gemini": ("gemini-2.5-flash", "gemini-3-pro-preview"),
    "anthropic": ("claude-sonnet-5-5", "claude-haiku-4-5"),
    "ollama": ("qwen3:8b", "hermes3:8b"),
}
PATIENCE_S = 90.0
"""Much more than a busy machine takes, less than a test may."""
GEMINI_ROUTE = re.compile(r"/models/(?P<model>[^/:]+):(?P<verb>generateContent|streamGenerateContent|countTokens)$")


class ScriptedModel:
    """Plays `script` to whoever asks, on a loopback port.

    script            steps taken one by one by model requests, or one function of the request for all of them;
                      a reply of text alone may be that text
    fragment          bodies go out in pieces of so many bytes (1 splits everything), each its own chunk
    api_key           when set, requests without this key are answered 401
    models            names listed, by provider
    capabilities      Ollama's /api/show, by model (default: completion and tools; None: it lists none, as an old one)
    show_status       how /api/show is answered (404: a server that does not have it)
    context_length    the model's limit as /api/show tells it
    template          chat template in /api/show, by model
    properties        what llama.cpp tells at /props; None: no such question
    tls               serve https with this context
    """

    def __init__(
        self,
        script: Sequence[ScriptStep] | Callable[[RecordedRequest], ScriptedAnswer] = (),
        *,
        fragment: int | None = None,
        api_key: str | None = None,
        models: Mapping[str, Sequence[str]] = DEFAULT_MODELS,
        capabilities: Mapping[str, Sequence[str] | None] = {},
        show_status: int = 200,
        context_length: int = 131_072,
        template: Mapping[str, str] = {},
        properties: Mapping[str, Any] | None = None,
        tls: ssl.SSLContext | None = None,
        port: int = 0,
    ) -> None:
        self.script = script
        self.fragment = fragment
        self.api_key = api_key
        self.models = models
        self.capabilities = capabilities
        self.show_status = show_status
        self.context_length = context_length
        self.template = template
        self.properties = properties
        self.requests: list[RecordedRequest] = []
        self.connections = 0
        self.port = port
        self._tls = tls
        self._taken = 0
        self._calls_made = 0
        self._messages_made = 0
        self._changed = threading.Condition()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    # life

    def __enter__(self) -> ScriptedModel:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main(ready)), daemon=True)
        self._thread.start()
        if not ready.wait(PATIENCE_S):
            raise RuntimeError("the scripted model did not start")

    def stop(self) -> None:
        if self._loop is not None and self._thread is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(PATIENCE_S)

    # what tests ask for

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def openai_url(self) -> str:
        return self.url + "/v1"

    def env(self, provider: str = "openai") -> dict[str, str]:
        """Environment variables that point a command at this server."""
        key = self.api_key or "test-key"
        return {
            "openai": {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": self.openai_url},
            "gemini": {"GEMINI_API_KEY": key, "GEMINI_BASE_URL": self.url},
            "anthropic": {"ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": self.url},
            "ollama": {"OLLAMA_HOST": self.url},
        }[provider]

    @property
    def turns(self) -> list[RecordedRequest]:
        """The requests that took a turn of the script."""
        return [request for request in self.requests if request.is_turn]

    def wait_until(self, condition: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
        """Wait for something this server records (`lambda: server.turns[0].disconnected`)."""
        with self._changed:
            if not self._changed.wait_for(condition, timeout_s):
                raise TimeoutError("the scripted model did not see it happen")

    # the server itself

    async def _main(self, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, limit=1 << 26, ssl=self._tls)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._stopping.wait()
        server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        first: bytes | None = b""
        try:
            while first is not None and (request := await read_request(reader, number, first)) is not None:
                with self._changed:
                    self.requests.append(request)
                    self._changed.notify_all()
                first = await self._answer(request, reader, writer)
        except NotHttpError:
            await write_whole(writer, 400, "text/plain", b"this is a plain HTTP server")
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(
        self, request: RecordedRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bytes | None:
        """None when the connection is done with, else what was already read of the next request."""
        answering = asyncio.ensure_future(self._respond(request, writer))
        # A client that goes away shows as the end of what it sends; asking for one byte tells us at once.
        watching = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({answering, watching}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done() and not watching.result():
                raise ConnectionResetError
            if not await answering:
                return None
            return watching.result() if watching.done() else b""
        except ConnectionError:  # also from writing, or from a reset that the watcher met
            if request.answered is None:
                with self._changed:
                    request.disconnected = True
                    self._changed.notify_all()
            return None
        finally:
            answering.cancel()
            watching.cancel()
            await asyncio.wait({answering, watching})

    async def _respond(self, request: RecordedRequest, writer: asyncio.StreamWriter) -> bool:
        step, wire = self._plan(request)
        if isinstance(step, ScriptedFault):
            keep = await self._fail(step, wire, writer)
        elif isinstance(step, tuple):
            status, body = step
            await write_whole(writer, status, wires.JSON, body)
            keep = True
        else:
            keep = await self._play(step, request, wire, writer)
        with self._changed:
            request.answered = time.monotonic()
            self._changed.notify_all()
        return keep

    def _plan(self, request: RecordedRequest) -> tuple[ScriptedReply | ScriptedFault | tuple[int, bytes], str]:
        path = request.path
        is_gemini = "/v1beta" in path or "x-goog-api-key" in request.headers or GEMINI_ROUTE.search(path)
        wire = "gemini" if is_gemini else "ollama" if path.startswith("/api/") else "openai"
        if "anthropic-version" in request.headers:
            wire = "anthropic"
        if self.api_key is not None and not has_key(request, self.api_key):
            return (401, wires.error_body(wire, "Incorrect API key provided.", 401)), wire
        asks_model = (
            path.endswith(("/chat/completions", "/v1/messages", "/responses"))
            or path == "/api/chat"
            or ((match := GEMINI_ROUTE.search(path)) is not None and match["verb"] != "countTokens")
        )
        if request.method == "POST" and asks_model:
            return self._next_step(request), wire
        return self._fact(request, wire), wire

    def _next_step(self, request: RecordedRequest) -> ScriptedReply | ScriptedFault:
        with self._changed:  # whoever waits for a turn has already seen a request that was none yet
            request.is_turn = True
            self._changed.notify_all()
        step = self._take_step()
        answer = step(request) if callable(step) else step
        return ScriptedReply(answer) if isinstance(answer, str) else answer

    def _take_step(self) -> ScriptStep:
        if callable(self.script):
            return self.script
        if self._taken >= len(self.script):
            return ScriptedFault.status_code(400, body=json.dumps({"error": {"message": "the script has ended"}}))
        self._taken += 1
        return self.script[self._taken - 1]

    def _fact(self, request: RecordedRequest, wire: str) -> tuple[int, bytes]:
        """Return an answer that stands in no script: a list or a description."""
        names = self.models.get(wire, ())
        path = request.path
        if request.method == "GET" and path.endswith("/models"):
            return 200, wires.list_models(wire, names)
        if path == "/api/tags":
            return 200, json.dumps({"models": [wires.describe_for_ollama(name) for name in names]}).encode()
        if path == "/props" and self.properties is not None:
            return 200, json.dumps(self.properties).encode()
        if path == "/api/version":
            return 200, b'{"version": "0.12.6"}'
        if path == "/api/show" and request.method == "POST":
            return self._show(request.json.get("model", ""), names)
        if path.endswith(":countTokens"):
            return 200, json.dumps({"totalTokens": len(request.body) // 4}).encode()
        return 404, wires.error_body(wire, "404 page not found", 404)

    def _show(self, model: str, names: Sequence[str]) -> tuple[int, bytes]:
        if self.show_status != 200:
            return self.show_status, wires.error_body("ollama", "no such page", self.show_status)
        if model not in names and f"{model}:latest" not in names:
            return 404, wires.error_body("ollama", f"model '{model}' not found", 404)
        facts = {
            "modelfile": "",
            "parameters": "",
            "details": wires.describe_for_ollama(model)["details"],
            "model_info": {"general.architecture": "llama", "llama.context_length": self.context_length},
        }
        if (listed := self.capabilities.get(model, ("completion", "tools"))) is not None:
            facts["capabilities"] = list(listed)
        if model in self.template:
            facts["template"] = self.template[model]
        return 200, json.dumps(facts).encode()

    async def _play(
        self, turn: ScriptedReply, request: RecordedRequest, wire: str, writer: asyncio.StreamWriter
    ) -> bool:
        while turn.until is not None and not turn.until.is_set():  # noqa: ASYNC110 - another thread sets it
            await asyncio.sleep(0.005)
        fault = turn.fault
        if fault is not None and fault.kind == "slow":
            await asyncio.sleep(fault.seconds)
        content_type, events = self._render(turn, request, wire)
        if content_type == wires.JSON:
            await write_whole(writer, 200, content_type, b"".join(events))
            return True
        if fault is not None and fault.kind == "stream_error":
            events = [
                *events[: len(events) // 2],
                wires.error_event(content_type, fault.body or "", fault.status, wire),
            ]
        if fault is not None and fault.kind == "end":
            events = [b"".join(events)[: fault.after_bytes]]
        writer.write(format_head(200, content_type, {"transfer-encoding": "chunked", "cache-control": "no-cache"}))
        sent = 0
        for piece in self._split(events):
            if turn.pace_s:
                await asyncio.sleep(turn.pace_s)
            if fault is not None and fault.kind in ("cut", "stall") and sent + len(piece) >= fault.after_bytes:
                await write_chunk(writer, piece[: max(0, fault.after_bytes - sent)])
                await asyncio.sleep(fault.seconds)
                reset_connection(writer)
                return False
            await write_chunk(writer, piece)
            sent += len(piece)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    def _render(self, turn: ScriptedReply, request: RecordedRequest, wire: str) -> wires.Rendered:
        body = request.json
        message_id = turn.id or f"msg_{self._messages_made + 1}"
        ids = [call.id or f"call_{self._calls_made + n}" for n, call in enumerate(turn.calls, 1)]
        # Only what arrives whole is counted, so that a conversation has the same ids with and without faults.
        if turn.fault is None or turn.fault.kind == "slow":
            self._messages_made += 1
            self._calls_made += len(ids)
        if request.path.endswith("/responses"):
            return wires.responses(turn, body, message_id, ids)
        if wire == "openai":
            return wires.openai(turn, body, message_id, ids)
        if wire == "anthropic":
            return wires.anthropic(turn, body, message_id, ids)
        if wire == "ollama":
            return wires.ollama(turn, body)
        match = GEMINI_ROUTE.search(request.path)
        if match is None:
            raise ValueError(f"no wire has the path {request.path}")
        return wires.gemini(turn, match["verb"].startswith("stream"), match["model"], message_id, ids)

    def _split(self, events: list[bytes]) -> list[bytes]:
        if self.fragment is None:
            return events
        body = b"".join(events)
        return [body[i : i + self.fragment] for i in range(0, len(body), self.fragment)]

    async def _fail(self, fault: ScriptedFault, wire: str, writer: asyncio.StreamWriter) -> bool:
        if fault.kind == "reset":
            reset_connection(writer)
            return False
        if fault.kind == "close":
            return False
        if fault.kind == "slow":
            await asyncio.sleep(fault.seconds)
            return False
        if fault.kind == "garbage":
            kind = wires.NDJSON if wire == "ollama" else wires.SSE
            await write_whole(writer, 200, kind, (fault.body or "").encode())
            return True
        if fault.kind == "page":
            await write_whole(writer, 200, "text/html", (fault.body or "").encode())
            return True
        body = fault.body if fault.body is not None else wires.error_body(wire, "scripted fault", fault.status).decode()
        await write_whole(writer, fault.status, wires.JSON, body.encode(), fault.headers)
        return True


@cache
def _nobodys_place() -> socket.socket:
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    atexit.register(taken.close)
    return taken


def refused_url() -> str:
    """Return an address where nothing listens, nor will: it is taken, so that no server of another test comes to be
    there."""
    return f"http://127.0.0.1:{_nobodys_place().getsockname()[1]}"
