"""The three connectors against the scripted server, over real HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any

import pytest

from nebula.events import Usage
from nebula.llm.anthropic import AnthropicModel
from nebula.llm.contract import Model, ModelInfo, ModelReply, ModelRequest, TextDelta, Working
from nebula.llm.gemini import GeminiModel
from nebula.llm.ollama import OllamaModel
from nebula.llm.openai import OpenAIModel
from nebula.messages import (
    AssistantMessage,
    AssistantToolUse,
    DeclaredSpec,
    ImageBlock,
    Json,
    Message,
    Text,
    ToolResultStatus,
    ToolSpec,
    ToolUseResult,
    UserMessage,
)
from rows import each_row
from scripted_model import Call, Fault, ScriptedModel, Turn

READ_FILE = ToolSpec(
    "readFile",
    "Read a file",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
CONNECT: dict[str, Callable[[ScriptedModel], Model]] = {
    "openai": lambda server: OpenAIModel(server.openai_url, "test-key", environ={}),
    "gemini": lambda server: GeminiModel(server.url, "test-key", environ={}),
    "anthropic": lambda server: AnthropicModel(server.url, "test-key", environ={}),
    "ollama": lambda server: OllamaModel(server.url, environ={}),
}
MODEL_NAMES = {
    "openai": "gpt-4.1-nano",
    "gemini": "gemini-2.5-flash",
    "anthropic": "claude-sonnet-5-5",
    "ollama": "qwen3:8b",
}

everywhere = pytest.mark.parametrize("wire", ["openai", "gemini", "anthropic", "ollama"])


async def ask(
    model: Model, messages: Sequence[Message], tools: Sequence[ToolSpec] = (READ_FILE,), **more: Any
) -> tuple[str, ModelReply]:
    """The text as it was streamed, and the reply."""
    request = ModelRequest(MODEL_NAMES[model.provider], "Be brief.", messages, tools, **more)
    said = []
    async with aclosing(model.stream(request)) as items:  # type: ignore[type-var]
        async for item in items:
            if isinstance(item, ModelReply):
                return "".join(said), item
            assert isinstance(item, TextDelta | Working)
            said.append(item.text if isinstance(item, TextDelta) else "")
    raise AssertionError("no reply")


async def converse(model: Model, prompt: str, results: Sequence[Sequence[Text | Json]]) -> list[AssistantMessage]:
    """All that the model says, with the tool results of each round given."""
    history: list[Message] = [UserMessage.new_prompt(prompt)]
    heard: list[AssistantMessage] = []
    for blocks in [*results, ()]:
        text, reply = await ask(model, tuple(history))
        assert text == reply.message.content
        heard.append(reply.message)
        uses = reply.message.tool_uses or ()
        history.append(reply.message)
        answers = [
            ToolUseResult(use.id, (block,), ToolResultStatus.Success) for use, block in zip(uses, blocks, strict=True)
        ]
        history.append(UserMessage.new_tool_use_results(answers))
    return heard


CONVERSATION = [
    Turn("まず読みます 🦀。", [Call("readFile", {"path": "日本語/設定 🗾.txt"}), Call("readFile", {"path": "b.txt"})]),
    Turn("", [Call("readFile", {"path": 'c "quoted" \\ \n.txt', "start_line": 3})], thinking="考え中"),
    Turn("できました 👩‍👩‍👧‍👦。\n次は？"),
]
RESULTS = [[Json({"content": "こんにちは 🎌"}), Text("plain")], [Json({"error": "no such file"})]]


def call(number: int, args: dict[str, Any]) -> AssistantToolUse:
    return AssistantToolUse(f"call_{number}", "readFile", "readFile", args, args)


EXPECTED = [
    AssistantMessage.new_tool_use(
        "msg_1", "まず読みます 🦀。", [call(1, {"path": "日本語/設定 🗾.txt"}), call(2, {"path": "b.txt"})]
    ),
    AssistantMessage.new_tool_use("msg_2", "", [call(3, {"path": 'c "quoted" \\ \n.txt', "start_line": 3})]),
    AssistantMessage.new_response("msg_3", "できました 👩‍👩‍👧‍👦。\n次は？"),
]


@everywhere
@pytest.mark.parametrize("fragment", [None, 1, 7])
async def test_one_conversation_is_the_same_on_every_wire(wire: str, fragment: int | None) -> None:
    with ScriptedModel(CONVERSATION, fragment=fragment) as server:
        model = CONNECT[wire](server)
        assert await converse(model, "設定は？", RESULTS) == EXPECTED
        await model.aclose()


@everywhere
async def test_calls_of_a_reply_cut_at_the_output_limit_run_only_where_they_read(wire: str) -> None:
    reading = DeclaredSpec("readFile", "Read a file", READ_FILE.parameters, reads_only=True)
    writing = DeclaredSpec("writeFile", "Write a file")
    calls = [Call("readFile", {"path": "a"}), Call("writeFile", {"path": "a", "content": "half"}), Call("other", {})]
    with ScriptedModel([Turn("", calls, stop="length"), Turn("", calls)]) as server:
        model = CONNECT[wire](server)
        _, cut = await ask(model, [UserMessage.new_prompt("hi")], (reading, writing))
        _, whole = await ask(model, [UserMessage.new_prompt("hi")], (reading, writing))
        await model.aclose()
    assert [use.id in cut.invalid_calls for use in cut.message.tool_uses or ()] == [False, True, True]
    assert all("output limit" in reason for reason in cut.invalid_calls.values())
    assert whole.invalid_calls == {}


@pytest.mark.parametrize("wire", ["openai", "gemini"])
async def test_calls_of_a_reply_that_was_held_back_run_only_where_they_read(wire: str) -> None:
    reading = DeclaredSpec("readFile", "Read a file", READ_FILE.parameters, reads_only=True)
    calls = [Call("readFile", {"path": "a"}), Call("writeFile", {"path": "a", "content": "half"})]
    with ScriptedModel([Turn("", calls, stop="filter")]) as server:
        model = CONNECT[wire](server)
        _, reply = await ask(model, [UserMessage.new_prompt("hi")], (reading,))
        await model.aclose()
    (reason,) = reply.invalid_calls.values()
    assert reply.stop == "filter" and "writeFile" in reason and "held back by the provider" in reason


@each_row(("given", "known"), [({"id": 7}, "7"), ({"id": {}}, "call_1"), ({"id": True}, "True")])
@each_row("name", [{"a": 1}, ["x"], 5, None])
async def test_names_and_ids_of_other_kinds_are_text_or_none(given: dict[str, Any], known: str, name: object) -> None:
    fragment = {"index": 0, **given, "type": "function", "function": {"name": name, "arguments": "{}"}}
    body = {"choices": [{"index": 0, "delta": {"tool_calls": [fragment]}, "finish_reason": "tool_calls"}]}
    with ScriptedModel([Fault.garbage(f"data: {json.dumps(body)}\n\ndata: [DONE]\n\n")]) as server:
        model = CONNECT["openai"](server)
        _, reply = await ask(model, [UserMessage.new_prompt("hi")])
        await model.aclose()
    ((use_id, reason),) = reply.invalid_calls.items()
    assert use_id == known and "no tool name" in reason


@everywhere
async def test_cached_input_and_thoughts_are_counted(wire: str) -> None:
    """On the wire of Gemini the thoughts stand apart (`thoughtsTokenCount`); Ollama tells of no cache."""
    turn = Turn("hi", input_tokens=1000, output_tokens=300, cached_tokens=600, thinking_tokens=200)
    with ScriptedModel([turn]) as server:
        model = CONNECT[wire](server)
        _, reply = await ask(model, [UserMessage.new_prompt("hi")])
        await model.aclose()
    assert reply.usage == Usage(1000, 300, 0 if wire == "ollama" else 600)


@everywhere
async def test_usage_and_stop_are_told(wire: str) -> None:
    script = [Turn("hi", [Call("readFile", {"path": "a"})], input_tokens=7, output_tokens=3), Turn("x", stop="length")]
    with ScriptedModel(script) as server:
        model = CONNECT[wire](server)
        prompt = [UserMessage.new_prompt("hi")]
        _, first = await ask(model, prompt)
        _, second = await ask(model, prompt)
        await model.aclose()
    assert (first.usage, first.stop) == (Usage(7, 3), "tool_calls")
    assert second.stop == "length"


@everywhere
async def test_a_connection_is_kept_over_turns(wire: str) -> None:
    with ScriptedModel([Turn("one"), Turn("two"), Turn("three")]) as server:
        model = CONNECT[wire](server)
        for _ in range(3):
            await ask(model, [UserMessage.new_prompt("hi")])
        await model.aclose()
        assert server.connections == 1


@everywhere
async def test_models_are_listed(wire: str) -> None:
    with ScriptedModel() as server:
        model = CONNECT[wire](server)
        names = [info.name for info in await model.list_models()]
        await model.aclose()
        assert sorted(names) == sorted(server.models[wire])


HISTORY: list[Message] = [
    UserMessage.new_prompt("look\U000e0041 here"),
    EXPECTED[0],
    UserMessage.new_tool_use_results(
        [
            ToolUseResult("call_1", (Json({"content": "x"}),), ToolResultStatus.Success),
            ToolUseResult("call_2", (Text("went wrong"),), ToolResultStatus.Error),
        ]
    ),
]


async def sent(wire: str, messages: Sequence[Message], **more: Any) -> dict[str, Any]:
    with ScriptedModel([Turn("ok")]) as server:
        model = CONNECT[wire](server)
        await ask(model, messages, **more)
        await model.aclose()
        body: dict[str, Any] = server.turns[0].json
        return body


async def test_what_openai_is_sent() -> None:
    body = await sent("openai", HISTORY, temperature=0.0, seed=7, max_output_tokens=99)
    assert body == {
        "model": "gpt-4.1-nano",
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.0,
        "seed": 7,
        "max_completion_tokens": 99,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "look here"},
            {
                "role": "assistant",
                "content": "まず読みます 🦀。",
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "readFile", "arguments": '{"path":"日本語/設定 🗾.txt"}'},
                    },
                    {
                        "id": "call_2",
                        "type": "function",
                        "function": {"name": "readFile", "arguments": '{"path":"b.txt"}'},
                    },
                ],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": '{"content":"x"}'},
            {"role": "tool", "tool_call_id": "call_2", "content": "went wrong"},
        ],
        "tools": [{"type": "function", "function": READ_FILE.to_json()}],
    }


async def test_what_gemini_is_sent() -> None:
    body = await sent("gemini", HISTORY, temperature=0.0, seed=7, max_output_tokens=99)
    assert body == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "generationConfig": {"temperature": 0.0, "seed": 7, "maxOutputTokens": 99},
        "contents": [
            {"role": "user", "parts": [{"text": "look here"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "まず読みます 🦀。"},
                    {"functionCall": {"id": "call_1", "name": "readFile", "args": {"path": "日本語/設定 🗾.txt"}}},
                    {"functionCall": {"id": "call_2", "name": "readFile", "args": {"path": "b.txt"}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "call_1", "name": "readFile", "response": {"content": "x"}}},
                    {"functionResponse": {"id": "call_2", "name": "readFile", "response": {"error": "went wrong"}}},
                ],
            },
        ],
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "readFile",
                        "description": "Read a file",
                        "parametersJsonSchema": READ_FILE.parameters,
                    }
                ]
            }
        ],
    }


async def test_what_ollama_is_sent() -> None:
    body = await sent("ollama", HISTORY, temperature=0.0, seed=7, max_output_tokens=99)
    assert body == {
        "model": "qwen3:8b",
        "stream": True,
        "keep_alive": "30m",
        "options": {"num_ctx": 8192, "temperature": 0.0, "seed": 7, "num_predict": 99},
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "look here"},
            {
                "role": "assistant",
                "content": "まず読みます 🦀。",
                "tool_calls": [
                    {"id": "call_1", "function": {"name": "readFile", "arguments": {"path": "日本語/設定 🗾.txt"}}},
                    {"id": "call_2", "function": {"name": "readFile", "arguments": {"path": "b.txt"}}},
                ],
            },
            {"role": "tool", "tool_call_id": "call_1", "tool_name": "readFile", "content": '{"content":"x"}'},
            {"role": "tool", "tool_call_id": "call_2", "tool_name": "readFile", "content": "went wrong"},
        ],
        "tools": [{"type": "function", "function": READ_FILE.to_json()}],
    }


async def test_gemini_is_sent_no_part_without_a_word() -> None:
    said = [UserMessage.new_prompt("a"), AssistantMessage.new_response(None, ""), UserMessage.new_prompt("b")]
    body = await sent("gemini", said)
    assert [part["text"] for content in body["contents"] for part in content["parts"]] == ["a", "(no answer)", "b"]


async def test_images_travel_on_every_wire() -> None:
    picture = ImageBlock("png", b"\x89PNG")
    said = UserMessage.new_prompt("what is it?")
    message = UserMessage(said.additional_context, said.env_context, said.content, None, (picture,))
    openai, gemini, anthropic, ollama = [await sent(wire, [message]) for wire in MODEL_NAMES]
    url = {"url": "data:image/png;base64,iVBORw=="}
    assert openai["messages"][1]["content"][1] == {"type": "image_url", "image_url": url}
    assert gemini["contents"][0]["parts"][1] == {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}
    assert ollama["messages"][1]["images"] == ["iVBORw=="]
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}
    assert anthropic["messages"][0]["content"][1] == {"type": "image", "source": source}


@everywhere
async def test_a_schema_is_asked_for_in_the_way_of_each_api(wire: str) -> None:
    schema = {"type": "object", "properties": {"tasks": {"type": "array"}}}
    body = await sent(wire, [UserMessage.new_prompt("plan")], json_schema=schema)
    asked = {
        "openai": lambda: body["response_format"]["json_schema"]["schema"],
        "gemini": lambda: body["generationConfig"]["responseJsonSchema"],
        "anthropic": lambda: body["output_config"]["format"]["schema"],
        "ollama": lambda: body["format"],
    }[wire]()
    assert asked == schema


@everywhere
async def test_control_characters_do_not_pass_in_arguments(wire: str) -> None:
    with ScriptedModel([Turn("", [Call("readFile", {"path": "a\u0006\u001b[31m\tb\r\n"})])]) as server:
        model = CONNECT[wire](server)
        _, reply = await ask(model, [UserMessage.new_prompt("hi")])
        await model.aclose()
    assert (reply.message.tool_uses or ())[0].args == {"path": "a[31m\tb\r\n"}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ('{"path": "a', "not valid JSON"),
        ('["a"]', "must be a JSON object"),
        ('{"path": NaN}', "not valid JSON"),
        ('{"a":' * 3000, "not valid JSON"),
    ],
)
async def test_unusable_arguments_keep_the_message_and_say_why(arguments: str, reason: str) -> None:
    script = [Turn("reading", [Call("readFile", arguments), Call("readFile", {"path": "b"})])]
    with ScriptedModel(script) as server:
        model = CONNECT["openai"](server)
        _, reply = await ask(model, [UserMessage.new_prompt("hi")])
        await model.aclose()
    uses = reply.message.tool_uses
    assert uses is not None and [use.args for use in uses] == [{}, {"path": "b"}]
    assert list(reply.invalid_calls) == ["call_1"]
    assert reason in reply.invalid_calls["call_1"]


async def test_a_call_cut_at_the_output_limit_is_told_as_such() -> None:
    with ScriptedModel([Turn("", [Call("writeFile", '{"path": "a", "content": "x')], stop="length")]) as server:
        model = CONNECT["openai"](server)
        _, reply = await ask(model, [UserMessage.new_prompt("hi")])
        await model.aclose()
    assert reply.stop == "length"
    assert "cut off at the output limit" in reply.invalid_calls["call_1"]


@everywhere
async def test_ids_go_on_where_the_history_was_cut(wire: str) -> None:
    shortened = [UserMessage.new_prompt("go on"), AssistantMessage.new_tool_use("msg_8", "", [call(9, {"path": "x"})])]
    shortened.append(UserMessage.new_tool_use_results([ToolUseResult.cancelled("call_9")]))
    with ScriptedModel([Turn("", [Call("readFile", {}, id="call_9")])]) as server:
        model = CONNECT[wire](server)
        _, reply = await ask(model, shortened)
        await model.aclose()
    assert (reply.message.tool_uses or ())[0].id == "call_10"


async def test_gemini_3_gets_its_signatures_back() -> None:
    turns = [Turn("", [Call("readFile", {"path": "a"}, signature="c2ln"), Call("readFile", {"path": "b"})]), Turn("ok")]
    with ScriptedModel(turns) as server:
        model = GeminiModel(server.url, "k", environ={})
        request = ModelRequest("gemini-3-pro-preview", "", [UserMessage.new_prompt("hi")], (READ_FILE,))
        replies = [item async for item in model.stream(request) if isinstance(item, ModelReply)]
        message = replies[0].message
        foreign = AssistantMessage.new_tool_use("msg_0", "Reading.", [call(7, {"path": "z"})])
        results = [ToolUseResult.cancelled(use.id) for use in message.tool_uses or ()]
        history = [
            UserMessage.new_prompt("hi"),
            foreign,
            UserMessage.new_tool_use_results([ToolUseResult.cancelled("call_7")]),
            message,
            UserMessage.new_tool_use_results(results),
        ]
        again = ModelRequest("gemini-3-pro-preview", "", history, (READ_FILE,))
        assert [item async for item in model.stream(again)]
        await model.aclose()
        contents = server.turns[1].json["contents"]
    assert [part.get("thoughtSignature") for part in contents[3]["parts"]] == ["c2ln", None]
    assert [part.get("thoughtSignature") for part in contents[1]["parts"]] == [
        None,
        "skip_thought_signature_validator",
    ]


async def test_openai_parameters_that_a_server_refuses_are_left_out() -> None:
    refusal = '{"error": {"message": "Unsupported parameter: \'%s\' is not supported with this model.", "code": "unsupported_parameter"}}'
    script = [
        Fault.status_code(400, body=refusal % "max_completion_tokens"),
        Fault.status_code(400, body=refusal % "temperature"),
        Turn("fine"),
        Turn("again"),
    ]
    with ScriptedModel(script) as server:
        model = CONNECT["openai"](server)
        for _ in range(2):
            await ask(model, [UserMessage.new_prompt("hi")], temperature=0.0, max_output_tokens=5)
        await model.aclose()
        assert len(server.turns) == 4
        assert "temperature" not in server.turns[3].json
        assert server.turns[3].json["max_tokens"] == 5


async def test_a_server_that_does_not_stream_is_understood() -> None:
    def unstreamed(request: Any) -> Turn:
        request.body = request.body.replace(b'"stream":true', b'"stream":false')
        return Turn("hello", [Call("readFile", {"path": "a"})])

    with ScriptedModel(unstreamed) as server:
        model = CONNECT["openai"](server)
        _, reply = await ask(model, [UserMessage.new_prompt("hi")])
        await model.aclose()
    assert reply.message == AssistantMessage.new_tool_use("msg_1", "hello", [call(1, {"path": "a"})])


async def test_ollama_context_grows_in_steps_up_to_the_limit() -> None:
    with ScriptedModel([Turn("ok")] * 4, context_length=40_000) as server:
        model = OllamaModel(server.url, environ={})
        for size in (10, 40_000, 10, 90_000):
            await ask(model, [UserMessage.new_prompt("x" * size)])
        asked = [request.json["options"]["num_ctx"] for request in server.turns]
        shown = [request for request in server.requests if request.path == "/api/show"]
        await model.aclose()
    assert asked == [8192, 32768, 32768, 40_000]
    assert len(shown) == 1


async def test_ollama_describes_a_model() -> None:
    with ScriptedModel(
        capabilities={"hermes3:8b": ["completion"]}, template={"hermes3:8b": '{{ if eq .Role "tool" }}'}
    ) as server:
        model = OllamaModel(server.url, environ={})
        assert await model.describe("hermes3:8b") == ModelInfo(
            "hermes3:8b", "ollama", 131_072, False, True, False, False
        )
        assert await model.describe("nowhere") == ModelInfo("nowhere", "ollama")
        await model.aclose()
