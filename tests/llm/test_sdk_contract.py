"""The vendors' own libraries and our connectors hear the same from the scripted server, on every wire.

Text, tools in parallel, images, thoughts, cached tokens and every error status: what a library takes for real, and
what the connector beside it makes of the same reply.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest

from nebula.llm.anthropic import AnthropicModel
from nebula.llm.contract import Model, ModelReply, ModelRequest
from nebula.llm.gemini import GeminiModel
from nebula.llm.http.retry import RetryPolicy
from nebula.llm.ollama import OllamaModel
from nebula.llm.openai import OpenAIModel
from nebula.messages import ImageBlock, ToolSpec, UserMessage
from nebula.testing import wires
from nebula.value import value
from scripted_model import Call, Fault, RecordedRequest, ScriptedModel, Turn

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
DATA = base64.b64encode(PIXEL).decode()
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
CALLS = [Call("readFile", {"path": "日本語/🦀.txt"}), Call("readFile", {"path": 'b "q"\n'}), Call("list", {})]
TURN = Turn(
    "見ます 🦀👩‍👩‍👧。",
    CALLS,
    thinking="まず考える",
    input_tokens=1000,
    output_tokens=300,
    cached_tokens=600,
    thinking_tokens=200,
)
STATUSES = (400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529)


@value
class Heard:
    """What a client makes of a reply; None: it does not tell."""

    text: str
    calls: list[tuple[str, Any]]
    thought: bool
    cached: int | None


def ask_openai(server: ScriptedModel) -> Heard:
    import openai

    with openai.OpenAI(api_key="k", base_url=server.openai_url, max_retries=0) as client:
        parts = [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": _data_url()}}]
        tool = {"type": "function", "function": {"name": "readFile", "parameters": SCHEMA}}
        with client.chat.completions.stream(
            model="gpt-4.1-nano",
            messages=[{"role": "user", "content": parts}],  # type: ignore[misc,list-item]
            tools=[tool],  # type: ignore[list-item]
            stream_options={"include_usage": True},
        ) as stream:
            raw = [event.chunk for event in stream if event.type == "chunk"]
            done = stream.get_final_completion()
    message = done.choices[0].message
    calls = [(each.function.name, json.loads(each.function.arguments)) for each in message.tool_calls or ()]
    thought = any("reasoning_content" in (chunk.choices[0].delta.model_extra or {}) for chunk in raw if chunk.choices)
    assert done.usage is not None and done.usage.prompt_tokens_details is not None
    return Heard(message.content or "", calls, thought, done.usage.prompt_tokens_details.cached_tokens)


def ask_responses(server: ScriptedModel) -> Heard:
    import openai

    with openai.OpenAI(api_key="k", base_url=server.openai_url, max_retries=0) as client:
        parts = [{"type": "input_text", "text": "hi"}, {"type": "input_image", "image_url": _data_url()}]
        with client.responses.stream(
            model="gpt-5-codex",
            input=[{"role": "user", "content": parts}],  # type: ignore[misc,list-item]
        ) as stream:
            for _ in stream:
                pass
            done = stream.get_final_response()
    calls = [(each.name, json.loads(each.arguments)) for each in done.output if each.type == "function_call"]
    thought = any(each.type == "reasoning" for each in done.output)
    assert done.usage is not None
    return Heard(done.output_text, calls, thought, done.usage.input_tokens_details.cached_tokens)


def ask_gemini(server: ScriptedModel) -> Heard:
    from google import genai
    from google.genai import types

    client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=server.url))
    try:
        contents = [types.Part.from_text(text="hi"), types.Part.from_bytes(data=PIXEL, mime_type="image/png")]
        chunks = list(client.models.generate_content_stream(model="gemini-2.5-flash", contents=contents))
    finally:
        client.close()
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or ()]
    calls = [(part.function_call.name, part.function_call.args) for part in parts if part.function_call]
    text = "".join(part.text or "" for part in parts if not part.thought)
    usage = chunks[-1].usage_metadata
    return Heard(text, calls, any(part.thought for part in parts), usage.cached_content_token_count)


def ask_anthropic(server: ScriptedModel) -> Heard:
    import anthropic

    source = {"type": "base64", "media_type": "image/png", "data": DATA}
    with (
        anthropic.Anthropic(api_key="k", base_url=server.url, max_retries=0) as client,
        client.messages.stream(
            model="claude-sonnet-5-5",
            max_tokens=1000,
            messages=[{"role": "user", "content": [{"type": "image", "source": source}]}],  # type: ignore[typeddict-item,list-item]
            tools=[{"name": "readFile", "input_schema": SCHEMA}],
        ) as stream,
    ):
        message = stream.get_final_message()
    calls = [(each.name, each.input) for each in message.content if each.type == "tool_use"]
    text = "".join(each.text for each in message.content if each.type == "text")
    thought = any(each.type == "thinking" for each in message.content)
    return Heard(text, calls, thought, message.usage.cache_read_input_tokens)


def ask_ollama(server: ScriptedModel) -> Heard:
    import ollama

    client = ollama.Client(host=server.url)
    try:
        messages = [{"role": "user", "content": "hi", "images": [PIXEL]}]
        chunks = list(client.chat(model="qwen3:8b", messages=messages, stream=True))
    finally:
        client._client.close()
    calls = [(call.function.name, call.function.arguments) for each in chunks for call in each.message.tool_calls or ()]
    text = "".join(each.message.content or "" for each in chunks)
    return Heard(text, calls, any(each.message.thinking for each in chunks), None)


def _data_url() -> str:
    return f"data:image/png;base64,{DATA}"


LIBRARIES: dict[str, Callable[[ScriptedModel], Heard]] = {
    "openai": ask_openai,
    "responses": ask_responses,
    "gemini": ask_gemini,
    "anthropic": ask_anthropic,
    "ollama": ask_ollama,
}
NAMES = {
    "openai": "gpt-4.1-nano",
    "responses": "gpt-5-codex",
    "gemini": "gemini-2.5-flash",
    "anthropic": "claude-sonnet-5-5",
    "ollama": "qwen3:8b",
}
everywhere = pytest.mark.parametrize("wire", list(LIBRARIES))


def connect(wire: str, server: ScriptedModel) -> Model:
    once = RetryPolicy(max_attempts=1)
    if wire in ("openai", "responses"):
        return OpenAIModel(server.openai_url, "k", retry=once, environ={})
    if wire == "gemini":
        return GeminiModel(server.url, "k", retry=once, environ={})
    if wire == "anthropic":
        return AnthropicModel(server.url, "k", retry=once, environ={})
    return OllamaModel(server.url, retry=once, environ={})


async def ask_ours(wire: str, server: ScriptedModel) -> Heard:
    plain = UserMessage.new_prompt("hi")
    prompt = UserMessage("", plain.env_context, plain.content, None, (ImageBlock("png", PIXEL),))
    request = ModelRequest(NAMES[wire], "Be brief.", (prompt,), (ToolSpec("readFile", "Read", SCHEMA),))
    model = connect(wire, server)
    try:
        async with aclosing(model.stream(request)) as stream:  # type: ignore[type-var]
            items = [item async for item in stream]
    finally:
        await model.aclose()
    reply = items[-1]
    assert isinstance(reply, ModelReply)
    calls = [(use.name, use.args) for use in reply.message.tool_uses or ()]
    return Heard(reply.message.content, calls, True, reply.usage.cached_input_tokens)


def script_for(wire: str, step: Turn | Fault) -> Callable[[RecordedRequest], Turn | Fault]:
    def answer(request: RecordedRequest) -> Turn | Fault:
        if wire == "responses" and request.path.endswith("/chat/completions"):
            said = "This model is only supported in v1/responses and not in v1/chat/completions."
            return Fault.status_code(404, body=wires.dumps({"error": {"message": said}}))
        return step

    return answer


@everywhere
@pytest.mark.parametrize("fragment", [None, 1])
async def test_a_library_and_our_connector_hear_the_same(wire: str, fragment: int | None) -> None:
    with ScriptedModel(
        script_for(wire, TURN), fragment=fragment, capabilities={"qwen3:8b": ["vision", "tools"]}
    ) as server:
        theirs = LIBRARIES[wire](server)
        ours = await ask_ours(wire, server)
        sent = [turn.body.decode() for turn in server.turns]
    assert theirs.text == ours.text == TURN.text
    assert theirs.calls == ours.calls == [(call.name, call.args) for call in CALLS]
    assert theirs.thought, "thoughts come as thoughts"
    assert (theirs.cached, ours.cached) == ((None, 0) if wire == "ollama" else (600, 600))
    # One of the libraries writes base64 in the letters that are safe in addresses.
    assert DATA in sent[0].replace("-", "+") and DATA in sent[-1], "both send the image"


@everywhere
@pytest.mark.parametrize("status", STATUSES)
def test_a_library_knows_every_error_status(wire: str, status: int) -> None:
    kind = {"responses": "openai"}.get(wire, wire)
    body = wires.error_body(kind, "it went wrong", status).decode()
    with ScriptedModel(lambda _: Fault.status_code(status, body=body)) as server, pytest.raises(Exception) as caught:
        LIBRARIES[wire](server)
    problem: Any = caught.value
    assert (getattr(problem, "status_code", None) or getattr(problem, "code", None)) == status
    assert "it went wrong" in str(problem)
