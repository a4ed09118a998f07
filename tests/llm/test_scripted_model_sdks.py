"""The scripted server is a fair stand-in: the vendors' own client libraries take it for real."""

from __future__ import annotations

import json

import pytest

from scripted_model import Call, ScriptedModel, Turn

pytestmark = pytest.mark.slow

TEXT = "調べます 🦀👩‍👩‍👧"
CALL = Call("readFile", {"path": "日本語/🦀.txt"})
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


@pytest.mark.parametrize("fragment", [None, 1, 3])
def test_the_openai_library_streams_from_it(fragment: int | None) -> None:
    import openai

    with (
        ScriptedModel([Turn(TEXT, [CALL])], fragment=fragment) as server,
        openai.OpenAI(api_key="k", base_url=server.openai_url) as client,
    ):
        stream = client.chat.completions.create(
            model="gpt-4.1-nano",
            messages=[{"role": "user", "content": "hi"}],
            tools=[{"type": "function", "function": {"name": "readFile", "parameters": SCHEMA}}],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = list(stream)
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    calls = [call for delta in deltas for call in delta.tool_calls or ()]
    assert "".join(delta.content or "" for delta in deltas) == TEXT
    assert calls[0].id == "call_1"
    assert json.loads("".join(call.function.arguments or "" for call in calls)) == CALL.args
    assert chunks[-1].usage is not None and chunks[-1].usage.completion_tokens == 20


def test_the_openai_library_reads_whole_answers_and_lists() -> None:
    import openai

    with ScriptedModel([Turn(TEXT, [CALL])], api_key="right") as server:
        with openai.OpenAI(api_key="right", base_url=server.openai_url) as client:
            answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
            names = [model.id for model in client.models.list()]
        with (
            openai.OpenAI(api_key="wrong", base_url=server.openai_url) as client,
            pytest.raises(openai.AuthenticationError),
        ):
            client.models.list()
    message = answer.choices[0].message
    assert message.content == TEXT
    assert message.tool_calls is not None and message.tool_calls[0].function.name == "readFile"
    assert names == ["gpt-4.1-nano", "gpt-4.1-mini"]


@pytest.mark.parametrize("fragment", [None, 1, 3])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_gemini_library_streams_from_it(fragment: int | None) -> None:
    from google import genai
    from google.genai import types

    turn = Turn(TEXT, [Call("readFile", {"path": "日本語/🦀.txt"}, signature="c2ln")], thinking="hmm")
    with ScriptedModel([turn, turn], fragment=fragment) as server:
        client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=server.url))
        chunks = list(client.models.generate_content_stream(model="gemini-2.5-flash", contents="hi"))
        whole = client.models.generate_content(model="gemini-2.5-flash", contents="hi")
        names = [model.name for model in client.models.list()]
        client.close()
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or ()]
    assert "".join(part.text or "" for part in parts if not part.thought) == TEXT
    calls = [part for part in parts if part.function_call]
    assert calls[0].function_call.args == CALL.args
    assert calls[0].thought_signature == b"sig"
    assert whole.function_calls is not None and whole.function_calls[0].name == "readFile"
    assert names == ["models/gemini-2.5-flash", "models/gemini-3-pro-preview"]


@pytest.mark.parametrize("fragment", [None, 1, 3])
def test_the_ollama_library_streams_from_it(fragment: int | None) -> None:
    import ollama

    with ScriptedModel([Turn(TEXT, [CALL], thinking="hmm"), Turn(TEXT)], fragment=fragment) as server:
        client = ollama.Client(host=server.url)
        messages = [{"role": "user", "content": "hi"}]
        chunks = list(client.chat(model="qwen3:8b", messages=messages, stream=True))
        whole = client.chat(model="qwen3:8b", messages=messages)
        shown = client.show("qwen3:8b")
        names = [model.model for model in client.list().models]
        client._client.close()
    calls = [call for chunk in chunks for call in chunk.message.tool_calls or ()]
    assert "".join(chunk.message.content or "" for chunk in chunks) == TEXT
    assert calls[0].function.arguments == CALL.args
    assert chunks[-1].done and chunks[-1].eval_count == 20
    assert whole.message.content == TEXT
    assert shown.capabilities == ["completion", "tools"]
    assert shown.modelinfo["llama.context_length"] == 131_072
    assert names == ["qwen3:8b", "hermes3:8b"]


@pytest.mark.parametrize("fragment", [None, 1, 3])
def test_the_anthropic_library_streams_from_it(fragment: int | None) -> None:
    import anthropic

    turn = Turn(TEXT, [CALL], thinking="hm", input_tokens=100, cached_tokens=60, written_tokens=10)
    with (
        ScriptedModel([turn], fragment=fragment) as server,
        anthropic.Anthropic(api_key="k", base_url=server.url) as client,
        client.messages.stream(
            model="claude-sonnet-5-5",
            max_tokens=1000,
            messages=[{"role": "user", "content": "hi"}],
            tools=[{"name": "readFile", "input_schema": SCHEMA}],
        ) as stream,
    ):
        assert "".join(stream.text_stream) == TEXT
        message = stream.get_final_message()
    thought, text, call = message.content
    assert (thought.type, thought.thinking, thought.signature) == ("thinking", "hm", "signed:msg_1")
    assert (text.type, text.text, message.stop_reason) == ("text", TEXT, "tool_use")
    assert (call.type, call.id, call.input) == ("tool_use", "call_1", CALL.args)
    usage = message.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (30, 60, 10)


def test_the_anthropic_library_reads_whole_answers_and_lists() -> None:
    import anthropic

    with ScriptedModel([Turn(TEXT, [CALL])], api_key="right") as server:
        with anthropic.Anthropic(api_key="right", base_url=server.url) as client:
            answer = client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}])
            names = [model.id for model in client.models.list()]
        with (
            anthropic.Anthropic(api_key="wrong", base_url=server.url) as client,
            pytest.raises(anthropic.AuthenticationError),
        ):
            client.models.list()
    assert [block.type for block in answer.content] == ["text", "tool_use"]
    assert names == ["claude-sonnet-5-5", "claude-haiku-4-5"]


def test_the_openai_library_reads_responses_from_it() -> None:
    import openai

    with (
        ScriptedModel([Turn(TEXT, [CALL], thinking="hm")], fragment=3) as server,
        openai.OpenAI(api_key="k", base_url=server.openai_url) as client,
        client.responses.stream(model="gpt-5-codex", input="hi") as stream,
    ):
        texts = [event.delta for event in stream if event.type == "response.output_text.delta"]
        answer = stream.get_final_response()
    assert "".join(texts) == answer.output_text == TEXT
    assert [item.type for item in answer.output] == ["reasoning", "message", "function_call"]
