"""The wire formats. Each function gives the content type and the body as a list of events in bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nebula.testing.script import ScriptedCall, ScriptedReply

JSON, SSE, NDJSON = "application/json", "text/event-stream", "application/x-ndjson"
TEXT_PIECE = 5
ARGUMENT_PIECE = 7
MOST_PIECES = 200
"""A stream of more of them shows nothing new: pieces of a long text are longer."""
CREATED = 1_767_225_600
CREATED_TEXT = "2026-01-01T00:00:00.000000Z"

Rendered = tuple[str, list[bytes]]


def pieces(text: str, size: int) -> list[str]:
    size = max(size, len(text) // MOST_PIECES)
    return [text[i : i + size] for i in range(0, len(text), size)]


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def event(value: Any) -> bytes:
    return f"data: {dumps(value)}\n\n".encode()


def openai(turn: ScriptedReply, request: Mapping[str, Any], message_id: str, ids: Sequence[str]) -> Rendered:
    head = {"id": message_id, "created": CREATED, "model": request.get("model", "m")}
    finish = {"length": "length", "filter": "content_filter"}.get(
        turn.stop or "", "tool_calls" if turn.calls else "stop"
    )
    usage = {
        "prompt_tokens": turn.input_tokens,
        "completion_tokens": turn.output_tokens,
        "total_tokens": turn.input_tokens + turn.output_tokens,
        "prompt_tokens_details": {"cached_tokens": turn.cached_tokens, "cache_write_tokens": turn.written_tokens},
        "completion_tokens_details": {"reasoning_tokens": turn.thinking_tokens},
    }
    calls = [
        {"id": call_id, "type": "function", "function": {"name": call.name, "arguments": _raw_arguments(call)}}
        for call, call_id in zip(turn.calls, ids, strict=True)
    ]
    if not request.get("stream"):
        message = {"role": "assistant", "content": turn.text or None, **({"tool_calls": calls} if calls else {})}
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        return JSON, [dumps({**head, "object": "chat.completion", "choices": [choice], "usage": usage}).encode()]

    def chunk(delta: Mapping[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return event({**head, "object": "chat.completion.chunk", "choices": [choice]})

    out = [chunk({"role": "assistant", "content": ""})]
    if turn.thinking:
        out.append(chunk({"reasoning_content": turn.thinking}))
    out += [chunk({"content": piece}) for piece in pieces(turn.text, TEXT_PIECE)]
    for index, call in enumerate(calls):
        function: Any = call["function"]
        opening = {**call, "index": index, "function": {"name": function["name"], "arguments": ""}}
        out.append(chunk({"tool_calls": [opening]}))
        for piece in pieces(function["arguments"], ARGUMENT_PIECE):
            out.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
    out.append(chunk({}, finish))
    if (request.get("stream_options") or {}).get("include_usage"):
        out.append(event({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage}))
    out.append(b"data: [DONE]\n\n")
    return SSE, out


def responses(turn: ScriptedReply, request: Mapping[str, Any], message_id: str, ids: Sequence[str]) -> Rendered:
    """Return OpenAI's Responses API, streamed."""
    head = {"id": message_id, "object": "response", "created_at": CREATED, "model": request.get("model", "m")}
    head |= {"output": [], "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "status": "in_progress"}
    events = _ResponseEvents()
    events.add("response.created", response=head)
    if turn.thinking:
        item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": f"sealed:{message_id}"}
        events.begin(item)
        events.end(item)
    if turn.text:
        events.say(turn.text)
    for call, call_id in zip(turn.calls, ids, strict=True):
        events.call(call, call_id)
    reason = {"length": "max_output_tokens", "filter": "content_filter"}.get(turn.stop or "")
    usage = {
        "input_tokens": turn.input_tokens,
        "input_tokens_details": {"cached_tokens": turn.cached_tokens, "cache_write_tokens": turn.written_tokens},
        "output_tokens": turn.output_tokens,
        "output_tokens_details": {"reasoning_tokens": turn.thinking_tokens},
        "total_tokens": turn.input_tokens + turn.output_tokens,
    }
    state = "incomplete" if reason else "completed"
    done = head | {"status": state, "output": events.items, "usage": usage}
    done["incomplete_details"] = {"reason": reason} if reason else None
    events.add(f"response.{state}", response=done)
    return SSE, events.out


class _ResponseEvents:
    """The events of one response, numbered, and the items that they are about."""

    def __init__(self) -> None:
        self.out: list[bytes] = []
        self.items: list[dict[str, Any]] = []

    def add(self, kind: str, **data: Any) -> None:
        self.out.append(named_event(kind, sequence_number=len(self.out), **data))

    def begin(self, item: Mapping[str, Any]) -> None:
        self.add("response.output_item.added", output_index=len(self.items), item=item)

    def end(self, item: dict[str, Any]) -> None:
        self.add("response.output_item.done", output_index=len(self.items), item=item)
        self.items.append(item)

    def say(self, text: str) -> None:
        item = {"type": "message", "id": "m_1", "role": "assistant", "status": "in_progress", "content": []}
        part = {"type": "output_text", "text": "", "annotations": []}
        where = {"item_id": "m_1", "output_index": len(self.items), "content_index": 0}
        self.begin(item)
        self.add("response.content_part.added", **where, part=part)
        for piece in pieces(text, TEXT_PIECE):
            self.add("response.output_text.delta", **where, delta=piece, logprobs=[])
        self.end(item | {"status": "completed", "content": [part | {"text": text}]})

    def call(self, call: ScriptedCall, call_id: str) -> None:
        item = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": call.name, "arguments": ""}
        where = {"item_id": item["id"], "output_index": len(self.items)}
        self.begin(item)
        for piece in pieces(_raw_arguments(call), ARGUMENT_PIECE):
            self.add("response.function_call_arguments.delta", **where, delta=piece)
        self.end(item | {"arguments": _raw_arguments(call), "status": "completed"})


def gemini(turn: ScriptedReply, stream: bool, model: str, message_id: str, ids: Sequence[str]) -> Rendered:
    usage = {
        "promptTokenCount": turn.input_tokens,
        "candidatesTokenCount": turn.output_tokens - turn.thinking_tokens,
        "totalTokenCount": turn.input_tokens + turn.output_tokens,
    }
    if turn.thinking_tokens:
        usage["thoughtsTokenCount"] = turn.thinking_tokens
    if turn.cached_tokens:
        usage["cachedContentTokenCount"] = turn.cached_tokens
    finish = {"length": "MAX_TOKENS", "filter": "SAFETY"}.get(turn.stop or "", "STOP")

    def chunk(parts: list[dict[str, Any]], reason: str | None = None) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
        if reason:
            candidate["finishReason"] = reason
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model, "responseId": message_id}

    calls = [_gemini_call(call, call_id) for call, call_id in zip(turn.calls, ids, strict=True)]
    thoughts = [{"text": turn.thinking, "thought": True}] if turn.thinking else []
    if not stream:
        text = [{"text": turn.text}] if turn.text else []
        return JSON, [dumps(chunk([*thoughts, *text, *calls], finish)).encode()]
    chunks = [chunk([part]) for part in thoughts]
    chunks += [chunk([{"text": piece}]) for piece in pieces(turn.text, TEXT_PIECE)]
    chunks += [chunk([part]) for part in calls]
    chunks.append(chunk([{"text": ""}], finish))
    return SSE, [event(each) for each in chunks]


