"""A model that goes in circles is stopped."""

import asyncio

import pytest

from nebula.agent.loop import Turn, run_tool
from nebula.agent.turn_result import TurnLimit
from nebula.events import EventStream
from nebula.llm.replay import ReplayModel
from nebula.messages import AssistantToolUse, Json, ToolResultStatus
from nebula.tools.contract import Outcome, ToolFailure


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


def turn_with(tools):
    return Turn(EventStream("s"), ReplayModel([]), "m", "system", [], tools)


def ask(turn, name, **args):
    return asyncio.run(run_tool(turn, AssistantToolUse("c", name, name, args, args)))


def remark(outcome):
    (block,) = outcome.content
    assert isinstance(block, Json)
    return block.value.get("error", "")


FAILED = Outcome.failed(ToolFailure("no"))


def test_the_third_same_call_is_answered_without_being_run_and_the_sixth_ends_the_turn():
    tools = Counting(read="x")
    turn = turn_with(tools)
    assert [remark(ask(turn, "read", path="a")) for _ in range(2)] == ["", ""]
    for times in (3, 4, 5):
        outcome = ask(turn, "read", path="a")
        assert outcome.status is ToolResultStatus.Error
        assert f"{times} times" in remark(outcome)
    assert tools.ran == ["read", "read"]
    with pytest.raises(TurnLimit, match="6 times"):
        ask(turn, "read", path="a")


def test_other_arguments_and_other_results_are_other_calls():
    tools = Counting(read=["1", "2", "3", "4", "5", "6", "7"])
    turn = turn_with(tools)
    for _ in range(7):
        assert remark(ask(turn, "read", path="a")) == ""
    tools = Counting(read="x")
    turn = turn_with(tools)
    for number in range(7):
        assert remark(ask(turn, "read", path=str(number))) == ""


def test_going_round_in_a_larger_circle_counts_too():
    turn = turn_with(Counting(read="x", list="y"))
    for _ in range(2):
        ask(turn, "read")
        ask(turn, "list")
    assert "not run again" in remark(ask(turn, "read"))
    assert "not run again" in remark(ask(turn, "list"))


def test_after_another_call_failed_everything_is_worth_another_look():
    """An edit is refused because the file changed meanwhile: the read that it asks for must really happen."""
    tools = Counting(read="x", edit=FAILED)
    turn = turn_with(tools)
    for _ in range(2):
        ask(turn, "read")
    ask(turn, "edit")
    assert remark(ask(turn, "read")) == ""
    assert tools.ran == ["read", "read", "edit", "read"]


def test_what_fails_is_run_again_and_ends_the_turn_at_the_sixth_time():
    tools = Counting(edit=FAILED)
    turn = turn_with(tools)
    for _ in range(5):
        assert remark(ask(turn, "edit")) == "no"
    with pytest.raises(TurnLimit):
        ask(turn, "edit")
    assert len(tools.ran) == 5
