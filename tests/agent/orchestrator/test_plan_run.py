"""How often the steps of a plan are tried, what becomes of those behind a failed one, and what is said of each."""

from __future__ import annotations

import threading

import pytest

from nebula.agent.orchestrator.limits import TaskLimits
from nebula.agent.orchestrator.plan_run import title_of
from nebula.agent.plan.plan import PlanStep
from nebula.events import StepProgress
from scripted_model.planned import Turn, say, step, write


def started(done) -> list[tuple[str, int]]:
    return [(each.task_id, each.attempt) for each in done.events if each.type == "progress" and each.state == "started"]


async def test_a_step_that_succeeds_is_not_tried_again(carry_out):
    done = await carry_out([say("One."), say("Two.")], step("1", on_error="retry"), step("2", on_error="retry"))
    assert (done.code, started(done)) == (0, [("1", 1), ("2", 1)])
    assert all(each.attempts == 1 and 0 <= each.duration_s < 60 for each in done.final.steps)


async def test_a_step_that_fails_is_tried_twice_where_the_plan_says_so(carry_out):
    done = await carry_out(
        [say("Written."), write("a.py", "a\n"), say("Done.")], step("1", files=["a.py"], on_error="retry")
    )
    assert (done.code, started(done), done.final.steps[0].attempts) == (0, [("1", 1), ("1", 2)], 2)


async def test_what_waits_for_a_failed_step_is_skipped_and_the_rest_is_done(carry_out):
    steps = (
        step("1", files=["no"], on_error="skip"),
        step("2", depends_on=["1"]),
        step("3", depends_on=["2"]),
        step("4"),
    )
    done = await carry_out([say("Written."), say("Four.")], *steps)
    assert (done.code, done.states) == (1, ["failed", "skipped", "skipped", "done"])
    assert [str(each.remark) for each in done.final.steps[1:3]] == ["depends on 1", "depends on 2"]


async def test_a_step_that_was_done_before_is_not_tried(carry_out):
    done = await carry_out([say("Two.")], step("1"), step("2"), done={"1": "said before"})
    first = done.final.steps[0]
    assert (first.state, first.attempts) == ("done", 0)
    assert (done.code, started(done)) == (0, [("2", 1)])
    assert [each.attempt for each in done.events if isinstance(each, StepProgress) and each.task_id == "1"] == [0]


@pytest.mark.parametrize(
    ("planned", "title"),
    [
        (PlanStep("1", " Make it. ", goal="g"), "Make it."),
        (PlanStep("1", "", goal="Write\n  " + "a" * 200), "Write " + "a" * 74),
        (PlanStep("1", "", tool="write_file"), "write_file"),
    ],
)
def test_a_step_is_called_by_its_title_or_by_what_it_does(planned: PlanStep, title: str) -> None:
    assert title_of(planned) == title


async def test_a_plan_that_was_handed_in_is_recorded_as_such(carry_out):
    done = await carry_out([say("Done.")], step("1", "Reach it."))
    [planned] = [each for each in done.events if each.type == "plan"]
    assert planned.given and planned.plan["tasks"][0]["goal"] == "Reach it."


async def test_a_task_beyond_its_time_ends_as_at_any_limit(carry_out):
    hold = threading.Event()
    waiting = Turn("Too late.", until=hold)
    try:
        done = await carry_out([waiting], step("1"), limits=TaskLimits(timeout_s=0.2))
    finally:
        hold.set()
    assert (done.code, done.final.status) == (1, "limit")