def anthropic(turn: ScriptedReply, request: Mapping[str, Any], message_id: str, ids: Sequence[str]) -> Rendered:
    stop = {"length": "max_tokens", "filter": "refusal"}.get(turn.stop or "", "tool_use" if turn.calls else "end_turn")
    fresh = turn.input_tokens - turn.cached_tokens - turn.written_tokens
    usage = {
        "input_tokens": fresh,
        "output_tokens": turn.output_tokens,
        "cache_read_input_tokens": turn.cached_tokens,
        "cache_creation_input_tokens": turn.written_tokens,
    }
    blocks: list[dict[str, Any]] = []
    if turn.thinking:
        blocks.append({"type": "thinking", "thinking": turn.thinking, "signature": f"signed:{message_id}"})
    if turn.text:
        blocks.append({"type": "text", "text": turn.text})
    for call, call_id in zip(turn.calls, ids, strict=True):
        blocks.append({"type": "tool_use", "id": call_id, "name": call.name, "input": call.args})
    head = {"id": message_id, "type": "message", "role": "assistant", "model": request.get("model", "m")}
    if not request.get("stream"):
        whole = {**head, "content": blocks, "stop_reason": stop, "stop_sequence": None, "usage": usage}
        return JSON, [dumps(whole).encode()]
    begun = {**head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": {**usage, "output_tokens": 1}}
    out = [named_event("message_start", message=begun), named_event("ping")]
    for index, block in enumerate(blocks):
        out += _anthropic_block(index, block)
    delta = {"stop_reason": stop, "stop_sequence": None}
    out.append(named_event("message_delta", delta=delta, usage={"output_tokens": turn.output_tokens}))
    out.append(named_event("message_stop"))
    return SSE, out


def _anthropic_block(index: int, block: dict[str, Any]) -> list[bytes]:
    kind = block["type"]
    blanks: dict[str, dict[str, Any]] = {"thinking": {"thinking": "", "signature": ""}, "text": {"text": ""}}
    empty = blanks.get(kind, {"input": {}})
    out = [named_event("content_block_start", index=index, content_block=block | empty)]
    deltas: list[dict[str, Any]] = []
    if kind == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": each} for each in pieces(block["thinking"], TEXT_PIECE)]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    elif kind == "text":
        deltas = [{"type": "text_delta", "text": each} for each in pieces(block["text"], TEXT_PIECE)]
    else:
        arguments = block["input"] if isinstance(block["input"], str) else dumps(block["input"])
        deltas = [{"type": "input_json_delta", "partial_json": each} for each in pieces(arguments, ARGUMENT_PIECE)]
    out += [named_event("content_block_delta", index=index, delta=delta) for delta in deltas]
    return [*out, named_event("content_block_stop", index=index)]


def named_event(kind: str, **data: Any) -> bytes:
    return f"event: {kind}\ndata: {dumps({'type': kind, **data})}\n\n".encode()


def ollama(turn: ScriptedReply, request: Mapping[str, Any]) -> Rendered:
    head = {"model": request.get("model", "m"), "created_at": CREATED_TEXT}
    end = {
        "done": True,
        "done_reason": "length" if turn.stop == "length" else "stop",
        "total_duration": 5_000_000,
        "load_duration": 1_000_000,
        "prompt_eval_count": turn.input_tokens,
        "prompt_eval_duration": 1_000_000,
        "eval_count": turn.output_tokens,
        "eval_duration": 3_000_000,
    }
    calls = [{"function": {"name": call.name, "arguments": call.args}} for call in turn.calls]
    if request.get("stream") is False:
        message = {"role": "assistant", "content": turn.text, **({"tool_calls": calls} if calls else {})}
        return JSON, [dumps({**head, "message": message, **end}).encode()]

    def line(message: Mapping[str, Any], last: Mapping[str, Any] = {"done": False}) -> bytes:
        return (dumps({**head, "message": {"role": "assistant", "content": "", **message}, **last}) + "\n").encode()

    out = [line({"thinking": turn.thinking})] if turn.thinking else []
    out += [line({"content": piece}) for piece in pieces(turn.text, TEXT_PIECE)]
    out += [line({"tool_calls": [call]}) for call in calls]
    out.append(line({}, end))
    return NDJSON, out


def list_models(wire: str, names: Sequence[str]) -> bytes:
    """Return the models that the server says it has, in the words of a provider."""
    if wire == "gemini":
        listed: dict[str, Any] = {
            "models": [
                {
                    "name": f"models/{name}",
                    "displayName": name,
                    "inputTokenLimit": 1_048_576,
                    "outputTokenLimit": 65_536,
                    "supportedGenerationMethods": ["generateContent", "countTokens"],
                }
                for name in names
            ]
        }
    elif wire == "anthropic":
        facts = {"type": "model", "created_at": CREATED_TEXT, "lifecycle": "active", "max_input_tokens": 200_000}
        entries = [{"id": name, "display_name": name, **facts} for name in names]
        listed = {"data": entries, "has_more": False, "first_id": names[0], "last_id": names[-1]} if names else {}
    else:
        entries = [{"id": name, "object": "model", "created": CREATED, "owned_by": "test"} for name in names]
        listed = {"object": "list", "data": entries}
    return dumps(listed).encode()


def describe_for_ollama(name: str) -> dict[str, Any]:
    details = {
        "parent_model": "",
        "format": "gguf",
        "family": "llama",
        "families": ["llama"],
        "parameter_size": "8B",
        "quantization_level": "Q4_K_M",
    }
    return {
        "name": name,
        "model": name,
        "modified_at": CREATED_TEXT,
        "size": 5_000_000_000,
        "digest": "0" * 64,
        "details": details,
    }


def error_event(content_type: str, message: str, status: int, wire: str = "") -> bytes:
    """Return an error in the middle of a stream."""
    if wire == "anthropic":
        kind = {429: "rate_limit_error", 400: "invalid_request_error"}.get(status, "overloaded_error")
        return named_event("error", error={"type": kind, "message": message})
    if content_type == NDJSON:
        return (dumps({"error": message}) + "\n").encode()
    return event({"error": {"message": message, "code": status, "status": "UNAVAILABLE", "type": "server_error"}})


def error_body(wire: str, message: str, status: int) -> bytes:
    if wire == "ollama":
        return dumps({"error": message}).encode()
    if wire == "anthropic":
        return dumps({"type": "error", "error": {"type": "api_error", "message": message}}).encode()
    if wire == "gemini":
        return dumps({"error": {"code": status, "message": message, "status": "ERROR"}}).encode()
    return dumps({"error": {"message": message, "type": "error", "param": None, "code": None}}).encode()


def _raw_arguments(call: ScriptedCall) -> str:
    return call.args if isinstance(call.args, str) else dumps(call.args)


def _gemini_call(call: ScriptedCall, call_id: str) -> dict[str, Any]:
    part: dict[str, Any] = {"functionCall": {"id": call_id, "name": call.name, "args": call.args}}
    if call.signature is not None:
        part["thoughtSignature"] = call.signature
    return part
