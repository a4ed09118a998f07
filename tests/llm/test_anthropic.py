"""The connector to Anthropic's Messages API: what is sent, what is read, what goes wrong. Real HTTP."""

from __future__ import annotations

from contextlib import aclosing
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nebula.events import Usage
from nebula.llm.anthropic import AnthropicModel, MessagesReader
from nebula.llm.contract import ModelReply, ModelRequest
from nebula.llm.errors import (
    AuthError,
    BadReplyError,
    ContextExceededError,
    LimitError,
    ModelError,
    NotFoundError,
    UnavailableError,
)
from nebula.llm.http.http_errors import Service
from nebula.llm.http.retry import RetryPolicy
from nebula.llm.http.sse import SseParser
from nebula.messages import Message, Text, ToolResultStatus, ToolSpec, ToolUseResult, UserMessage
from nebula.testing import wires
from rows import each_row
from scripted_model import Call, Fault, ScriptedModel, Turn

READ = ToolSpec("readFile", "Read a file", {"type": "object", "properties": {"path": {"type": "string"}}})
MODEL = "claude-sonnet-5-5"
PROMPT = UserMessage.new_prompt("hi")


def connected(server: ScriptedModel, **more: Any) -> AnthropicModel:
    return AnthropicModel(server.url, "test-key", environ={}, retry=RetryPolicy(max_attempts=1), **more)


async def reply_of(model: AnthropicModel, messages: list[Message], name: str = MODEL, **more: Any) -> ModelReply:
    request = ModelRequest(name, "Be brief.", tuple(messages), (READ,), **more)
    async with aclosing(model.stream(request)) as items:  # type: ignore[type-var]
        async for item in items:
            if isinstance(item, ModelReply):
                return item
    raise AssertionError("no reply")


async def test_tools_system_and_history_go_out_with_their_places_for_the_cache() -> None:
    with ScriptedModel([Turn("hello")]) as server:
        model = connected(server, effort="low")
        await reply_of(model, [PROMPT], temperature=0.0)
        await model.aclose()
    [request] = server.turns
    assert (request.path, request.headers["anthropic-version"]) == ("/v1/messages", "2023-06-01")
    assert request.headers["x-api-key"] == "test-key"
    cached = {"type": "ephemeral"}
    assert request.json == {
        "model": MODEL,
        "max_tokens": 128_000,
        "stream": True,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": cached}],
        "cache_control": cached,
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "low"},
        "tools": [{"name": "readFile", "description": "Read a file", "input_schema": READ.parameters}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    }


async def test_an_older_model_gets_a_temperature_and_neither_thinking_nor_effort() -> None:
    with ScriptedModel([Turn("hello")]) as server:
        model = connected(server, effort="high")
        await reply_of(model, [PROMPT], "claude-haiku-4-5", temperature=0.0)
        await model.aclose()
    body = server.turns[0].json
    assert (body["temperature"], body["max_tokens"]) == (0.0, 64_000)
    assert "thinking" not in body and "output_config" not in body


async def test_thoughts_go_back_with_the_calls_that_they_led_to() -> None:
    script = [
        Turn("I look.", [Call("readFile", {"path": "a"}), Call("readFile", {"path": "b"})], thinking="hm " * 9),
        Turn("ok"),
    ]
    with ScriptedModel(script) as server:
        model = connected(server)
        first = await reply_of(model, [PROMPT])
        uses = first.message.tool_uses or ()
        results = [
            ToolUseResult(uses[0].id, (Text("one"),), ToolResultStatus.Success),
            ToolUseResult(uses[1].id, (Text("two"),), ToolResultStatus.Error),
        ]
        await reply_of(model, [PROMPT, first.message, UserMessage.new_tool_use_results(results)])
        await model.aclose()
    assert first.message.content == "I look."  # thoughts are no part of the answer
    _, said, answered = server.turns[1].json["messages"]
    assert [block["type"] for block in said["content"]] == ["thinking", "text", "tool_use", "tool_use"]
    assert said["content"][0] == {"type": "thinking", "thinking": "hm " * 9, "signature": "signed:msg_1"}
    assert [(each["tool_use_id"], each["content"], each.get("is_error")) for each in answered["content"]] == [
        ("call_1", "one", None),
        ("call_2", "two", True),
    ]


