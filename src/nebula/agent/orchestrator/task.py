"""What is asked of the orchestrator, and what it hands back."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from nebula.agent.orchestrator.limits import TaskLimits
from nebula.agent.plan.plan import StepPlan
from nebula.events import Final
from nebula.value import value

if TYPE_CHECKING:
    from nebula.llm.dialect.answer_schema import AnswerSchema


@value
class TaskRequest:
    prompt: str
    plan: StepPlan | None = None
    """A plan that exists already; None: one is made."""
    done: Mapping[str, str] = MappingProxyType({})
    """When a plan is resumed: the steps that are done, with their answers."""
    resumes: str = ""
    """The trace id of the run that left that plan unfinished."""
    dry_run: bool = False
    """Write nothing; the result holds the differences instead."""
    rollback: bool = False
    """Restore the files if the task fails."""
    only_plan: int = 0
    """How many plans to make without carrying them out; 0: carry the task out."""
    trace_id: str = ""
    allow: tuple[str, ...] = ()
    """Secret and control files that the user allowed by name."""
    limits: TaskLimits = TaskLimits()
    replan: bool = False
    """Ask the planner once more if a step of its plan has failed for good."""
    parallel: int = 1
    """How many independent steps may run at the same time; in a dry run always one."""
    answer_schema: AnswerSchema | None = None
    """At the end the executor reports the result as JSON of this schema."""
    env: tuple[tuple[str, str], ...] = ()
    """Environment variables for the task's commands and checks."""


@value
class TaskResult:
    trace_id: str
    final: Final
    plan: StepPlan | None = None
    plans: tuple[StepPlan, ...] = ()
    """All plans that were made, where the task was only planned."""
    reproducibility: float | None = None
    """How many of the plans agree; an unusable one agrees with none."""
