"""Plans that are asked for once more, or for their own sake."""

from __future__ import annotations

from typing import Any

import pytest

from agent.orchestrator.asked_task import Asked, states
from nebula.agent.orchestrator.limits import TaskLimits
from nebula.agent.plan.plan import read_plan
from nebula.errors import EXIT_FAILED, EXIT_OK
from nebula.events import Error, Plan, Task
from nebula.llm.dialect.answer_schema import AnswerSchema
from scripted_model import refused_url
from scripted_model.planned import Turn, plan, say, step, write

AGAIN = "A step failed for good; the planner is asked once more."


async def test_another_plan_goes_on_where_the_first_one_failed(asked: Asked) -> None:
    """The planner hears what happened; what was done counts, and what never ran is no part of it."""
    first = plan(step("1"), step("2", files=["no.md"]), step("3"))
    second = plan(step("1"), step("2", depends_on=["1"]))
    turns = [first, say("One."), say("I wrote it."), second, write("a.md", "a\n"), say("A."), say("B.")]
    result = await asked(turns, replan=True)
    assert states(result) == [("1", "done"), ("2", "failed"), ("again-1", "done"), ("again-2", "done")]
    assert (result.final.exit_code, result.final.status, result.final.remark) == (EXIT_OK, "ok", None)
    assert AGAIN in asked.notices()
    assert "the task" in str(asked.requests[0]["messages"][-1])
    told = str(asked.requests[3]["messages"])
    assert "- 1 Step 1: done\\n- 2 Step 2: failed: Files that the plan declares are not there: no.md\\n" in told
    assert "- 3 Step 3: not run" in told and "Plan what is left to do" in told
    assert [each["id"] for each in asked.of(Plan)[-1].plan["tasks"]] == ["again-1", "again-2"]
    assert result.plan is not None and [each.id for each in result.plan.steps] == ["again-1", "again-2"]
    assert not asked.can_resume(result)


async def test_the_answer_in_a_schema_is_asked_of_whoever_carried_out_the_other_plan(asked: Asked) -> None:
    turns = [plan(step("1", files=["no.md"])), say("1"), plan(step("1", title="The other way")), say("2"), say("{}")]
    result = await asked(turns, replan=True, answer_schema=AnswerSchema({"type": "object"}))
    assert (result.final.exit_code, result.final.text) == (EXIT_OK, "{}")
    assert "- [done] The other way: 2" in str(asked.requests[-1]["messages"][0])


async def test_where_there_is_no_other_plan_the_failure_stays(asked: Asked) -> None:
    first = plan(step("1", files=["no.md"]), step("2"))
    result = await asked([first, say("I wrote it."), *[Turn("no plan at all")] * 9], replan=True)
    assert (result.final.exit_code, states(result)) == (EXIT_FAILED, [("1", "failed"), ("2", "not_run")])
    assert str(result.final.remark) == "Files that the plan declares are not there: no.md"
    [why] = [each for each in asked.notices() if each.startswith("There is no other plan: ")]
    assert why == "There is no other plan: The reply is plain text; a plan as one JSON object was asked for."


async def test_another_plan_that_fails_as_well_is_the_end(asked: Asked) -> None:
    bad = plan(step("1", files=["no.md"]))
    result = await asked([bad, say("1"), bad, say("2"), bad, say("3")], replan=True)
    assert states(result) == [("1", "failed"), ("again-1", "failed")]
    assert len(asked.requests) == 4 and asked.notices().count(AGAIN) == 1


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"replan": True, "plan": read_plan({"tasks": [step("1", files=["no.md"])]})},
        {"replan": True, "limits": TaskLimits(max_rounds=2)},
    ],
    ids=["not wanted", "a plan that was given", "at a limit"],
)
async def test_the_planner_is_not_asked_again(asked: Asked, request_: dict[str, Any]) -> None:
    planned = [] if "plan" in request_ else [plan(step("1", files=["no.md"]))]
    turns = [*planned, write("a.py", "a\n"), say("I wrote it."), plan(step("1")), say("Two.")]
    result = await asked(turns, **request_)
    assert result.final.exit_code == EXIT_FAILED and AGAIN not in asked.notices()


async def test_a_step_that_is_skipped_asks_for_no_other_plan(asked: Asked) -> None:
    result = await asked([plan(step("1", files=["no"], on_error="skip")), say("1")], replan=True)
    assert result.final.exit_code == EXIT_FAILED and AGAIN not in asked.notices()


async def test_plans_that_cannot_be_used_are_told_and_agree_with_none(asked: Asked) -> None:
    good = plan(step("1"))
    result = await asked([good, *[Turn("nothing")] * 3, good], only_plan=3)
    assert (result.final.exit_code, len(result.plans), result.plan) == (EXIT_OK, 2, result.plans[0])
    assert result.reproducibility == pytest.approx(2 / 3)
    assert asked.of(Task)[0].mode == "plan" and result.final.node_id is None
    [problem] = asked.of(Error)
    assert problem.kind == "plan" and "plan" in str(problem.sentence)
    assert not (asked.root / ".nebula/graph/nodes").exists() or not list(
        (asked.root / ".nebula/graph/nodes").rglob("*.xml")
    )


async def test_without_one_plan_that_can_be_used_it_fails(asked: Asked) -> None:
    result = await asked([Turn("nothing")] * 9, only_plan=2)
    assert str(result.final.remark) == "None of the plans can be used." and result.final.exit_code != EXIT_OK
    assert (result.plans, result.reproducibility) == ((), 0.0)


async def test_without_its_code_index_a_plan_is_made_all_the_same(asked: Asked) -> None:
    (asked.root / "a.py").write_text("x = 1\n")
    elsewhere = {"rag_url": refused_url()}
    result = await asked([plan(step("1")), say("Done.")], settings=elsewhere)
    [told] = [each for each in asked.notices() if each.startswith("The plan is made without the code index: ")]
    assert elsewhere["rag_url"].partition("//")[2] in told and result.final.exit_code == EXIT_OK
    assert told.endswith("See EC_RAG_URL.")
