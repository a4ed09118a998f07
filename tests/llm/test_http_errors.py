"""What goes wrong between us and a model: retries, cuts, time-outs, refusals, and the sentence each gets."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from nebula.language import Sentence
from nebula.llm.contract import (
    Model,
    ModelNotice,
    ModelReply,
    ModelRequest,
    Retrying,
    StreamItem,
    TextDelta,
    Usage,
    why_no_answer,
)
from nebula.llm.errors import (
    AuthError,
    BadReplyError,
    ContextExceededError,
    LimitError,
    ModelError,
    NotFoundError,
    UnavailableError,
)
from nebula.llm.gemini import GeminiModel
from nebula.llm.http.client import Timeouts
from nebula.llm.http.retry import RetryPolicy, parse_retry_after
from nebula.llm.http.waiting import with_waiting_notices
from nebula.llm.ollama import OllamaModel
from nebula.llm.openai import OpenAIModel
from nebula.messages import UserMessage
from rows import each_row
from scripted_model import Call, Fault, ScriptedModel, Turn, refused_url

KEY = "sk-very-secret-0123456789"
QUICK = RetryPolicy(base_delay_s=0.01, max_delay_s=0.02, max_retry_after_s=0.3)
everywhere = pytest.mark.parametrize("wire", ["openai", "gemini", "ollama"])


def model_at(url: str, wire: str = "openai", **more: Any) -> Model:
    more = {"retry": QUICK, "environ": {}, **more}
    if wire == "openai":
        return OpenAIModel(url + "/v1", KEY, **more)
    return GeminiModel(url, KEY, **more) if wire == "gemini" else OllamaModel(url, **more)


async def items_of(model: Model) -> list[StreamItem]:
    request = ModelRequest("some-model", "", [UserMessage.new_prompt("hi")])
    try:
        async with aclosing(model.stream(request)) as items:  # type: ignore[type-var]
            return [item async for item in items]
    finally:
        await model.aclose()


async def items_from(script: Sequence[Any], wire: str = "openai", **more: Any) -> list[StreamItem]:
    with ScriptedModel(script) as server:
        return await items_of(model_at(server.url, wire, **more))


async def error_from(script: Sequence[Any], wire: str = "openai", **more: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await items_from(script, wire, **more)
    assert KEY not in str(caught.value) and KEY not in repr(caught.value)
    return caught.value


def retries(items: Sequence[StreamItem]) -> list[Retrying]:
    return [item for item in items if isinstance(item, Retrying)]


@everywhere
@pytest.mark.parametrize("fault", [Fault.status_code(429), Fault.status_code(503), Fault.reset(), Fault.close()])
async def test_a_passing_fault_is_retried(wire: str, fault: Fault) -> None:
    items = await items_from([fault, fault, Turn("hello")], wire)
    # On Ollama the first loss falls on a connection kept since /api/show, which is replaced without a word.
    silently = wire == "ollama" and fault.kind != "status"
    assert [item.attempt for item in retries(items)] == ([2] if silently else [2, 3])
    assert isinstance(items[-1], ModelReply) and items[-1].message.content == "hello"


async def test_after_four_attempts_it_is_given_up() -> None:
    error = await error_from([Fault.status_code(503)] * 9)
    assert isinstance(error, UnavailableError) and "status 503" in str(error)
    with ScriptedModel([Fault.status_code(503)] * 9) as server:
        with pytest.raises(UnavailableError):
            await items_of(model_at(server.url, retry=RetryPolicy(max_attempts=2, base_delay_s=0.01)))
        assert len(server.turns) == 2


@pytest.mark.parametrize("wait", ["0.2", "0"])
async def test_retry_after_in_seconds_is_kept(wait: str) -> None:
    items = await items_from([Fault.status_code(429, retry_after=wait), Turn("hello")])
    assert retries(items)[0].delay_s == float(wait)


@pytest.mark.parametrize("status", [429, 503])
async def test_a_server_that_asks_for_an_hour_is_not_asked_again(status: int) -> None:
    with pytest.raises(ModelError, match="60 min"):  # the test's own time limit is far below an hour
        await items_from([Fault.status_code(status, retry_after="3600"), Turn("hello")])


def test_retry_after_as_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=40), usegmt=True)
    told = parse_retry_after(later)
    assert told is not None and 0 < told <= 40
    assert parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert parse_retry_after("soon") is None and parse_retry_after("-1") is None and parse_retry_after(None) is None


async def test_gemini_tells_the_pause_in_its_body() -> None:
    body = '{"error": {"code": 429, "message": "Quota exceeded", "details": [{"retryDelay": "0.1s"}]}}'
    items = await items_from([Fault.status_code(429, body=body), Turn("hello")], "gemini")
    assert retries(items)[0].delay_s == 0.1


@everywhere
async def test_a_stream_cut_in_the_middle_starts_over_once(wire: str) -> None:
    cut = Turn("one two three four five six seven", fault=Fault.cut(after_bytes=1200))
    items = await items_from([cut, Turn("whole")], wire)
    first_retry = items.index(retries(items)[0])
    assert any(isinstance(item, TextDelta) for item in items[:first_retry])
    assert isinstance(items[-1], ModelReply) and items[-1].message.content == "whole"
    error = await error_from([cut, cut, Turn("never asked")], wire)
    assert isinstance(error, UnavailableError)


@everywhere
async def test_a_call_cut_in_the_middle_is_never_given(wire: str) -> None:
    call = Turn("", [Call("writeFile", {"path": "a", "content": "x" * 400})], fault=Fault.cut(after_bytes=600))
    items = await items_from([call, Turn("ok")], wire)
    assert isinstance(items[-1], ModelReply) and items[-1].message.tool_uses is None


@everywhere
async def test_an_error_inside_the_stream_is_a_fault_too(wire: str) -> None:
    broken = Turn("one two three four five", fault=Fault.stream_error("overloaded"))
    items = await items_from([broken, Turn("ok")], wire)
    assert "overloaded" in str(retries(items)[0].reason)
    assert isinstance(items[-1], ModelReply)


async def test_silence_before_the_first_byte_times_out() -> None:
    slow = Turn("late", fault=Fault.slow(5))
    limits = Timeouts(first_byte_s=0.1)
    error = await error_from([slow] * 2, retry=RetryPolicy(max_attempts=2, base_delay_s=0.01), timeouts=limits)
    assert isinstance(error, UnavailableError) and "gave no answer within 0.1 s" in str(error)


async def test_silence_in_the_middle_times_out() -> None:
    stall = Turn("one two three", fault=Fault.stall(after_bytes=300))
    error = await error_from([stall], retry=RetryPolicy(max_attempts=1), timeouts=Timeouts(idle_s=0.1))
    assert isinstance(error, UnavailableError) and "fell silent for 0.1 s" in str(error)


async def test_nobody_listens() -> None:
    url = refused_url()
    with pytest.raises(UnavailableError) as error:
        await items_of(model_at(url))
    assert "Is the server running" in str(error.value) and url.removeprefix("http://") in str(error.value)


@pytest.mark.parametrize("how", ["cancel", "close"])
@everywhere
async def test_stopping_closes_the_connection(wire: str, how: str) -> None:
    endless = Turn("one two three four five six", fault=Fault.stall(after_bytes=600))
    with ScriptedModel([endless]) as server:
        model = model_at(server.url, wire)
        started = asyncio.Event()

        async def listen() -> None:
            async for _ in model.stream(ModelRequest("m", "", [UserMessage.new_prompt("hi")])):
                started.set()

        if how == "cancel":
            task = asyncio.create_task(listen())
            await started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            async with aclosing(model.stream(ModelRequest("m", "", [UserMessage.new_prompt("hi")]))) as items:  # type: ignore[type-var]
                async for _ in items:
                    break
        await asyncio.to_thread(server.wait_until, lambda: server.turns[0].disconnected, 5)
        await model.aclose()


REFUSALS: list[tuple[str, Fault, type[ModelError], list[str]]] = [
    ("openai", Fault.status_code(401, body=f'{{"error": {{"message": "Incorrect API key: {KEY}"}}}}'), AuthError, ["OPENAI_API_KEY"]),
    ("gemini", Fault.status_code(400, body='{"error": {"message": "API key not valid. Please pass"}}'), AuthError, ["GEMINI_API_KEY"]),
    ("openai", Fault.status_code(403, body=f'{{"error": {{"message": "no access with {KEY}"}}}}'), AuthError, ["no access with [key]"]),
    ("ollama", Fault.status_code(401), AuthError, ["OLLAMA_HOST"]),
    ("openai", Fault.status_code(404), NotFoundError, ["some-model", "OPENAI_BASE_URL"]),
    ("ollama", Fault.status_code(404), NotFoundError, ["ollama pull some-model"]),
    ("openai", Fault.status_code(302, headers={"location": "https://evil.example/x?key=1"}), NotFoundError, ["https://evil.example/x."]),
    ("openai", Fault.status_code(400, body='{"error": {"message": "maximum context length is 8192 tokens"}}'), ContextExceededError, ["/compact", "context_tokens"]),
    ("openai", Fault.status_code(429, body='{"error": {"message": "x", "code": "insufficient_quota"}}'), LimitError, ["used up"]),
    ("openai", Fault.status_code(400), BadReplyError, ["scripted fault"]),
    ("openai", Fault.garbage(), BadReplyError, ["not part of its API", "OPENAI_BASE_URL"]),
    ("gemini", Fault.garbage(), BadReplyError, ["not part of its API", "GEMINI_BASE_URL"]),
    ("ollama", Fault.garbage(), BadReplyError, ["not part of its API", "OLLAMA_HOST"]),
    ("openai", Fault.garbage('data: {"choices": 7}\n\n'), BadReplyError, ["shape"]),
    ("openai", Fault.page(), BadReplyError, ["text/html", "OPENAI_BASE_URL"]),
    ("gemini", Fault.page(), BadReplyError, ["text/html"]),
    ("ollama", Fault.page(), BadReplyError, ["text/html"]),
    ("openai", Fault.garbage(""), UnavailableError, ["cut off"]),
    ("openai", Fault.status_code(400, body='{"error":' + "[" * 100_000), BadReplyError, ["status 400"]),
    ("openai", Fault.status_code(400, body='{"error":' * 950 + "1" + "}" * 950), BadReplyError, ["status 400"]),
    ("gemini", Fault.status_code(400, body='{"retryDelay":' + "[" * 100_000), BadReplyError, ["status 400"]),
]  # fmt: skip


@each_row(("wire", "fault", "kind", "words"), REFUSALS)
async def test_a_refusal_says_what_to_do(wire: str, fault: Fault, kind: type[ModelError], words: list[str]) -> None:
    error = await error_from([fault], wire, retry=RetryPolicy(max_attempts=1))
    assert type(error) is kind
    for word in words:
        assert word in str(error)


async def test_refusals_for_good_are_not_retried() -> None:
    for status in (400, 401, 403, 404):
        with ScriptedModel([Fault.status_code(status)] * 4) as server:
            with pytest.raises(ModelError):
                await items_of(model_at(server.url))
            assert len(server.turns) == 1


def test_the_five_kinds() -> None:
    kinds = [AuthError, LimitError, NotFoundError, UnavailableError, BadReplyError]
    assert [kind("x").kind for kind in kinds] == ["auth", "limit", "not_found", "unavailable", "bad_reply"]


async def test_a_missing_key_is_told_before_anything_is_sent() -> None:
    for model, name in ((OpenAIModel(environ={}), "OPENAI_API_KEY"), (GeminiModel(environ={}), "GEMINI_API_KEY")):
        with pytest.raises(AuthError, match=name):
            await items_of(model)


async def test_a_key_with_a_line_break_is_not_quoted() -> None:
    with pytest.raises(BadReplyError) as error:
        await items_of(OpenAIModel("http://127.0.0.1:1/v1", KEY + "\n", environ={}))
    assert KEY not in str(error.value) and "line breaks" in str(error.value)


async def test_a_connection_that_the_server_closed_meanwhile_is_replaced_silently() -> None:
    with ScriptedModel([Turn("one"), Fault.close(), Turn("two")]) as server:
        model = model_at(server.url)
        request = ModelRequest("m", "", [UserMessage.new_prompt("hi")])
        first = [item async for item in model.stream(request)]
        second = [item async for item in model.stream(request)]
        await model.aclose()
        assert server.connections == 2
    assert isinstance(first[-1], ModelReply) and isinstance(second[-1], ModelReply)
    assert not retries(second)


async def test_ollama_warns_when_the_conversation_is_too_long_for_the_model() -> None:
    with ScriptedModel([Turn("a"), Turn("b")], context_length=2000, models={"ollama": ["m"]}) as server:
        model = model_at(server.url, "ollama")
        request = ModelRequest("m", "", [UserMessage.new_prompt("x" * 9000)])
        heard = [[item async for item in model.stream(request)] for _ in range(2)]
        await model.aclose()
        assert [turn.json["options"]["num_ctx"] for turn in server.turns] == [2000, 2000]
    assert isinstance(heard[0][0], ModelNotice) and "2,000" in str(heard[0][0].text)
    assert not any(isinstance(item, ModelNotice) for item in heard[1])


def test_pauses_grow_and_stay_within_bounds() -> None:
    policy = RetryPolicy()
    pauses = [policy.delay_s(number, UnavailableError("x")) for number in range(1, 8)]
    for number, pause in enumerate(pauses):
        full = min(0.5 * 2**number, 8.0)
        assert full / 2 <= pause <= full


@everywhere
@pytest.mark.parametrize("fault", [Fault.slow(3600), Fault.stall(60)], ids=["before the answer", "within it"])
async def test_a_hung_server_is_reported_at_growing_intervals(wire: str, fault: Fault) -> None:
    with ScriptedModel([Turn("one two three four five six seven", fault=fault)]) as server:
        model = model_at(server.url, wire, timeouts=Timeouts(notice_s=0.02))
        request = ModelRequest("some-model", "", [UserMessage.new_prompt("hi")])
        heard: list[ModelNotice] = []
        async with aclosing(model.stream(request)) as items:  # type: ignore[type-var]
            async for item in items:
                if isinstance(item, ModelNotice):
                    heard.append(item)
                if len(heard) == 3:
                    break
        await model.aclose()
        server.wait_until(lambda: server.turns and server.turns[-1].disconnected)
    assert {each.kind for each in heard} == {"waiting"} and server.url.removeprefix("http://") in str(heard[0].text)
    seconds = [each.text.values["seconds"] for each in heard]
    assert seconds[0] >= 0.02 and seconds[1] >= 0.04 and seconds[2] >= 0.08


@everywhere
async def test_a_late_answer_is_whole_after_the_notices(wire: str) -> None:
    noticed, last = threading.Event(), None
    with ScriptedModel([Turn("late", until=noticed)]) as server:
        model = model_at(server.url, wire, timeouts=Timeouts(notice_s=0.01))
        request = ModelRequest("some-model", "", [UserMessage.new_prompt("hi")])
        async for item in model.stream(request):
            if isinstance(item, ModelNotice):
                noticed.set()
            last = item
        await model.aclose()
    assert isinstance(last, ModelReply) and last.message.content == "late"


async def test_a_retry_says_what_failed_and_how_often_it_may() -> None:
    refused = Fault.status_code(429, retry_after="0.2")
    items = await items_from([refused, Fault.status_code(503), Turn("ok")])
    first, second = retries(items)
    assert (first.kind, first.attempt, first.attempts, first.delay_s) == ("limit", 2, 4, 0.2)
    assert (second.kind, second.attempt, second.attempts) == ("unavailable", 3, 4)


async def test_an_announced_pause_is_no_silence() -> None:
    announced = Retrying(Sentence("busy"), 2, 3600.0)

    async def items() -> AsyncGenerator[StreamItem]:
        yield announced
        await asyncio.sleep(0.1)
        yield TextDelta("x")

    notice = ModelNotice(Sentence("waiting"))
    assert [item async for item in with_waiting_notices(items(), lambda _: notice, 0.01)] == [announced, TextDelta("x")]


async def test_cancelling_while_nothing_comes_closes_the_connection() -> None:
    with ScriptedModel([Turn("x", fault=Fault.slow(3600))]) as server:
        model = model_at(server.url, timeouts=Timeouts(notice_s=0.05))
        asking = asyncio.create_task(items_of(model))
        await asyncio.to_thread(server.wait_until, lambda: bool(server.turns))
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.to_thread(server.wait_until, lambda: server.turns[0].disconnected)


NO_CHOICES = {
    "openai": "data: [DONE]\n\n",
    "openai, with usage": 'data: {"choices": [], "usage": {"prompt_tokens": 3}}\n\ndata: [DONE]\n\n',
    "openai, no end": 'data: {"id": "x", "choices": []}\n\n',
    "gemini": 'data: {"usageMetadata": {"promptTokenCount": 3}}\n\n',
}


@pytest.mark.parametrize("case", NO_CHOICES)
async def test_a_stream_without_any_answer_is_missing_not_cut(case: str) -> None:
    items = await items_from([Fault.garbage(NO_CHOICES[case])], case.partition(",")[0])
    assert isinstance(items[-1], ModelReply) and items[-1].stop == "missing"
    assert "without an answer" in str(why_no_answer(items[-1].stop))


SPENT = {
    "openai": 'data: {"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}], '
    '"usage": {"prompt_tokens": %s, "completion_tokens": 4}}\n\ndata: [DONE]\n\n',
    "gemini": 'data: {"candidates": [{"content": {"parts": [{"text": "Hi."}]}, "finishReason": "STOP"}], '
    '"usageMetadata": {"promptTokenCount": %s, "candidatesTokenCount": 4}}\n\n',
    "ollama": '{"message": {"content": "Hi."}, "done": true, "prompt_eval_count": %s, "eval_count": 4}\n',
}


@each_row("told", ['"7"', "-7", "null", "[7]", "{}", "1e400"])
@each_row("wire", SPENT)
async def test_no_answer_is_lost_over_what_it_cost(wire: str, told: str) -> None:
    reply = (await items_from([Fault.garbage(SPENT[wire] % told)], wire))[-1]
    assert isinstance(reply, ModelReply)
    assert (reply.message.content, reply.usage) == ("Hi.", Usage(0, 4))


async def test_a_usage_that_is_none_at_all_costs_nothing() -> None:
    body = 'data: {"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}], "usage": 3}\n\ndata: [DONE]\n\n'
    reply = (await items_from([Fault.garbage(body)], "openai"))[-1]
    assert isinstance(reply, ModelReply) and (reply.message.content, reply.usage) == ("Hi.", Usage())


@everywhere
@pytest.mark.parametrize(
    ("turn", "said"),
    [
        (Turn(""), "empty answer"),
        (Turn(" \n\t "), "empty answer"),
        (Turn("", stop="length"), "output limit"),
        (Turn("", thinking="hm", stop="length"), "output limit"),
    ],
)
async def test_an_answer_without_a_word_says_why(wire: str, turn: Turn, said: str) -> None:
    reply = (await items_from([turn], wire))[-1]
    assert isinstance(reply, ModelReply) and said in str(why_no_answer(reply.stop))


@pytest.mark.parametrize("wire", ["openai", "gemini"])
async def test_an_answer_held_back_says_so(wire: str) -> None:
    reply = (await items_from([Turn("", stop="filter")], wire))[-1]
    assert isinstance(reply, ModelReply) and "held the answer back" in str(why_no_answer(reply.stop))


@everywhere
async def test_a_word_or_a_call_is_not_nothing(wire: str) -> None:
    for turn in (Turn("."), Turn("", calls=[Call("list", {"path": "."})]), Turn("half", stop="length")):
        reply = (await items_from([turn], wire))[-1]
        assert isinstance(reply, ModelReply) and (reply.message.content.strip() or reply.message.tool_uses)


async def test_the_pause_that_a_server_asks_for_is_kept() -> None:
    with ScriptedModel([Fault.status_code(429, retry_after="0.2"), Turn("ok")]) as server:
        await items_of(model_at(server.url))
        first, second = server.turns
    assert second.arrived - first.complete >= 0.2


def test_a_date_without_a_zone_is_universal_time() -> None:
    later = (datetime.now(UTC) + timedelta(seconds=30)).strftime("%a, %d %b %Y %H:%M:%S -0000")
    assert 0 < (parse_retry_after(later) or 0) <= 30
