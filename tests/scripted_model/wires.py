"""The three wire formats. Each function gives the content type and the body as a list of events in bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from scripted_model.script import Call, Turn

JSON, SSE, NDJSON = "application/json", "text/event-stream", "application/x-ndjson"
TEXT_PIECE = 5
ARGUMENT_PIECE = 7
CREATED = 1_767_225_600
CREATED_TEXT = "2026-01-01T00:00:00.000000Z"

Rendered = tuple[str, list[bytes]]


def pieces(text: str, size: int) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def event(value: Any) -> bytes:
    return f"data: {dumps(value)}\n\n".encode()


def openai(turn: Turn, request: Mapping[str, Any], message_id: str, ids: Sequence[str]) -> Rendered:
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
        function = call["function"]
        opening = {**call, "index": index, "function": {"name": function["name"], "arguments": ""}}
        out.append(chunk({"tool_calls": [opening]}))
        for piece in pieces(function["arguments"], ARGUMENT_PIECE):
            out.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
    out.append(chunk({}, finish))
    if (request.get("stream_options") or {}).get("include_usage"):
        out.append(event({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage}))
    out.append(b"data: [DONE]\n\n")
    return SSE, out


def gemini(turn: Turn, stream: bool, model: str, message_id: str, ids: Sequence[str]) -> Rendered:
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


def ollama(turn: Turn, request: Mapping[str, Any]) -> Rendered:
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


def error_event(content_type: str, message: str, status: int) -> bytes:
    """An error in the middle of a stream."""
    if content_type == NDJSON:
        return (dumps({"error": message}) + "\n").encode()
    return event({"error": {"message": message, "code": status, "status": "UNAVAILABLE", "type": "server_error"}})


def error_body(wire: str, message: str, status: int) -> bytes:
    if wire == "ollama":
        return dumps({"error": message}).encode()
    if wire == "gemini":
        return dumps({"error": {"code": status, "message": message, "status": "ERROR"}}).encode()
    return dumps({"error": {"message": message, "type": "error", "param": None, "code": None}}).encode()


def _raw_arguments(call: Call) -> str:
    return call.args if isinstance(call.args, str) else dumps(call.args)


def _gemini_call(call: Call, call_id: str) -> dict[str, Any]:
    part: dict[str, Any] = {"functionCall": {"id": call_id, "name": call.name, "args": call.args}}
    if call.signature is not None:
        part["thoughtSignature"] = call.signature
    return part
