"""Models that are asked through OpenAI's Responses API alone. Real HTTP."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nebula.events import Usage
from nebula.llm.contract import ModelReply, ModelRequest
from nebula.llm.errors import UnavailableError
from nebula.llm.http.http_errors import Service
from nebula.llm.http.sse import SseParser
from nebula.llm.openai import OpenAIModel
from nebula.llm.openai_responses import ResponsesReader
from nebula.messages import ImageBlock, Message, Text, ToolResultStatus, ToolSpec, ToolUseResult, UserMessage
from nebula.testing import wires
from scripted_model import Call, Fault, RecordedRequest, ScriptedModel, Turn

READ = ToolSpec("readFile", "Read a file", {"type": "object", "properties": {"path": {"type": "string"}}})
ELSEWHERE = "This model is only supported in v1/responses and not in v1/chat/completions."
TURN = Turn(
    "見ます 🦀。",
    [Call("readFile", {"path": "日本語"}), Call("readFile", {"path": "b"})],
    thinking="hm",
    input_tokens=100,
    cached_tokens=60,
)


def play(script: list[Turn]) -> object:
    def answer(request: RecordedRequest) -> Turn | Fault:
        if request.path.endswith("/chat/completions"):
            return Fault.status_code(404, body=json.dumps({"error": {"message": ELSEWHERE}}))
        return script.pop(0)

    return answer


async def reply_of(model: OpenAIModel, messages: list[Message]) -> ModelReply:
    request = ModelRequest("gpt-5-codex", "Be brief.", tuple(messages), (READ,))
    reply = [item async for item in model.stream(request)][-1]
    assert isinstance(reply, ModelReply)
    return reply


async def test_a_model_that_has_only_this_api_is_asked_through_it_from_then_on() -> None:
    plain = UserMessage.new_prompt("hi")
    prompt = UserMessage("", plain.env_context, plain.content, None, (ImageBlock("png", b"x"),))
    with ScriptedModel(play([TURN, Turn("ok", stop="length")])) as server:  # type: ignore[arg-type]
        model = OpenAIModel(server.openai_url, "k", environ={}, effort="low")
        first = await reply_of(model, [prompt])
        uses = first.message.tool_uses or ()
        results = [ToolUseResult(use.id, (Text("text"),), ToolResultStatus.Success) for use in uses]
        second = await reply_of(model, [prompt, first.message, UserMessage.new_tool_use_results(results)])
        await model.aclose()
    assert [turn.path for turn in server.turns] == ["/v1/chat/completions", "/v1/responses", "/v1/responses"]
    assert (first.message.content, [use.args for use in uses]) == (TURN.text, [call.args for call in TURN.calls])
    assert (first.usage, first.stop, second.stop) == (Usage(100, 20, 60), "tool_calls", "length")
    body = server.turns[2].json
    assert (body["instructions"], body["store"], body["reasoning"]) == ("Be brief.", False, {"effort": "low"})
    assert [each.get("type") or each["role"] for each in body["input"]] == [
        "user",
        "reasoning",
        "assistant",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
    ]
    assert body["input"][0]["content"][1] == {"type": "input_image", "image_url": "data:image/png;base64,eA=="}
    assert body["input"][1]["encrypted_content"] == "sealed:msg_1"
    assert body["tools"][0]["name"] == "readFile"


BODY = b"".join(wires.responses(TURN, {}, "msg_1", ["call_1", "call_2"])[1])


def read(pieces: list[bytes]) -> tuple[str, ModelReply]:
    reader = ResponsesReader(Service("OpenAI", "http://x", "X"), "m", SseParser())
    shown = [text for piece in pieces for text in reader.feed(piece)]
    return "".join([*shown, *reader.end()]), reader.draft.finish(())


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, len(BODY)), max_size=12))
def test_a_stream_cut_into_any_pieces_is_read_the_same(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(BODY)]
    assert read([BODY[start:end] for start, end in pairwise(places)]) == read([BODY])


def test_a_stream_that_ends_at_any_byte_is_whole_or_an_error() -> None:
    for end in range(len(BODY) - 1):
        with pytest.raises(UnavailableError):
            read([BODY[:end]])
