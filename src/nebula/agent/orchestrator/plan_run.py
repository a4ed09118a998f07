"""The steps of a plan in their order, and what becomes of the rest when one fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal

from nebula.agent.orchestrator.executor import Executor, StepEnd
from nebula.agent.plan.plan import PlanStep
from nebula.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK
from nebula.events import EventStream, StepOutcome, StepProgress
from nebula.language import Sentence
from nebula.value import field, record

KEPT = Sentence("done before")


@record
class PlanRun:
    executor: Executor
    stream: EventStream
    steps: Sequence[PlanStep]
    """In the order in which they are carried out."""
    keep: Callable[[str, str], None]
    """Hears of each step that is done, with what it came to."""
    outcomes: dict[str, StepOutcome] = field(default_factory=dict)
    exit_code: int = EXIT_OK
    remark: Sentence | None = None
    """Why the first step that failed did so."""
    stopped: bool = False

    async def carry_out(self) -> None:
        for step in self.steps:
            if self.stopped:
                self.outcomes[step.id] = StepOutcome(step.id, "not_run", title_of(step))
            elif step.id in self.executor.done:
                self._record(StepOutcome(step.id, "done", title_of(step), KEPT, attempts=0))
            elif waits := [each for each in step.depends_on if self.outcomes[each].state != "done"]:
                self._record(StepOutcome(step.id, "skipped", title_of(step), _waits_for(waits)))
            else:
                await self._attempt(step)

    async def _attempt(self, step: PlanStep) -> None:
        started = time.monotonic()
        tries = 2 if step.on_error == "retry" else 1
        for attempt in range(1, tries + 1):
            self.stream.emit(StepProgress(step.id, "started", title_of(step), attempt))
            end = await self.executor.carry_out(step)
            if end.ok or end.exit_code == EXIT_INTERRUPTED:
                break
        seconds = round(time.monotonic() - started, 3)
        state = self._ended(step, end)
        self._record(StepOutcome(step.id, state, title_of(step), end.remark, seconds, attempt))

    def _ended(self, step: PlanStep, end: StepEnd) -> Literal["done", "failed"]:
        if end.ok:
            self.executor.done[step.id] = end.answer
            self.keep(step.id, end.answer)
            return "done"
        self.remark = self.remark or end.remark
        self.stopped = step.on_error != "skip" or end.exit_code == EXIT_INTERRUPTED
        self.exit_code = end.exit_code if self.stopped else EXIT_FAILED
        return "failed"

    def _record(self, outcome: StepOutcome) -> None:
        self.outcomes[outcome.id] = outcome
        self.stream.emit(
            StepProgress(outcome.id, outcome.state, outcome.title, outcome.attempts, outcome.remark, outcome.duration_s)
        )


def _waits_for(ids: Sequence[str]) -> Sentence:
    return Sentence("depends on {ids}", ids=", ".join(ids))


def title_of(step: PlanStep) -> str:
    return step.title.strip() or " ".join((step.goal or step.tool).split())[:80]
