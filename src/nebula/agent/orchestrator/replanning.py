"""Ask the planner once more after a step failed for good, with what happened so far."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.agent.orchestrator.plan_run import PlanRun, title_of
from nebula.agent.plan.plan import PlanStep, StepPlan
from nebula.events import StepOutcome
from nebula.value import replace

_AGAIN = "again-"
_ASKED = """\
{task}

# What happened so far
A plan for this task was begun, and a step of it failed for good. What the steps that are done changed is in the files.
{steps}

Plan what is left to do, in another way than the step that failed."""


def describe_failure(task: str, steps: Sequence[PlanStep], run: PlanRun) -> str:
    """Return the task as the planner is asked for it once more."""
    lines = [_describe_step(step, run.outcomes[step.id]) for step in steps]
    return _ASKED.format(task=task, steps="\n".join(lines))


def _describe_step(step: PlanStep, outcome: StepOutcome) -> str:
    why = f": {outcome.remark}" if outcome.remark is not None and outcome.state != "done" else ""
    return f"- {step.id} {title_of(step)}: {outcome.state.replace('_', ' ')}{why}"


def rename_steps(plan: StepPlan) -> StepPlan:
    """Return the plan with ids that no step of the first plan has."""
    steps = [
        replace(step, id=_AGAIN + step.id, depends_on=tuple(_AGAIN + each for each in step.depends_on))
        for step in plan.steps
    ]
    return replace(plan, steps=tuple(steps))


def keep_outcomes(first: PlanRun, second: PlanRun) -> None:
    """Put what became of the first plan before what becomes of the second; steps that never ran are no part of it."""
    ran = {name: each for name, each in first.outcomes.items() if each.state in ("done", "failed")}
    second.outcomes = ran | second.outcomes
