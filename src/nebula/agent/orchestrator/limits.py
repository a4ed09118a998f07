"""Limits of one task: model calls, time, cost. They are checked before each call of a model."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from nebula.agent.orchestrator.models import TaskModels
from nebula.agent.turn_result import TurnLimit, TurnResult
from nebula.language import Sentence, sentence_of
from nebula.llm.choose import ChosenModel
from nebula.llm.contract import Model, ModelRequest, StreamItem, WrappedModel
from nebula.value import record, replace, value


@value
class TaskLimits:
    """Limits of a task; None: no limit."""

    max_rounds: int | None = None
    timeout_s: float | None = None
    max_cost: float | None = None
    """In US dollars; calls whose price is not known do not count."""


@record
class LimitGuard:
    """Counts the calls of one task, and ends the task where a limit is reached."""

    limits: TaskLimits
    result: TurnResult
    calls: int = 0
    spent: float = 0.0
    reached: Sentence | None = None

    def check(self) -> None:
        """Count a call that is about to be made. Raises TurnLimit if a limit is reached."""
        limits = self.limits
        self.spent = max(self.spent, self.result.cost or 0.0)
        if limits.max_rounds is not None and self.calls >= limits.max_rounds:
            raise self.end(TurnLimit("The task reached its limit of {count} model calls.", count=limits.max_rounds))
        if limits.max_cost is not None and self.spent >= limits.max_cost:
            raise self.end(TurnLimit("The task reached its limit of ${cost}.", cost=in_digits(limits.max_cost)))
        self.calls += 1

    def end(self, limit: TurnLimit) -> TurnLimit:
        self.reached = self.reached or sentence_of(limit)
        return limit

    def out_of_time(self) -> TurnLimit:
        seconds = f"{self.limits.timeout_s:g}"
        return self.end(TurnLimit("The task reached its limit of {seconds} seconds.", seconds=seconds))

    def limited(self, models: TaskModels) -> TaskModels:
        """Return the same models, with their calls counted here."""
        planner = self._limited(models.planner)
        same = models.executor.connector is models.planner.connector
        executor = replace(models.executor, connector=planner.connector) if same else self._limited(models.executor)
        return replace(models, planner=planner, executor=executor)

    def _limited(self, chosen: ChosenModel) -> ChosenModel:
        return replace(chosen, connector=LimitedModel(chosen.connector, self))


def in_digits(amount: float) -> str:
    """Return an amount of money in plain digits, however small: 0.00003, not 3e-05."""
    return f"{amount:.10f}".rstrip("0").rstrip(".")


class LimitedModel(WrappedModel):
    def __init__(self, model: Model, guard: LimitGuard) -> None:
        super().__init__(model)
        self._guard = guard

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        self._guard.check()
        async with aclosing(self._model.stream(request)) as items:
            async for item in items:
                yield item
