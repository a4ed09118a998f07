"""Anthropic's Messages API, streamed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from nebula.llm.catalog import known_model
from nebula.llm.connector import Connector, Outgoing, ReplyReader
from nebula.llm.contract import ModelInfo, ModelReply, ModelRequest, Usage
from nebula.llm.errors import ModelError
from nebula.llm.http.client import Headers, HttpResponse
from nebula.llm.http.http_errors import Service, message_in, refusal_error
from nebula.llm.http.sse import Parser, SseParser, WholeParser
from nebula.llm.http.url import percent_encode
from nebula.llm.wire import MOST_PAGES, RawCall, counted, entries_of, remember, to_bytes, told_id, told_name
from nebula.messages import Message, ToolResultStatus, ToolUseResult, UserMessage

VERSION = "2023-06-01"
STOPS = {
    "end_turn": "end",
    "stop_sequence": "end",
    "pause_turn": "end",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filter",
}
STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "overloaded_error": 529,
}
"""The status that an error inside a stream would have had outside of one."""
OPTIONAL_PARAMETERS = ("temperature", "thinking", "effort", "format", "cache_control", "output_config")
"""What a model may refuse and we can do without."""
NO_ANSWER = "(no answer)"
"""Stands for a message without a word: the API refuses a text that is empty."""
LEAST_OUTPUT = 8_192
"""The most that a model writes of which nothing is known."""
MAX_THOUGHTS = 1_000
CACHED = {"type": "ephemeral"}


class AnthropicModel(Connector):
    """Claude. What it thought before it called tools goes back with those calls, as the API wants it."""

    provider = "anthropic"

    def __init__(self, base_url: str = "", api_key: str = "", **limits: Any) -> None:
        super().__init__(base_url, api_key, **limits)
        self._thoughts: dict[str, list[dict[str, Any]]] = {}
        """Message id → the blocks of its thoughts, with their signatures."""
        self._refused: dict[str, set[str]] = {}

    async def list_models(self) -> list[ModelInfo]:
        found: list[ModelInfo] = []
        page = ""
        for _ in range(MOST_PAGES):
            answer = await self._json("GET", f"/v1/models?limit=1000{page}")
            entries = [each for each in entries_of(answer, "data") if isinstance(each.get("id"), str)]
            for each in entries:
                if each.get("lifecycle") != "retired":
                    size = each.get("max_input_tokens")
                    context = size if isinstance(size, int) else None
                    found.append(ModelInfo(each["id"], self.provider, context, tools=True, images=True))
            last = answer.get("last_id")
            if not answer.get("has_more") or not isinstance(last, str) or not entries:
                break
            page = f"&after_id={percent_encode(last)}"
        return found

    async def describe(self, model: str) -> ModelInfo:
        return ModelInfo(model, self.provider, tools=True, images=True)

    def _base_url(self, text: str) -> str:
        return text.rstrip("/").removesuffix("/v1")

    def _key_headers(self, key: str) -> Headers:
        return (("x-api-key", key),)

    def _headers(self) -> Headers:
        return (("anthropic-version", VERSION), *Connector._headers(self))

    async def _outgoing(self, request: ModelRequest) -> Outgoing:
        parts = [to_bytes(self._options(request))[:-1]]
        if request.tools:
            tools = [
                {"name": spec.name, "description": spec.description, "input_schema": spec.parameters}
                for spec in request.tools
            ]
            parts += [b',"tools":', to_bytes(tools)]
        messages = self._fragments.pieces(request.messages, self._render)
        return Outgoing("/v1/messages", b"".join([*parts, b',"messages":', *messages, b"}"]))

    def _options(self, request: ModelRequest) -> dict[str, Any]:
        refused = self._refused.get(request.model, set())
        known = known_model(request.model)
        output = {
            "effort": self._effort if self._effort and known.effort else None,
            "format": None if request.json_schema is None else {"type": "json_schema", "schema": request.json_schema},
        }
        told = {
            # A model that decides itself how much to think takes no temperature.
            "temperature": None if known.adaptive else request.temperature,
            "thinking": {"type": "adaptive"} if known.adaptive else None,
            "cache_control": CACHED,
            "output_config": {name: each for name, each in output.items() if each and name not in refused},
        }
        longest = request.max_output_tokens or known.max_output or LEAST_OUTPUT
        body: dict[str, Any] = {"model": request.model, "max_tokens": longest, "stream": True}
        if request.system:
            system: dict[str, Any] = {"type": "text", "text": request.system}
            body["system"] = [system if "cache_control" in refused else system | {"cache_control": CACHED}]
        return body | {name: each for name, each in told.items() if each not in (None, {}) and name not in refused}

    def _adapt(self, model: str, status: int, body: bytes) -> bool:
        """Leave out, from now on, what this model refuses and we can do without."""
        text = body.decode("utf-8", "replace").lower()
        refused = self._refused.setdefault(model, set())
        named = [name for name in OPTIONAL_PARAMETERS if re.search(rf"\b{name}\b", text) and name not in refused]
        if status != 400 or "too long" in text or not named:
            return False
        refused.add(named[0])
        return True

    def _reader(self, request: ModelRequest, response: HttpResponse) -> ReplyReader:
        if response.content_type in ("text/event-stream", ""):
            return MessagesReader(self._service, request.model, SseParser())
        if response.content_type == "application/json":
            return MessagesReader(self._service, request.model, WholeParser())
        raise self._not_our_api(response)

    def _heard(self, reader: ReplyReader, reply: ModelReply) -> None:
        if not isinstance(reader, MessagesReader) or not reply.message.tool_uses or not reader.thoughts:
            return
        remember(self._thoughts, reply.message.message_id or "", reader.thoughts, MAX_THOUGHTS)

    def _render(self, message: Message, _: Message | None) -> Iterable[object]:
        if isinstance(message, UserMessage):
            yield {"role": "user", "content": _user_blocks(message)}
            return
        blocks = list(self._thoughts.get(message.message_id or "", ())) if message.tool_uses else []
        if message.content.strip() or not message.tool_uses:
            blocks.append({"type": "text", "text": message.content if message.content.strip() else NO_ANSWER})
        for use in message.tool_uses or ():
            blocks.append({"type": "tool_use", "id": _wire_id(use.id), "name": use.name, "input": use.args})
        yield {"role": "assistant", "content": blocks}


class MessagesReader(ReplyReader):
    """Events of a message. A whole message is read as its events."""

    def __init__(self, service: Service, model: str, parser: Parser) -> None:
        super().__init__(service, model, parser)
        self.thoughts: list[dict[str, Any]] = []
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[tuple[int, str], list[str]] = {}
        self._calls: dict[int, RawCall] = {}
        self._usage: dict[str, Any] = {}

    def _take(self, event: dict[str, Any]) -> str:
        kind = event.get("type")
        if kind == "message":
            return self._take_whole(event)
        if kind == "message_start":
            self._begin(event["message"])
        elif kind == "content_block_start":
            return self._open_block(event["index"], event["content_block"])
        elif kind == "content_block_delta":
            return self._add(event["index"], event["delta"])
        elif kind == "message_delta":
            self._end(event["delta"].get("stop_reason"), event.get("usage"))
        elif kind == "message_stop":
            self.is_done = True
        return ""

    def _take_whole(self, message: dict[str, Any]) -> str:
        self._begin(message)
        shown = [self._open_block(place, block) for place, block in enumerate(message["content"])]
        self._end(message.get("stop_reason") or "end_turn", None)
        self.is_done = True
        return "".join(shown)

    def _begin(self, message: dict[str, Any]) -> None:
        self.began = True
        if message.get("id"):
            self.draft.message_id = str(message["id"])
        self._count(message.get("usage"))

    def _end(self, reason: str | None, usage: object) -> None:
        if reason:
            self.draft.stop = STOPS.get(reason, "end")
        self._count(usage)

    def _open_block(self, place: int, block: dict[str, Any]) -> str:
        if block["type"] == "tool_use":
            call = RawCall(told_name(block), told_id(block), block.get("input") or None)
            self._calls[place] = call
            self.draft.calls.append(call)
        elif block["type"] in ("thinking", "redacted_thinking"):
            self._blocks[place] = dict(block)
            self.thoughts.append(self._blocks[place])
        elif block["type"] == "text":
            return self.draft.add_text(block.get("text") or "")
        return ""

    def _add(self, place: int, delta: dict[str, Any]) -> str:
        kind = delta["type"]
        if kind == "text_delta":
            return self.draft.add_text(delta.get("text") or "")
        if kind == "input_json_delta":
            self._calls[place].add_piece(delta.get("partial_json") or "")
        if kind in ("thinking_delta", "signature_delta"):
            key = kind.removesuffix("_delta")
            self._pieces.setdefault((place, key), []).append(delta.get(key) or "")
            self.thoughts_heard += 1
        return ""

    def end(self) -> list[str]:
        shown = super().end()
        for (place, key), pieces in self._pieces.items():
            self._blocks[place][key] = "".join([self._blocks[place].get(key) or "", *pieces])
        return shown

    def _count(self, usage: object) -> None:
        """Take in what was counted so far: each count replaces the one before, and input stands in three parts."""
        if isinstance(usage, Mapping):
            self._usage |= {name: value for name, value in usage.items() if value is not None}
        cached = counted(self._usage, "cache_read_input_tokens")
        written = counted(self._usage, "cache_creation_input_tokens")
        total = counted(self._usage, "input_tokens") + cached + written
        self.draft.usage = Usage(total, counted(self._usage, "output_tokens"), cached, written)

    def _stream_error(self, error: object) -> ModelError:
        kind = error.get("type") if isinstance(error, Mapping) else None
        status = STATUSES.get(str(kind), 500)
        return refusal_error(self._service, self._model, status, message_in(error), str(error))


def _user_blocks(message: UserMessage) -> list[dict[str, Any]]:
    blocks = [_result_block(result) for result in message.tool_use_results or ()]
    text = message.content_with_context()
    if text.strip() or not (blocks or message.images):
        blocks.append({"type": "text", "text": text if text.strip() else NO_ANSWER})
    for image in message.images or ():
        source = {"type": "base64", "media_type": image.media_type, "data": image.base64}
        blocks.append({"type": "image", "source": source})
    return blocks


def _result_block(result: ToolUseResult) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": _wire_id(result.tool_use_id), "content": result.as_text()}
    return block | ({"is_error": True} if result.status is ToolResultStatus.Error else {})


def _wire_id(use_id: str) -> str:
    """Return an id that the API takes; those of other servers may have other characters in them."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", use_id)
