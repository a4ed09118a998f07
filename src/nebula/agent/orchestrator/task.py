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
    """A plan that is there already; else one is made."""
    done: Mapping[str, str] = MappingProxyType({})
    """Of a plan that is resumed: the steps that need not be done again, with what each came to."""
    resumes: str = ""
    """The trace id of the run that left that plan unfinished."""
    dry_run: bool = False
    """Nothing is written; the diffs are what would be."""
    rollback: bool = False
    """A task that fails leaves the files as they were."""
    only_plan: int = 0
    """How many plans are made, where nothing is carried out."""
    trace_id: str = ""
    allow: tuple[str, ...] = ()
    """Secret and control files that the user allowed by name."""
    limits: TaskLimits = TaskLimits()
    replan: bool = False
    """The planner is asked once more where a step of its plan failed for good."""
    parallel: int = 1
    """How many steps that do not depend on each other may be at work at a time; in a dry run always one."""
    answer_schema: AnswerSchema | None = None
    """In the end the executor says what the task came to, in JSON of this schema."""
    env: tuple[tuple[str, str], ...] = ()
    """Variables for its commands and checks."""


@value
class TaskResult:
    trace_id: str
    final: Final
    plan: StepPlan | None = None
    plans: tuple[StepPlan, ...] = ()
    """All that were made, where the task was only planned."""
    reproducibility: float | None = None
    """How far they agree; one that could not be used agrees with none."""
