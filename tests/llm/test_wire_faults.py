"""Every error status, and a stream lost at every byte, on every wire: a reply is whole, or there is none.

Real HTTP. The streams are cut at each byte in the slow part, and at some of them in the fast one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nebula.llm.anthropic import AnthropicModel
from nebula.llm.contract import Model, ModelReply, ModelRequest, Retrying, StreamItem, TextDelta
from nebula.llm.errors import AuthError, LimitError, ModelError, NotFoundError, UnavailableError
from nebula.llm.gemini import GeminiModel
from nebula.llm.http.retry import RetryPolicy
from nebula.llm.ollama import OllamaModel
from nebula.llm.openai import OpenAIModel
from nebula.messages import ToolSpec, UserMessage
from nebula.testing import wires
from scripted_model import Call, Fault, RecordedRequest, ScriptedModel, Turn

KEY = "sk-very-secret-0123456789"
QUICK = RetryPolicy(base_delay_s=0.0, max_delay_s=0.0)
READ = ToolSpec("readFile", "Read a file", {"type": "object", "properties": {"path": {"type": "string"}}})
WHOLE = Turn("見る 🦀.", [Call("readFile", {"path": "あ"}), Call("readFile", {"path": "b"})], thinking="hm")
STATUSES = (400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529)
PASSING = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
KINDS = {401: AuthError, 403: AuthError, 404: NotFoundError, 429: LimitError}
NAMES = {
    "openai": "gpt-4.1-nano",
    "responses": "gpt-5-codex",
    "gemini": "gemini-2.5-flash",
    "anthropic": "claude-sonnet-5-5",
    "ollama": "qwen3:8b",
}
Lost = Callable[[int], Fault]
everywhere = pytest.mark.parametrize("wire", list(NAMES))
either_way = pytest.mark.parametrize("lost", [Fault.cut, Fault.end], ids=["cut", "end"])


def connect(wire: str, server: ScriptedModel, retry: RetryPolicy = QUICK) -> Model:
    if wire in ("openai", "responses"):
        return OpenAIModel(server.openai_url, KEY, retry=retry, environ={})
    if wire == "gemini":
        return GeminiModel(server.url, KEY, retry=retry, environ={})
    if wire == "anthropic":
        return AnthropicModel(server.url, KEY, retry=retry, environ={})
    return OllamaModel(server.url, retry=retry, environ={})


class Script:
    """Answers the next request with `fault`, all others with the whole reply; the chat API has no model for Responses."""

    def __init__(self, wire: str) -> None:
        self.wire = wire
        self.fault: Turn | Fault | None = None
        self.asked = 0

    def __call__(self, request: RecordedRequest) -> Turn | Fault:
        if self.wire == "responses" and request.path.endswith("/chat/completions"):
            said = "This model is only supported in v1/responses and not in v1/chat/completions."
            return Fault.status_code(404, body=wires.dumps({"error": {"message": said}}))
        self.asked += 1
        fault, self.fault = self.fault, None
        return fault or WHOLE


async def items_of(model: Model, wire: str) -> tuple[list[StreamItem], ModelError | None]:
    request = ModelRequest(NAMES[wire], "Be brief.", (UserMessage.new_prompt("hi"),), (READ,))
    items: list[StreamItem] = []
    try:
        async with aclosing(model.stream(request)) as stream:  # type: ignore[type-var]
            async for item in stream:
                items.append(item)
    except ModelError as problem:
        return items, problem
    return items, None


def check_whole(items: list[StreamItem], problem: ModelError | None) -> None:
    """A reply is the whole one, and its words are those that were shown after the last retry."""
    if problem is not None:
        assert KEY not in str(problem) and str(problem) and not any(isinstance(each, ModelReply) for each in items)
        return
    reply = items[-1]
    assert isinstance(reply, ModelReply)
    assert reply.message.content == WHOLE.text and not reply.invalid_calls
    assert [use.args for use in reply.message.tool_uses or ()] == [call.args for call in WHOLE.calls]
    last = max((place for place, each in enumerate(items) if isinstance(each, Retrying)), default=-1)
    assert "".join(each.text for each in items[last + 1 :] if isinstance(each, TextDelta)) == WHOLE.text


def length_of(wire: str) -> int:
    """Return the bytes of the whole reply on a wire, as the server streams it."""
    ids = ["call_1", "call_2"]
    request = {"model": NAMES[wire], "stream": True}
    render: dict[str, Callable[[], wires.Rendered]] = {
        "openai": lambda: wires.openai(WHOLE, {**request, "stream_options": {"include_usage": True}}, "msg_1", ids),
        "responses": lambda: wires.responses(WHOLE, request, "msg_1", ids),
        "gemini": lambda: wires.gemini(WHOLE, True, NAMES[wire], "msg_1", ids),
        "anthropic": lambda: wires.anthropic(WHOLE, request, "msg_1", ids),
        "ollama": lambda: wires.ollama(WHOLE, request),
    }
    return len(b"".join(render[wire]()[1]))


async def lose_at(wire: str, lost: Lost, places: list[int]) -> int:
    """Lose the stream at each of these places, and return how often it was asked for again."""
    script, again = Script(wire), 0
    with ScriptedModel(script) as server:
        model = connect(wire, server)
        await items_of(model, wire)
        for place in places:
            script.fault, script.asked = Turn(WHOLE.text, WHOLE.calls, WHOLE.thinking, fault=lost(place)), 0
            items, problem = await items_of(model, wire)
            check_whole(items, problem)
            assert problem is None, "a stream that is lost once is asked for again"
            again += script.asked - 1
        await model.aclose()
    return again


@pytest.mark.slow
@everywhere
@either_way
async def test_a_stream_lost_at_any_byte_leaves_no_half_reply(wire: str, lost: Lost) -> None:
    """At every other byte in one way, at those between in the other; the next test tries them all by chance."""
    first = 0 if lost == Fault.cut else 1
    places = list(range(first, length_of(wire), 2))
    again = await lose_at(wire, lost, places)
    assert again > len(places) * 0.5, "what comes after the last word of the model may be lost, and no more"


@everywhere
@either_way
@given(share=st.floats(0, 0.999))
async def test_a_stream_lost_somewhere_leaves_no_half_reply(wire: str, lost: Lost, share: float) -> None:
    await lose_at(wire, lost, [int(length_of(wire) * share)])


@everywhere
async def test_a_stream_that_is_lost_every_time_is_an_error(wire: str) -> None:
    script = Script(wire)
    with ScriptedModel(script) as server:
        model = connect(wire, server, RetryPolicy(max_attempts=1))
        await items_of(model, wire)
        for place in range(0, length_of(wire) // 2, 61):
            script.fault = Turn(WHOLE.text, WHOLE.calls, WHOLE.thinking, fault=Fault.cut(place))
            items, problem = await items_of(model, wire)
            check_whole(items, problem)
            assert isinstance(problem, UnavailableError), place
        await model.aclose()


@everywhere
@pytest.mark.parametrize("status", STATUSES)
async def test_every_error_status_is_asked_again_or_said(wire: str, status: int) -> None:
    """One that passes is asked again and forgotten; any other is one error at once, with its status or what to do."""
    script = Script(wire)
    kind = {"responses": "openai"}.get(wire, wire)
    with ScriptedModel(script) as server:
        model = connect(wire, server)
        await items_of(model, wire)
        body = wires.error_body(kind, "it went wrong", status).decode()
        script.fault, script.asked = Fault.status_code(status, body=body), 0
        items, problem = await items_of(model, wire)
        await model.aclose()
    check_whole(items, problem)
    assert (problem is None, script.asked) == ((True, 2) if status in PASSING else (False, 1))
    if problem is not None:
        assert isinstance(problem, KINDS.get(status, ModelError))


@everywhere
@pytest.mark.parametrize("status", sorted(PASSING))
async def test_a_status_that_does_not_pass_is_given_up(wire: str, status: int) -> None:
    script = Script(wire)
    with ScriptedModel(script) as server:
        model = connect(wire, server, RetryPolicy(max_attempts=1))
        await items_of(model, wire)
        script.fault = Fault.status_code(status, body="not even JSON")
        items, problem = await items_of(model, wire)
        await model.aclose()
    check_whole(items, problem)
    assert isinstance(problem, KINDS.get(status, UnavailableError))
