"""A model that goes in circles is stopped."""

import asyncio

import pytest

from nebula.agent.loop import TurnLimit
from nebula.agent.repeat_breaker import RepeatBreaker
from nebula.messages import AssistantToolUse, Json, ToolResultStatus
from nebula.tools.contract import Call, Outcome, ToolFailure
from nebula.tools.toolset import ToolSet


class Counting:
    """A tool set whose every call counts, and answers by its script: a value, a failure, or a change."""

    specs = ()

    def __init__(self, **answers):
        self.answers = {name: iter(answer) if isinstance(answer, list) else answer for name, answer in answers.items()}
        self.ran = []

    async def run(self, call):
        name = call.use.orig_name
        self.ran.append(name)
        answer = self.answers[name]
        answer = next(answer) if hasattr(answer, "__next__") else answer
        return answer if isinstance(answer, Outcome) else Outcome.ok({"content": answer})


def ask(breaker, name, **args):
    return asyncio.run(breaker.run(Call(AssistantToolUse("c", name, name, args, args))))


def remark(outcome):
    (block,) = outcome.content
    assert isinstance(block, Json)
    return block.value.get("error", "")


FAILED = Outcome.failed(ToolFailure("no"))


def test_the_third_same_call_is_answered_without_being_run_and_the_sixth_ends_the_turn():
    tools = Counting(read="x")
    breaker = RepeatBreaker(tools)
    assert [remark(ask(breaker, "read", path="a")) for _ in range(2)] == ["", ""]
    for times in (3, 4, 5):
        outcome = ask(breaker, "read", path="a")
        assert outcome.status is ToolResultStatus.Error
        assert f"{times} times" in remark(outcome)
    assert tools.ran == ["read", "read"]
    with pytest.raises(TurnLimit, match="6 times"):
        ask(breaker, "read", path="a")


def test_other_arguments_and_other_results_are_other_calls():
    tools = Counting(read=["1", "2", "3", "4", "5", "6", "7"])
    breaker = RepeatBreaker(tools)
    for _ in range(7):
        assert remark(ask(breaker, "read", path="a")) == ""
    tools = Counting(read="x")
    breaker = RepeatBreaker(tools)
    for number in range(7):
        assert remark(ask(breaker, "read", path=str(number))) == ""


def test_going_round_in_a_larger_circle_counts_too():
    breaker = RepeatBreaker(Counting(read="x", list="y"))
    for _ in range(2):
        ask(breaker, "read")
        ask(breaker, "list")
    assert "not run again" in remark(ask(breaker, "read"))
    assert "not run again" in remark(ask(breaker, "list"))


def test_after_another_call_failed_everything_is_worth_another_look():
    """An edit is refused because the file changed meanwhile: the read that it asks for must really happen."""
    tools = Counting(read="x", edit=FAILED)
    breaker = RepeatBreaker(tools)
    for _ in range(2):
        ask(breaker, "read")
    ask(breaker, "edit")
    assert remark(ask(breaker, "read")) == ""
    assert tools.ran == ["read", "read", "edit", "read"]


def test_what_fails_is_run_again_and_ends_the_turn_at_the_sixth_time():
    tools = Counting(edit=FAILED)
    breaker = RepeatBreaker(tools)
    for _ in range(5):
        assert remark(ask(breaker, "edit")) == "no"
    with pytest.raises(TurnLimit):
        ask(breaker, "edit")
    assert len(tools.ran) == 5


def test_it_offers_what_the_tools_offer():
    tools = ToolSet.of(())
    assert RepeatBreaker(tools).specs == tools.specs
