"""Run the steps of a plan in order; when one fails, decide about the others, and perhaps plan the rest anew."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Literal

from nebula.agent.orchestrator.executor import Executor, StepEnd
from nebula.agent.plan.plan import PlanStep, StepPlan
from nebula.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK
from nebula.events import EventStream, StepOutcome, StepProgress
from nebula.language import Sentence
from nebula.value import field, record, replace

KEPT = Sentence("done before")
_AGAIN = "again-"
_ASKED = """\
{task}

# What happened so far
A plan for this task was begun, and a step of it failed for good. What the steps that are done changed is in the files.
{steps}

Plan what is left to do, in another way than the step that failed."""


@record
class PlanRun:
    executor: Executor
    stream: EventStream
    steps: Sequence[PlanStep]
    """In the order in which they are carried out."""
    keep: Callable[[str, str], None]
    """Called for each step that is done, with its answer."""
    parallel: int = 1
    """How many steps may run at the same time."""
    outcomes: dict[str, StepOutcome] = field(default_factory=dict)
    exit_code: int = EXIT_OK
    remark: Sentence | None = None
    """Why the first failing step failed."""
    stopped: bool = False
    _alone: bool = False
    """The running step must run alone."""

    async def carry_out(self) -> None:
        """Carry out all steps, each as soon as the steps that it depends on have ended. If this is cancelled, running
        steps end as interrupted and no other begins."""
        waiting, running = list(self.steps), set[asyncio.Task[None]]()
        try:
            while waiting or running:
                self._begin(waiting, running)
                if running:
                    await self._wait(running)
        finally:
            for each in running:
                each.cancel()
        self.outcomes = {step.id: self.outcomes[step.id] for step in self.steps}

    def _begin(self, waiting: list[PlanStep], running: set[asyncio.Task[None]]) -> None:
        """Start the steps that can start now, in their order, and record those that never will."""
        for step in list(waiting):
            if self.stopped:
                self.outcomes[step.id] = StepOutcome(step.id, "not_run", title_of(step))
            elif len(running) >= self.parallel or self._alone or (running and step.is_check):
                return
            elif step.id in self.executor.done:
                self._record(StepOutcome(step.id, "done", title_of(step), KEPT, attempts=0))
            elif not all(each in self.outcomes for each in step.depends_on):
                continue
            elif waits := [each for each in step.depends_on if self.outcomes[each].state != "done"]:
                remark = Sentence("depends on {ids}", ids=", ".join(waits))
                self._record(StepOutcome(step.id, "skipped", title_of(step), remark))
            else:
                self._alone = step.is_check
                self.executor.at_work.add(step.id)
                running.add(asyncio.create_task(self._attempt(step)))
            waiting.remove(step)

    async def _wait(self, running: set[asyncio.Task[None]]) -> None:
        """Wait until a step has ended."""
        try:
            ended, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            for each in running:
                each.cancel()
            ended, _ = await asyncio.wait(running)
            if not self.stopped:  # they ended at the same moment
                raise
        finally:
            self._alone = self._alone and not all(each.done() for each in running)
        running -= ended
        for each in ended:
            each.result()

    async def _attempt(self, step: PlanStep) -> None:
        started = time.monotonic()
        tries = 2 if step.on_error == "retry" else 1
        for attempt in range(1, tries + 1):
            self.stream.emit(StepProgress(step.id, "started", title_of(step), attempt))
            end = await self.executor.carry_out(step)
            if end.ok or end.exit_code == EXIT_INTERRUPTED:
                break
        seconds = round(time.monotonic() - started, 3)
        self.executor.at_work.discard(step.id)
        state = self._ended(step, end)
        self._record(StepOutcome(step.id, state, title_of(step), end.remark, seconds, attempt))

    def _ended(self, step: PlanStep, end: StepEnd) -> Literal["done", "failed"]:
        if end.ok:
            self.executor.done[step.id] = end.answer
            self.keep(step.id, end.answer)
            return "done"
        self.remark = self.remark or end.remark
        stops = step.on_error != "skip" or end.exit_code == EXIT_INTERRUPTED
        if not self.stopped or end.exit_code == EXIT_INTERRUPTED:
            self.exit_code = end.exit_code if stops else EXIT_FAILED
        self.stopped = self.stopped or stops
        return "failed"

    def add(self, end: StepEnd) -> None:
        """Count an attempt that comes after all steps."""
        if not end.ok:
            self.exit_code, self.remark = end.exit_code, end.remark

    def _record(self, outcome: StepOutcome) -> None:
        self.outcomes[outcome.id] = outcome
        self.stream.emit(
            StepProgress(outcome.id, outcome.state, outcome.title, outcome.attempts, outcome.remark, outcome.duration_s)
        )


def title_of(step: PlanStep) -> str:
    return step.title.strip() or " ".join((step.goal or step.tool).split())[:80]


def describe_failure(task: str, steps: Sequence[PlanStep], run: PlanRun) -> str:
    """Return the text that asks the planner for another plan of the task."""
    lines = [_describe_step(step, run.outcomes[step.id]) for step in steps]
    return _ASKED.format(task=task, steps="\n".join(lines))


def _describe_step(step: PlanStep, outcome: StepOutcome) -> str:
    why = f": {outcome.remark}" if outcome.remark is not None and outcome.state != "done" else ""
    return f"- {step.id} {title_of(step)}: {outcome.state.replace('_', ' ')}{why}"


def rename_steps(plan: StepPlan) -> StepPlan:
    """Return the plan with step ids that do not occur in the first plan."""
    steps = [
        replace(step, id=_AGAIN + step.id, depends_on=tuple(_AGAIN + each for each in step.depends_on))
        for step in plan.steps
    ]
    return replace(plan, steps=tuple(steps))


def keep_outcomes(first: PlanRun, second: PlanRun) -> None:
    """Put the outcomes of the first plan before those of the second, without steps that never ran."""
    ran = {name: each for name, each in first.outcomes.items() if each.state in ("done", "failed")}
    second.outcomes = ran | second.outcomes
