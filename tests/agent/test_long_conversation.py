"""A conversation that no longer fits: chapters, summaries made ahead, /compact. Real HTTP to the scripted model."""

from __future__ import annotations

import asyncio
import json
import os
import re
from typing import Any

import pytest

from conftest import Bench
from in_process import run_here, surroundings
from nebula.agent.assembly import open_session
from nebula.agent.conversation import PastTurn
from nebula.agent.past.chapters import look_up, outline, ranges
from nebula.config import load_settings
from nebula.graph.graph import Graph
from nebula.graph.tokens import estimate_tokens
from nebula.messages import AssistantMessage, UserMessage
from nebula.tools.approval import allow_all
from scripted_model import Call, RecordedRequest, ScriptedModel, Turn

CONTEXT = 12_000


def words_of(request: RecordedRequest) -> str:
    return json.dumps(request.json["messages"], ensure_ascii=False)


def is_summary(request: RecordedRequest) -> bool:
    return "要約とタグ付けを行う専門家" in words_of(request)


def answers(request: RecordedRequest) -> Turn:
    if is_summary(request):
        return Turn("要約: made by the model\nタグ: made, ahead", input_tokens=50, output_tokens=5)
    return Turn("It goes on and on. " * 80)


def tokens_of(request: RecordedRequest) -> int:
    body = request.json
    return estimate_tokens(json.dumps([body["messages"], body.get("tools")], ensure_ascii=False))


def past_turns(count: int) -> list[PastTurn]:
    return [
        PastTurn(
            (UserMessage.new_prompt(f"question {n}"), AssistantMessage.new_response(None, f"answer {n}")), f"id{n}"
        )
        for n in range(1, count + 1)
    ]


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (1, 3, [(1, 1), (2, 2), (3, 3)]),
        (1, 45, [(1, 10), (11, 20), (21, 30), (31, 40), (41, 45)]),
        (1, 201, [*((n, n + 99) for n in (1, 101)), (201, 201)]),
        (15, 38, [(15, 20), (21, 30), (31, 38)]),
    ],
)
def test_ranges_begin_and_end_at_round_numbers(first: int, last: int, expected: list[tuple[int, int]]) -> None:
    assert ranges(first, last) == expected


def test_any_turn_is_reached_by_a_few_steps_or_by_its_words() -> None:
    turns = past_turns(1987)
    assert look_up(turns, "turns 1-1000")[0] == "turns 1-100: from “question 1” to “question 100”"
    assert look_up(turns, "1-100")[0] == "turns 1-10: from “question 1” to “question 10”"
    assert look_up(turns, "turns 1 to 10")[6] == "turn 7 [id7]: question 7"
    turns[6].summary = "What was asked seventh, " * 9
    assert look_up(turns, "turns 7-27")[0].startswith("turns 7-10: from “What was asked seventh, What was")
    assert look_up(turns, "turn 7") == [f"turn 7 [id7]: {turns[6].summary}"]
    assert outline(turns[:8], 999)[6] == f"turn 7 [id7]: {turns[6].summary[:60]}…"
    assert look_up(turns, "Question 1234") == ["turn 1234 [id1234]: question 1234"]
    assert look_up(turns, "no such word") == [] == look_up(turns, "turns 2000-2100") == look_up(turns, "")


def talk(bench: Bench, server: ScriptedModel, prompts: list[str], **options: Any) -> Any:
    """A session over HTTP with a small context; what `then` makes of it."""

    async def scenario() -> Any:
        settings = load_settings(str(bench.project), overrides={"context_tokens": CONTEXT})
        session = await open_session(settings, approver=allow_all, summarises_ahead=True, **options)
        for prompt in prompts:
            await session.turn(prompt)
            await asyncio.gather(*session.summaries._chores)
        await session.close()
        return session

    with surroundings(bench.project, bench.env(**server.env())):
        return asyncio.run(scenario())


def test_summaries_are_made_before_they_are_needed_and_used(bench: Bench) -> None:
    with ScriptedModel(answers) as server:
        session = talk(bench, server, [f"question {n}" for n in range(30)])
    asked = [request for request in server.turns if not is_summary(request)]
    assert max(map(tokens_of, asked)) < CONTEXT
    first_summary = next(place for place, request in enumerate(server.turns) if is_summary(request))
    first_left = next(
        place for place, each in enumerate(server.turns) if "Turns that are not shown in full" in words_of(each)
    )
    assert first_summary < first_left
    system = asked[-1].json["messages"][0]["content"]
    assert "]: made by the model" in system and "question 29" not in system
    work = session.summaries
    assert (work.count, work.usage.output_tokens) == (len(server.turns) - 30, 5 * work.count) and work.count > 10
    node = Graph(os.path.join(bench.project, ".nebula/graph")).get_node(session.conversation.turns[0].node_id)
    assert (node.summary, node.tags) == ("made by the model", ["made", "ahead"])


