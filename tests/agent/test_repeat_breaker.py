"""A model that goes in circles is stopped."""

import asyncio
import re

import pytest

from nebula.agent.loop import Turn, run_tool
from nebula.agent.turn_result import TurnLimit
from nebula.events import Diff, EventStream
from nebula.language import Sentence
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


def test_after_a_file_was_changed_everything_is_worth_another_look():
    written = Outcome.ok({"content": ""}, changes=(Diff("a.txt", "+x", 1, 0, "", "after"),))
    tools = Counting(read="x", write=written)
    turn = turn_with(tools)
    for _ in range(2):
        ask(turn, "read")
    ask(turn, "write")
    assert remark(ask(turn, "read")) == ""
    assert tools.ran == ["read", "read", "write", "read"]


def test_the_order_of_arguments_makes_no_other_call():
    tools = Counting(read="x")
    turn = turn_with(tools)
    ask(turn, "read", path="a", line=1)
    ask(turn, "read", line=1, path="a")
    assert "not run again" in remark(ask(turn, "read", path="a", line=1))


def test_a_failure_is_the_same_however_it_is_worded():
    tools = Counting(edit=[Outcome.failed(ToolFailure(f"no, {number}")) for number in range(3)])
    turn = turn_with(tools)
    for _ in range(2):
        ask(turn, "edit")
    assert "not run again" in remark(ask(turn, "edit"))


def test_what_fails_in_the_same_way_is_not_run_a_third_time_and_ends_the_turn_at_the_sixth():
    tools = Counting(edit=FAILED)
    turn = turn_with(tools)
    assert [remark(ask(turn, "edit")) for _ in range(2)] == ["no", "no"]
    for times in (3, 4, 5):
        assert re.search(rf"{times} times.*said: no ", remark(ask(turn, "edit")))
    with pytest.raises(TurnLimit):
        ask(turn, "edit")
    assert tools.ran == ["edit", "edit"]


@pytest.mark.parametrize("failure", [ToolFailure("no", unchanged=True), ToolFailure("no", problem=Sentence("Why."))])
def test_a_call_that_is_answered_without_being_run_is_what_it_was_to_a_person(failure):
    """An edit that changes nothing is no change that failed, and why one failed is not what the model is advised."""
    turn = turn_with(Counting(edit=Outcome.failed(failure)))
    before, _, again = [ask(turn, "edit") for _ in range(3)]
    assert "not run again" in remark(again)
    assert again.unchanged == before.unchanged
    assert str(again.problem) == str(before.problem or "no")


def test_a_call_that_failed_is_worth_another_try_after_an_answer_that_is_new():
    """The model was told to read the file first, and has."""
    tools = Counting(read=["x", "x", "y"], edit=[FAILED, FAILED, FAILED, FAILED, Outcome.ok({"content": ""})])
    turn = turn_with(tools)
    for _ in range(2):
        ask(turn, "edit")
    ask(turn, "read")
    assert [remark(ask(turn, "edit")) for _ in range(2)] == ["no", "no"]
    ask(turn, "read")  # the same as before
    assert "not run again" in remark(ask(turn, "edit"))
    ask(turn, "read")
    assert remark(ask(turn, "edit")) == ""


def test_a_person_who_said_no_twice_is_not_asked_again_whatever_was_read_or_written_meanwhile():
    change = Diff("a.txt", "+x", 1, 0, "", "after")
    written = Outcome.ok({"content": ""}, changes=(change,))
    tools = Counting(edit=Outcome.failed(ToolFailure("no", policy=True)), read="x", write=written)
    turn = turn_with(tools)
    for _ in range(2):
        ask(turn, "edit")
    ask(turn, "read")
    ask(turn, "write")
    outcome = ask(turn, "edit")
    assert outcome.refused and "not run again" in remark(outcome)
    assert tools.ran == ["edit", "edit", "read", "write"]
