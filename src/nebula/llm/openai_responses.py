"""OpenAI's Responses API, for models that have no other. Nothing is stored there: requests hold the whole history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nebula.llm.connector import ReplyReader
from nebula.llm.contract import ModelRequest
from nebula.llm.http.http_errors import Service
from nebula.llm.http.sse import Parser
from nebula.llm.openai import usage_of
from nebula.llm.wire import FragmentCache, RawCall, remember, to_bytes, to_text, told_id, told_name
from nebula.messages import Message, UserMessage

PATH = "/responses"
MAX_THOUGHTS = 1_000
THOUGHTS = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")


class ResponsesWriter:
    """Puts requests together. What a model thought before it called tools goes back with those calls, encrypted."""

    def __init__(self) -> None:
        self._fragments = FragmentCache()
        self._thoughts: dict[str, list[dict[str, Any]]] = {}

    def write(self, request: ModelRequest, options: Mapping[str, Any]) -> bytes:
        """Return the body of a request; `options` are those of a chat completion that the server did not refuse."""
        body: dict[str, Any] = {"model": request.model, "stream": True, "store": False}
        body["include"] = ["reasoning.encrypted_content"]
        if request.system:
            body["instructions"] = request.system
        if request.max_output_tokens is not None:
            body["max_output_tokens"] = request.max_output_tokens
        if "reasoning_effort" in options:
            body["reasoning"] = {"effort": options["reasoning_effort"]}
        if "temperature" in options:
            body["temperature"] = options["temperature"]
        if "response_format" in options:
            body["text"] = {"format": {"type": "json_schema", "name": "reply", "schema": request.json_schema}}
        if request.tools:
            body["tools"] = [{"type": "function", **spec.to_json(), "strict": False} for spec in request.tools]
        parts = [to_bytes(body)[:-1], b',"input":', *self._fragments.pieces(request.messages, self._render), b"}"]
        return b"".join(parts)

    def remember(self, message_id: str, thoughts: list[dict[str, Any]]) -> None:
        remember(self._thoughts, message_id, thoughts, MAX_THOUGHTS)

    def _render(self, message: Message, _: Message | None) -> Iterable[object]:
        if isinstance(message, UserMessage):
            yield from _user_items(message)
            return
        if message.tool_uses:
            yield from self._thoughts.get(message.message_id or "", ())
        if message.content or not message.tool_uses:
            yield {"role": "assistant", "content": [{"type": "output_text", "text": message.content}]}
        for use in message.tool_uses or ():
            yield {"type": "function_call", "call_id": use.id, "name": use.name, "arguments": to_text(use.args)}


class ResponsesReader(ReplyReader):
    """Events of a response."""

    def __init__(self, service: Service, model: str, parser: Parser) -> None:
        super().__init__(service, model, parser)
        self.thoughts: list[dict[str, Any]] = []
        self._calls: dict[int, RawCall] = {}

    def _take(self, event: dict[str, Any]) -> str:
        kind = event.get("type")
        if kind == "error":
            raise self._stream_error(event)
        if kind == "response.created":
            self.began = True
            self.draft.message_id = str(event["response"]["id"])
        elif kind in ("response.output_text.delta", "response.refusal.delta"):
            return self.draft.add_text(event["delta"])
        elif kind == "response.output_item.added":
            self._open(event["output_index"], event["item"])
        elif kind == "response.function_call_arguments.delta":
            self._calls[event["output_index"]].add_piece(event["delta"])
        elif kind in THOUGHTS:
            self.thoughts_heard += 1
        elif kind == "response.output_item.done" and event["item"]["type"] == "reasoning":
            self.thoughts.append(event["item"])
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            self._end(event["response"])
        return ""

    def _open(self, place: int, item: dict[str, Any]) -> None:
        if item["type"] == "reasoning":
            self.thoughts_heard += 1
        elif item["type"] == "function_call":
            self._calls[place] = RawCall(told_name(item), told_id(item, "call_id"))
            self.draft.calls.append(self._calls[place])

    def _end(self, response: dict[str, Any]) -> None:
        if response.get("error"):
            raise self._stream_error(response["error"])
        reason = str((response.get("incomplete_details") or {}).get("reason"))
        stops = {"max_output_tokens": "length", "content_filter": "filter"}
        self.draft.stop = stops.get(reason, "tool_calls" if self.draft.calls else "end")
        self.draft.usage = usage_of(response.get("usage"), "input_tokens", "output_tokens")
        self.is_done = True


def _user_items(message: UserMessage) -> Iterable[object]:
    for result in message.tool_use_results or ():
        yield {"type": "function_call_output", "call_id": result.tool_use_id, "output": result.as_text()}
    text = message.content_with_context()
    blocks = [{"type": "input_text", "text": text}] if text or not message.tool_use_results else []
    for image in message.images or ():
        blocks.append({"type": "input_image", "image_url": f"data:{image.media_type};base64,{image.base64}"})
    if blocks:
        yield {"role": "user", "content": blocks}
