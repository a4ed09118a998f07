"""A batch on this machine: so many tasks at a time, each in a place and a process of its own."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol

from nebula.agent.batch.outcome import TaskOutcome, failed_outcome
from nebula.agent.batch.places import TaskPlaces, prefix_of
from nebula.agent.batch.results import Results
from nebula.agent.batch.task_file import BatchTask
from nebula.agent.batch.work import Returned, Said, TaskOrder, settings_for, work_in_place
from nebula.agent.orchestrator.limits import TaskLimits, in_digits
from nebula.agent.turn_result import TurnResult
from nebula.errors import EXIT_INTERRUPTED
from nebula.events import Stamped
from nebula.language import Sentence
from nebula.value import field, record

FILES_A_TASK = 4
"""Descriptors that one task may hold open at a time in this process; generous."""


class BatchWatch(Protocol):
    """Somebody who looks on."""

    def started(self, task: BatchTask) -> None: ...

    def happened(self, task: BatchTask, stamped: Stamped) -> None: ...

    def ended(self, outcome: TaskOutcome) -> None: ...


Engine = Callable[[BatchTask, BatchWatch], Awaitable[TaskOutcome]]
"""Runs one task somewhere and stores its result. It raises nothing that concerns this task alone."""


async def run_batch(
    tasks: Sequence[BatchTask], parallel: int, engine: Engine, watch: BatchWatch, max_cost: float | None = None
) -> list[TaskOutcome]:
    """Run the tasks, `parallel` at a time. Cancel it to interrupt it: results of ended tasks are kept, the next run
    does the rest. Once the tasks cost `max_cost` dollars together, those at work are ended and no other begins."""
    _allow_open_files(parallel)
    free = asyncio.Semaphore(parallel)
    purse = Purse(watch, float("inf") if max_cost is None else max_cost)

    async def one(task: BatchTask) -> TaskOutcome:
        async with free:
            watch.started(task)
            outcome = await purse.pay_for(task, engine)
            watch.ended(outcome)
            return outcome

    async with asyncio.TaskGroup() as group:
        running = [group.create_task(one(task)) for task in tasks]
    return [each.result() for each in running]


@record
class Purse:
    """Counts what all tasks cost while they are at work, and ends them once it is empty. Implements `BatchWatch`."""

    watch: BatchWatch
    max_cost: float
    _results: dict[str, TurnResult] = field(default_factory=dict)
    _spent: dict[str, float] = field(default_factory=dict)
    """By task."""
    _at_work: set[asyncio.Task[TaskOutcome]] = field(default_factory=set)

    @property
    def is_empty(self) -> bool:
        return sum(self._spent.values()) >= self.max_cost

    async def pay_for(self, task: BatchTask, engine: Engine) -> TaskOutcome:
        if self.is_empty:
            return self._refuse_unpaid(task)
        work = asyncio.ensure_future(engine(task, self))
        self._at_work.add(work)
        try:
            outcome = await work
            self._spent[task.id] = outcome.cost  # an engine elsewhere tells of nothing before the end
            return outcome
        except asyncio.CancelledError:
            if (whole := asyncio.current_task()) is None or whole.cancelling():
                raise
            return self._refuse_unpaid(task)
        finally:
            self._at_work.discard(work)

    def _refuse_unpaid(self, task: BatchTask) -> TaskOutcome:
        """Return the outcome of a task that there was no money for; it is not kept, so a later run begins it."""
        said = Sentence("All tasks together reached their limit of ${cost}.", cost=in_digits(self.max_cost))
        place, cost = (task.id, task.digest, task.root), self._spent.get(task.id, 0.0)
        return TaskOutcome(*place, status="limit", remark=said, cost=cost, group=task.group, model=task.executor)

    def started(self, task: BatchTask) -> None:
        self.watch.started(task)

    def happened(self, task: BatchTask, stamped: Stamped) -> None:
        self.watch.happened(task, stamped)
        result = self._results.setdefault(task.id, TurnResult())
        result(stamped)
        self._spent[task.id] = max(self._spent.get(task.id, 0.0), result.cost or 0.0)
        if self.is_empty:
            for work in self._at_work:
                work.cancel()

    def ended(self, outcome: TaskOutcome) -> None:
        self.watch.ended(outcome)


def _allow_open_files(parallel: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 256 + parallel * FILES_A_TASK
    if soft < wanted:
        with suppress(ValueError, OSError):  # then it is as it is
            most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


@record
class LocalEngine:
    results: Results
    places: TaskPlaces
    said: Said
    keep: bool = False
    """Keep the projects as the tasks left them, to look at."""
    limits: TaskLimits = TaskLimits()

    async def __call__(self, task: BatchTask, watch: BatchWatch) -> TaskOutcome:
        try:
            returned = await self._carry_out(task, watch)
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is the end of this task alone
            returned = Returned(failed_outcome(task, problem))
        if returned.outcome.exit_code == EXIT_INTERRUPTED:
            raise asyncio.CancelledError
        await asyncio.to_thread(self.results.keep, task, returned)
        return returned.outcome

    async def _carry_out(self, task: BatchTask, watch: BatchWatch) -> Returned:
        settings = await asyncio.to_thread(settings_for, task, task.root, self.said)
        order = TaskOrder(task, settings, prefix_of(task.root), self.limits, self.keep)
        async with self.places.begin(task, settings, partial(work_in_place, order)) as hear:
            while not isinstance(said := await hear(), Returned):
                watch.happened(task, said)
            return said
