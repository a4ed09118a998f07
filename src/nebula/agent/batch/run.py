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
from nebula.errors import EXIT_INTERRUPTED
from nebula.events import Stamped
from nebula.language import Sentence
from nebula.value import record

FILES_A_TASK = 4
"""Descriptors that one task may hold open at a time in this process; generous."""


class BatchWatch(Protocol):
    """Somebody who looks on."""

    def started(self, task: BatchTask) -> None: ...

    def happened(self, task: BatchTask, stamped: Stamped) -> None: ...

    def ended(self, outcome: TaskOutcome) -> None: ...


Engine = Callable[[BatchTask, BatchWatch], Awaitable[TaskOutcome]]
"""Carries out one task somewhere, and keeps its result. Raises nothing that is the matter of one task alone."""


async def run_batch(
    tasks: Sequence[BatchTask], parallel: int, engine: Engine, watch: BatchWatch, max_cost: float | None = None
) -> list[TaskOutcome]:
    """Cancel it to interrupt it: what has ended is kept, the rest is done by the next run. Once all together cost
    `max_cost` dollars no further task is begun."""
    _allow_open_files(parallel)
    free = asyncio.Semaphore(parallel)
    spent = 0.0

    async def one(task: BatchTask) -> TaskOutcome:
        nonlocal spent
        async with free:
            watch.started(task)
            if max_cost is not None and spent >= max_cost:
                outcome = _not_begun(task, max_cost)
            else:
                outcome = await engine(task, watch)
                spent += outcome.cost
            watch.ended(outcome)
            return outcome

    async with asyncio.TaskGroup() as group:
        running = [group.create_task(one(task)) for task in tasks]
    return [each.result() for each in running]


def _not_begun(task: BatchTask, max_cost: float) -> TaskOutcome:
    """Return the outcome of a task that there was no money for; it is not kept, so a later run begins it."""
    said = Sentence("All tasks together reached their limit of ${cost}.", cost=in_digits(max_cost))
    return TaskOutcome(
        task.id, task.digest, task.root, status="limit", remark=said, group=task.group, model=task.executor
    )


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
