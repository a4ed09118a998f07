"""Servers of one's own that speak OpenAI's API: what they tell beyond it, and what is made of that."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from nebula.config import load_settings
from nebula.llm.catalog import connect
from nebula.llm.choose import choose_model
from nebula.llm.contract import Model, ModelReply, ModelRequest
from nebula.llm.dialect.json_dialect import reply_schema
from nebula.llm.dialect.tools import make_offer
from nebula.llm.errors import LimitError
from nebula.messages import ToolSpec, UserMessage
from rows import each_row
from scripted_model import Call, Fault, ScriptedModel, Turn

LLAMA = {"default_generation_settings": {"n_ctx": 4096}, "chat_template_caps": {"supports_tools": False}}
TAKES_TOOLS = {**LLAMA, "chat_template_caps": {"supports_tools": True}}
TINY = {"ollama": ["tiny"]}
DIALECT = '{"thought": "", "tool_calls": [{"name": "look", "parameters": {"at": "x"}}], "final_answer": ""}'
LOOK = ToolSpec("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]})
POINTING = ToolSpec("point", "Points.", {"$ref": "#/$defs/point", "$defs": {"point": {"type": "object"}}})


def openai(server: ScriptedModel) -> Model:
    return connect("openai", base_url=server.openai_url, api_key="k", environ={})


async def asked(model: Model, name: str = "tiny") -> ModelReply:
    request = ModelRequest(name, "", [UserMessage.new_prompt("look")], [LOOK])
    items = [item async for item in model.stream(request)]
    await model.aclose()
    reply = items[-1]
    assert isinstance(reply, ModelReply)
    return reply


async def test_llama_cpp_says_that_a_template_has_no_tools() -> None:
    with ScriptedModel([Turn(DIALECT)], properties=LLAMA) as server:
        model = openai(server)
        assert (await model.describe("tiny")).context_length == 4096
        reply = await asked(model)
        body = server.turns[0].json
    assert reply.rung == "json" and reply.message.tool_uses and reply.message.tool_uses[0].args == {"at": "x"}
    assert "tools" not in body
    assert body["response_format"]["json_schema"]["schema"] == reply_schema(make_offer([LOOK]))


async def test_a_template_with_tools_is_offered_them() -> None:
    with ScriptedModel([Turn("seen")], properties=TAKES_TOOLS) as server:
        assert (await asked(openai(server))).rung is None
        assert server.turns[0].json["tools"]


async def test_openais_own_models_are_not_asked_about() -> None:
    with ScriptedModel([Turn("seen")], properties=LLAMA) as server:
        await asked(openai(server), "gpt-4.1-nano")
        assert [request.path for request in server.requests] == ["/v1/chat/completions"]


async def test_a_server_is_asked_once() -> None:
    with ScriptedModel([Turn("seen"), Turn("again")]) as server:
        model = openai(server)
        request = ModelRequest("tiny", "", [UserMessage.new_prompt("look")], [LOOK])
        for _ in range(2):
            _ = [item async for item in model.stream(request)]
        await model.aclose()
        assert [each.path for each in server.requests if not each.is_turn] == ["/props", "/v1/models"]


@pytest.mark.parametrize(
    "refusal",
    [
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        "tools param requires --jinja flag",
        "registry.ollama.ai/library/tiny does not support tools",
        "Unsupported param: tools",
    ],
)
async def test_who_refuses_tools_is_asked_in_the_dialect(refusal: str) -> None:
    fault = Fault.status_code(
        500 if "Unsupported" in refusal else 400, body=json.dumps({"error": {"message": refusal}})
    )
    with ScriptedModel([fault, Turn(DIALECT)]) as server:
        assert (await asked(openai(server))).rung == "json"
        assert "tools" not in server.turns[1].json and "response_format" in server.turns[1].json


@pytest.mark.parametrize("refusal", ['unknown field "response_format"', "Failed to parse grammar"])
async def test_a_server_without_schemas_leaves_the_reading_to_the_ladder(refusal: str) -> None:
    fault = Fault.status_code(400, body=json.dumps({"error": {"message": refusal}}))
    with ScriptedModel([fault, Turn(f"Well:\n```json\n{DIALECT}\n```")], properties=LLAMA) as server:
        reply = await asked(openai(server))
        assert "response_format" in server.turns[0].json and "response_format" not in server.turns[1].json
    assert reply.message.tool_uses and reply.rung not in (None, "json")


async def test_ollama_holds_a_model_without_tools_to_the_schema_and_can_do_without() -> None:
    fault = Fault.status_code(500, body='{"error": "failed to load model vocabulary required for format"}')
    with ScriptedModel([Turn(DIALECT), fault, Turn(DIALECT)], capabilities={"qwen3:8b": ["completion"]}) as server:
        for _ in range(2):
            model = connect("ollama", base_url=server.url, environ={})
            assert (await asked(model, "qwen3:8b")).rung == "json"
        bodies = [turn.json for turn in server.turns]
    assert bodies[0]["format"] == reply_schema(make_offer([LOOK]))
    assert "format" in bodies[1] and "format" not in bodies[2]


@pytest.mark.parametrize("status", [404, 405, 500, 501])
async def test_an_ollama_that_describes_no_model_is_asked_with_tools_until_it_refuses(status: int) -> None:
    fault = Fault.status_code(400, body='{"error": "registry.ollama.ai/library/qwen3:8b does not support tools"}')
    with ScriptedModel([Turn("Native."), fault, Turn(DIALECT), Turn(DIALECT)], show_status=status) as server:
        model = connect("ollama", base_url=server.url, environ={})
        request = ModelRequest("qwen3:8b", "", [UserMessage.new_prompt("look")], [LOOK])
        replies = [[item async for item in model.stream(request)] for _ in range(3)]
        await model.aclose()
        offered = ["tools" in turn.json for turn in server.turns]
    assert [each[-1].rung for each in replies if isinstance(each[-1], ModelReply)] == [None, "json", "json"]
    assert offered == [True, True, False, False]  # refused once, it is not offered tools again


@pytest.mark.parametrize(
    ("template", "rung"), [("{{ .System }} {{ .Prompt }}", "json"), ("{{ range $.Tools }}{{ . }}{{ end }}", None)]
)
async def test_an_old_ollama_takes_tools_where_the_template_does(template: str, rung: str | None) -> None:
    """Before it listed abilities it refused tools by the template, and before that it left them out unsaid."""
    script = [Turn(DIALECT) if rung else Turn("", [Call("look", {"at": "x"})])]
    with ScriptedModel(script, capabilities={"tiny": None}, template={"tiny": template}, models=TINY) as server:
        reply = await asked(connect("ollama", base_url=server.url, environ={}))
        assert ("tools" in server.turns[0].json) is (rung is None)
    assert reply.rung == rung and [use.name for use in reply.message.tool_uses or ()] == ["look"]


async def test_a_prompt_too_long_for_llama_cpp_is_an_overflow() -> None:
    said = "request (12031 tokens) exceeds the available context size (8192 tokens), try increasing it"
    body = f'{{"error": {{"code": 400, "message": "{said}", "type": "exceed_context_size_error"}}}}'
    with (
        ScriptedModel([Fault.status_code(400, body=body)], properties=TAKES_TOOLS) as server,
        pytest.raises(LimitError, match="does not fit into the context window of tiny"),
    ):
        await asked(openai(server))


def test_the_schema_holds_each_tool_to_its_own_parameters() -> None:
    calls: list[Any] = reply_schema(make_offer([LOOK, POINTING]))["properties"]["tool_calls"]["items"]["anyOf"]
    look, point = calls
    assert look["properties"]["name"]["enum"] == ["look"]
    assert look["properties"]["parameters"] == {**LOOK.parameters, "additionalProperties": False}
    assert point["properties"]["parameters"] == {"type": "object"}


@pytest.mark.parametrize(
    ("models", "expected"), [(["only-one"], "only-one"), (["one", "two"], "gpt-4.1-nano"), ([], "gpt-4.1-nano")]
)
async def test_a_server_with_one_model_is_used_without_naming_it(
    tmp_path: Path, models: list[str], expected: str
) -> None:
    with ScriptedModel(models={"openai": models}) as server:
        settings = load_settings(str(tmp_path), {"NEBULA_HOME": str(tmp_path), "OPENAI_BASE_URL": server.openai_url})
        chosen = await choose_model(settings)
        await chosen.connector.aclose()
    assert (chosen.provider, chosen.name) == ("openai", expected)


async def test_a_server_is_asked_for_its_models_once(tmp_path: Path) -> None:
    """Also where the list decides which model, and tells how much it takes."""
    with ScriptedModel([Turn("Hello.")], models={"openai": ["only-one"]}) as server:
        settings = load_settings(str(tmp_path), {"NEBULA_HOME": str(tmp_path), "OPENAI_BASE_URL": server.openai_url})
        chosen = await choose_model(settings)
        assert [item async for item in chosen.connector.stream(ModelRequest(chosen.name, "", ()))]
        await chosen.connector.aclose()
        assert [each.path for each in server.requests] == ["/v1/models", "/props", "/v1/chat/completions"]


async def test_behind_a_key_is_the_provider_by_another_way(tmp_path: Path) -> None:
    with ScriptedModel(models={"openai": ["only-one"]}) as server:
        chosen = await choose_model(load_settings(str(tmp_path), {"NEBULA_HOME": str(tmp_path), **server.env()}))
        await chosen.connector.aclose()
        assert (chosen.name, server.requests) == ("gpt-4.1-nano", [])


ODD = {
    "content in parts": '{"choices": [{"index": 0, "delta": {"content": [{"type": "text", "text": "Hel"}, {"text": "lo"}]}, "finish_reason": "stop"}]}',
    "NaN in the usage": '{"choices": [{"delta": {"content": "Hello"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": NaN, "completion_tokens": 3}}',
    "choices in any order": '{"choices": [{"index": 1, "delta": {"content": "No"}}, {"index": 0, "delta": {"content": "Hello"}, "finish_reason": "stop"}]}',
}


@each_row("event", ODD)
@each_row("kind", ["text/event-stream", "text/plain", "application/json", "application/octet-stream"])
def test_an_odd_server_is_understood(event: str, kind: str) -> None:
    from nebula.llm.openai import OpenAIModel

    class Response:
        content_type = kind

    model = OpenAIModel("http://127.0.0.1:1/v1", environ={})
    reader = model._reader(ModelRequest("m", "", ()), Response())  # type: ignore[arg-type]
    shown = reader.feed(f"data: {ODD[event]}\n\ndata: [DONE]\n\n".encode())
    assert "".join([*shown, *reader.end()]) == "Hello"


@pytest.mark.parametrize(
    "delta",
    [{"content": "x" * 1000}, {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "x" * 1000}}]}],
)
def test_an_answer_without_end_is_stopped_early(delta: dict[str, object]) -> None:
    """At four million characters, not at hundreds of megabytes."""
    from nebula.llm.errors import BadReplyError
    from nebula.llm.openai import OpenAIModel

    class Response:
        content_type = "text/event-stream"

    reader = OpenAIModel("http://127.0.0.1:1/v1", environ={})._reader(ModelRequest("m", "", ()), Response())  # type: ignore[arg-type]
    event = f"data: {json.dumps({'choices': [{'delta': delta}]})}\n\n".encode()
    with pytest.raises(BadReplyError, match="without end"):
        for _ in range(5_000):
            reader.feed(event)


@pytest.mark.parametrize(("model", "ran"), [("gpt-4.1-nano", []), ("tiny", ["look"])])
async def test_a_providers_own_model_behind_another_address_answers_in_text(model: str, ran: list[str]) -> None:
    """What looks like a call is one only of a model that may have no tool calls."""
    with ScriptedModel([Turn('{"name": "look", "arguments": {"at": "x"}}')]) as server:
        reply = await asked(openai(server), model)
    assert [use.name for use in reply.message.tool_uses or ()] == ran


ODD_LISTS = [5, "x", [1], {"a": 1}, [[1]], [None], [{"id": 5, "name": {}, "model": [1]}], True]


@pytest.mark.parametrize("odd", ODD_LISTS, ids=repr)
@pytest.mark.parametrize("provider", ["openai", "ollama", "gemini", "anthropic"])
async def test_odd_answers_about_models_are_passed_over(provider: str, odd: object) -> None:
    """Also one that names a next page each time."""
    fields = (
        "data",
        "models",
        "model_info",
        "capabilities",
        "template",
        "chat_template_caps",
        "nextPageToken",
        "last_id",
    )
    body = json.dumps(dict.fromkeys(fields, odd) | {"nextPageToken": "more", "has_more": True}).encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0] or 0))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n")
        writer.write(b"content-length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        model = connect(provider, base_url=url, api_key="k", environ={})
        assert all(isinstance(each.name, str) for each in await asyncio.wait_for(model.list_models(), 20))
        assert (await model.describe("tiny")).context_length is None
        await model.aclose()
