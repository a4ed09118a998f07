"""The limits of one task: counted before each call of a model, and said in one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from agent.orchestrator.asked_task import Asked
from nebula.agent.orchestrator.limits import LimitGuard, TaskLimits, in_digits
from nebula.agent.turn_result import TurnLimit, TurnResult
from nebula.errors import EXIT_FAILED, EXIT_OK
from scripted_model.planned import plan, say, step, write


def said(guard: LimitGuard) -> str:
    with pytest.raises(TurnLimit) as reached:
        guard.check()
    assert str(guard.reached) == str(reached.value)
    return str(reached.value)


def test_without_a_limit_nothing_ends_a_task() -> None:
    guard = LimitGuard(TaskLimits(), TurnResult(cost=1_000.0))
    for _ in range(100):
        guard.check()
    assert (guard.calls, guard.reached) == (100, None)


def test_so_many_calls_are_made_and_no_more() -> None:
    guard = LimitGuard(TaskLimits(max_rounds=2), TurnResult())
    guard.check()
    guard.check()
    for _ in range(2):
        assert said(guard) == "The task reached its limit of 2 model calls."
    assert guard.calls == 2
    assert said(LimitGuard(TaskLimits(max_rounds=0), TurnResult())) == "The task reached its limit of 0 model calls."


def test_a_cost_that_was_reached_ends_it_and_what_is_not_known_does_not_count() -> None:
    result = TurnResult()
    guard = LimitGuard(TaskLimits(max_cost=0.5), result)
    for cost in (0.0, 0.49, None):
        result.cost = cost
        guard.check()
    assert (guard.calls, guard.spent) == (3, 0.49), "what was spent is not forgotten where a price is missing"
    result.cost = 0.5
    assert said(guard) == "The task reached its limit of $0.5."
    result.cost = None
    assert said(guard) == "The task reached its limit of $0.5.", "nor is it earned back"
    small = LimitGuard(TaskLimits(max_cost=0.00003), TurnResult(cost=1.0))
    assert said(small) == "The task reached its limit of $0.00003."
    assert [in_digits(each) for each in (0, 5.0, 100, 0.125)] == ["0", "5", "100", "0.125"]
    unknown = LimitGuard(TaskLimits(max_cost=0.5), TurnResult(cost=None))
    unknown.check()
    assert unknown.spent == 0


def test_the_first_limit_that_was_reached_is_the_reason() -> None:
    guard = LimitGuard(TaskLimits(max_rounds=0, timeout_s=1.5, max_cost=0.0), TurnResult())
    assert str(guard.out_of_time()) == "The task reached its limit of 1.5 seconds."
    with pytest.raises(TurnLimit, match="model calls"):
        guard.check()
    assert str(guard.reached) == "The task reached its limit of 1.5 seconds."


async def test_a_task_that_reached_a_limit_ends_with_it_as_the_reason(asked: Asked) -> None:
    turns = [plan(step("1")), write("a.py", "x = 1\n"), say("Done.")]
    result = await asked(turns, limits=TaskLimits(max_rounds=2))
    assert (result.final.status, result.final.exit_code) == ("limit", EXIT_FAILED)
    assert str(result.final.remark) == "The task reached its limit of 2 model calls."
    assert len(asked.requests) == 2, "plan and write; no third call left"


async def test_a_task_within_its_limits_ends_as_it_does_without(asked: Asked) -> None:
    turns = [plan(step("1")), write("a.py", "x = 1\n"), say("Done.")]
    result = await asked(turns, limits=TaskLimits(max_rounds=3, timeout_s=600, max_cost=1.0))
    assert (result.final.status, result.final.remark, result.final.exit_code) == ("ok", None, EXIT_OK)


async def test_time_that_is_over_ends_a_task_before_it_begins(asked: Asked) -> None:
    result = await asked([plan(step("1"))], limits=TaskLimits(timeout_s=0))
    assert (result.final.status, result.final.exit_code) == ("limit", EXIT_FAILED)
    assert str(result.final.remark) == "The task reached its limit of 0 seconds."


async def test_a_repair_that_came_to_the_limit_and_did_it_all_the_same_is_done(carry_out: Any) -> None:
    settings = {"checks": ["grep x a.py"], "trust": True}
    turns = [say("Done."), write("a.py", "x = 1\n")]
    done = await carry_out(turns, step("1"), settings=settings, limits=TaskLimits(max_rounds=2))
    assert (done.code, done.final.status, done.final.verified) == (0, "ok", True)