async def test_every_kind_of_token_is_counted() -> None:
    turn = Turn("x", input_tokens=1000, output_tokens=50, cached_tokens=600, written_tokens=300)
    with ScriptedModel([turn]) as server:
        model = connected(server)
        reply = await reply_of(model, [PROMPT])
        await model.aclose()
    assert reply.usage == Usage(1000, 50, 600, 300)


async def test_what_a_model_refuses_is_left_out_from_then_on() -> None:
    refusal = '{"type": "error", "error": {"type": "invalid_request_error", "message": "`temperature` is deprecated"}}'
    with ScriptedModel([Fault.status_code(400, body=refusal), Turn("a"), Turn("b")]) as server:
        model = connected(server)
        for _ in range(2):
            await reply_of(model, [PROMPT], "claude-next-9", temperature=0.5)
        await model.aclose()
    assert ["temperature" in turn.json for turn in server.turns] == [True, False, False]


STATUSES: list[tuple[int, str, type[ModelError]]] = [
    (400, "messages: roles must alternate", BadReplyError),
    (400, "prompt is too long: 207791 tokens > 200000 maximum", ContextExceededError),
    (401, "invalid x-api-key", AuthError),
    (403, "not allowed", AuthError),
    (404, "model: nope", NotFoundError),
    (413, "Request exceeds the maximum size", BadReplyError),
    (429, "rate limit", LimitError),
    (500, "Internal server error", UnavailableError),
    (529, "Overloaded", UnavailableError),
]


@each_row(("status", "said", "kind"), STATUSES, ids=lambda each: str(each)[:30])
async def test_every_error_status_is_one_of_ours(status: int, said: str, kind: type[ModelError]) -> None:
    body = '{"type": "error", "error": {"type": "x", "message": "' + said + '"}}'
    with ScriptedModel([Fault.status_code(status, body=body)] * 4) as server:
        model = connected(server)
        with pytest.raises(ModelError) as error:
            await reply_of(model, [PROMPT])
        await model.aclose()
    assert type(error.value) is kind
    assert "test-key" not in str(error.value)
    if isinstance(error.value, ContextExceededError):
        assert (error.value.context_tokens, error.value.prompt_tokens) == (200_000, 207_791)


async def test_an_error_inside_a_stream_is_one_of_ours() -> None:
    with ScriptedModel([Turn("one two three", fault=Fault.stream_error("Overloaded", 529))]) as server:
        model = connected(server)
        with pytest.raises(UnavailableError, match="Overloaded"):
            await reply_of(model, [PROMPT])
        await model.aclose()


async def test_a_whole_message_is_read_as_well() -> None:
    def play(request: Any) -> Turn:
        request.body = request.body.replace(b'"stream":true', b'"stream":false')
        return Turn("hello", [Call("readFile", {"path": "a"})])

    with ScriptedModel(play) as server:
        model = connected(server)
        reply = await reply_of(model, [PROMPT])
        await model.aclose()
    assert (reply.message.content, [use.args for use in reply.message.tool_uses or ()]) == ("hello", [{"path": "a"}])


TURN = Turn(
    "まず読みます 🦀。", [Call("readFile", {"path": "日本語/🗾.txt"}), Call("readFile", {"path": "b"})], thinking="考え"
)
BODY = b"".join(wires.anthropic(TURN, {"stream": True}, "msg_1", ["call_1", "call_2"])[1])


def read(pieces: list[bytes]) -> tuple[str, ModelReply]:
    reader = MessagesReader(Service("Anthropic", "http://x", "X"), MODEL, SseParser())
    shown = [text for piece in pieces for text in reader.feed(piece)]
    shown += reader.end()
    return "".join(shown), reader.draft.finish(())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, len(BODY)), max_size=12))
def test_a_stream_cut_into_any_pieces_is_read_the_same(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(BODY)]
    pieces = [BODY[start:end] for start, end in pairwise(places)]
    text, reply = read(pieces)
    assert (text, reply) == (TURN.text, read([BODY])[1])
    assert [use.args for use in reply.message.tool_uses or ()] == [call.args for call in TURN.calls]


def test_a_stream_that_ends_at_any_byte_is_whole_or_an_error() -> None:
    whole = read([BODY])
    for end in range(len(BODY)):
        try:
            found = read([BODY[:end]])
        except UnavailableError:
            continue
        assert found[0] == whole[0] and found[1].message == whole[1].message, end
