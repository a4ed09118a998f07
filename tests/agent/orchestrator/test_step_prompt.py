"""What models are told of a plan under way: the executor of its step, the planner of one that failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nebula.agent.orchestrator.plan_run import PlanRun, describe_failure
from nebula.agent.orchestrator.step_prompt import MOST_SAID, step_prompt
from nebula.agent.plan.plan import PlanStep
from nebula.events import StepOutcome
from nebula.language import Sentence

STEPS = (
    PlanStep("1", "Read\n the notes", "Read all notes"),
    PlanStep("2", goal="Sum\n them up"),
    PlanStep("3", tool="run_tests"),
    PlanStep("4", "Write it " + "down " * MOST_SAID, files=("a.py", "b.py")),
    PlanStep("5", "Tell"),
)


def test_the_executor_is_told_the_task_and_where_its_step_stands(tmp_path: Path) -> None:
    done = {"1": "They say\n hello " + "and more " * MOST_SAID, "2": "  "}
    told = step_prompt("Note it.", STEPS, STEPS[3], done, str(tmp_path), {"3"})
    head, plan, files = told.rsplit("\n\n", 2)
    assert head.endswith("# The task that the plan serves\n\nNote it.\n\n# The plan")
    assert files == "Files of this step: a.py, b.py"
    first, *middle, now, last = plan.splitlines()
    assert first.startswith("- [done] Read the notes: They say hello and more") and len(first) < MOST_SAID + 40
    assert middle == ["- [done] Sum them up", "- [done by another at this moment] run_tests"]
    assert now.startswith("- [now] Write it down") and len(now) < MOST_SAID + 20
    assert last == "- [not yet] Tell"


def test_while_work_is_repaired_no_step_is_the_one_at_hand(tmp_path: Path) -> None:
    told = step_prompt("Note it.", STEPS[:2], None, {"1": "Well.", "2": ""}, str(tmp_path))
    assert told.endswith("# The plan\n\n- [done] Read the notes: Well.\n- [done] Sum them up")


def test_the_planner_is_told_what_became_of_each_step_and_why() -> None:
    outcomes = {
        "1": StepOutcome("1", "done", "Read", Sentence("done before")),
        "2": StepOutcome("2", "failed", "Sum", Sentence("no such file")),
        "3": StepOutcome("3", "failed", "Test"),
        "5": StepOutcome("5", "not_run", "Tell"),
    }
    nobody: Any = None
    run = PlanRun(nobody, nobody, (), nobody, outcomes=outcomes)
    told = describe_failure("Note it.", [PlanStep("1", "Read"), STEPS[1], STEPS[2], STEPS[4]], run)
    assert told.startswith("Note it.\n\n# What happened so far\n")
    assert [line for line in told.splitlines() if line.startswith("- ")] == [
        "- 1 Read: done",
        "- 2 Sum them up: failed: no such file",
        "- 3 run_tests: failed",
        "- 5 Tell: not run",
    ]