def test_what_was_left_out_is_named_and_opened_by_read_node(bench: Bench) -> None:
    def model(request: RecordedRequest) -> Turn:
        if is_summary(request):
            what = "The key of the lighthouse. " if "4711" in words_of(request) else ""
            return Turn(f"要約: {what}" + "a rather long summary of one turn " * 12 + "\nタグ: made")
        if "find the lighthouse" in words_of(request):
            results = [each["content"] for each in request.json["messages"] if each["role"] == "tool"]
            if not results:
                return Turn("", [Call("readNode", {"id": "turns 1-10"})])
            if len(results) == 1:
                first = json.loads(results[0])["turns"][0]
                return Turn("", [Call("readNode", {"id": first[first.index("[") + 1 : first.index("]")]})])
            return Turn("Found: " + json.loads(results[-1])["prompt"])
        return answers(request)

    with ScriptedModel(model) as server:
        prompts = [
            "Remember: the lighthouse key is 4711.",
            *(f"question {n}" for n in range(40)),
            "find the lighthouse",
        ]
        session = talk(bench, server, prompts)
    system = next(each for each in server.turns if "find the lighthouse" in words_of(each)).json["messages"][0][
        "content"
    ]
    # how many turns one line covers depends on the room that is left, and so on the length of the project's path
    assert re.search(
        r"^turns 1-\d+: from “The key of the lighthouse. a rather long summary of one turn…”", system, re.M
    )
    assert session.last.text == "Found: Remember: the lighthouse key is 4711."


def test_a_model_that_makes_no_summaries_is_not_asked_for_ever(bench: Bench) -> None:
    def model(request: RecordedRequest) -> Turn:
        return Turn("nonsense") if is_summary(request) else answers(request)

    with ScriptedModel(model) as server:
        session = talk(bench, server, [f"question {n}" for n in range(20)])
    assert session.last.status == "ok" and sum(map(is_summary, server.turns)) <= 12


def test_compact_with_a_focus_is_kept_for_the_next_run(bench: Bench) -> None:
    def model(request: RecordedRequest) -> Turn:
        if "kept in sight above all: the harbour" in words_of(request):
            assert "question 1" in words_of(request)
            return Turn("The harbour opens at six.")
        return Turn("要約: short\nタグ: a") if is_summary(request) else Turn("A plain answer.")

    with ScriptedModel(model) as server:
        for n in range(3):
            run_here(bench, "nebula", "-p", f"question {n}", *(["-c"] if n else []), **server.env())
        ran = run_here(bench, "nebula", "-c", "-p", "/compact the harbour", **server.env())
        assert ran.out.strip() == "From now on 2 more turns go as summaries; the model can still look up all of them."
        run_here(bench, "nebula", "-c", "-p", "and now?", **server.env())
        system = server.turns[-1].json["messages"][0]["content"]
        assert "wanted kept of this conversation\nThe harbour opens at six." in system and "]: short" in system
        assert "question 1" not in str(server.turns[-1].json["messages"][1:])
        run_here(bench, "nebula", "-c", "--compact", "the harbour", "-p", "and then?", **server.env())
        assert "question 2" not in str(server.turns[-1].json["messages"][1:])


def test_compact_says_what_its_summaries_cost(bench: Bench) -> None:
    def model(request: RecordedRequest) -> Turn:
        if is_summary(request):
            return Turn("要約: short\nタグ: a", input_tokens=1000, output_tokens=100)
        return Turn("A plain answer.")

    with ScriptedModel(model) as server:
        for n in range(2):
            run_here(bench, "nebula", "-p", f"question {n}", *(["-c"] if n else []), **server.env())
        ran = run_here(bench, "nebula", "-c", "-p", "/compact", "--output-format", "json", **server.env())
    final = json.loads(ran.out)
    assert final["usage"] == {"input_tokens": 1000, "output_tokens": 100, "cached_input_tokens": 0}
    assert final["cost"] == pytest.approx((1000 * 0.10 + 100 * 0.40) / 1e6)


def test_cost_itemises_summaries_and_the_plan_survives(bench: Bench) -> None:
    def model(request: RecordedRequest) -> Turn:
        if is_summary(request):
            return Turn("要約: short\nタグ: a", input_tokens=1000, output_tokens=100)
        return Turn("Step one: paint it green.")

    script = "/plan\nmake a plan\naccept\none more\n/compact\n/cost\nexit\n"
    with ScriptedModel(model) as server:
        ran = run_here(bench, "nebula", stdin=script, **server.env())
        assert "2 summaries: 2,000 tokens in, 200 out · $0.0003" in ran.out
        assert "This session: 3 turns, 2,300 tokens in, 260 out" in ran.out
        run_here(bench, "nebula", "-c", "-p", "go on", **server.env())
        system = server.turns[-1].json["messages"][0]["content"]
        assert "# The plan that the user accepted\n\nStep one: paint it green." in system
        compacted = run_here(bench, "nebula", "-c", "-p", "/compact", "--output-format", "json", **server.env()).json
        assert compacted["usage"] == {"input_tokens": 1000, "output_tokens": 100, "cached_input_tokens": 0}
        again = run_here(bench, "nebula", "-c", stdin="/cost\nexit\n", **server.env())
        assert "3 summaries: 3,000 tokens in, 300 out" in again.out
