"""A batch on this machine: so many tasks at a time, in one process, each in a place of its own."""

from __future__ import annotations

import asyncio
import os
import resource
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Protocol

from nebula.agent.batch.isolation import clear_place, make_place
from nebula.agent.batch.outcome import TaskOutcome, patch_of
from nebula.agent.batch.results import Results
from nebula.agent.batch.task_file import BatchTask
from nebula.agent.batch.work import Said, carry_out
from nebula.agent.orchestrator.limits import TaskLimits
from nebula.config import Settings, load_settings
from nebula.errors import EXIT_INTERRUPTED
from nebula.events import Stamped
from nebula.git import place_in_repository
from nebula.language import Sentence
from nebula.value import record

MOST_THREADS = 16
"""They mostly wait for the disk."""
FILES_A_TASK = 40
"""Descriptors that one task may hold open at a time; generous."""


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
    threads = ThreadPoolExecutor(min(MOST_THREADS, parallel + 4), thread_name_prefix="batch")
    asyncio.get_running_loop().set_default_executor(threads)
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
    said = Sentence("All tasks together reached their limit of ${cost}.", cost=f"{max_cost:g}")
    return TaskOutcome(
        task.id, task.digest, task.root, status="limit", remark=said, group=task.group, model=task.executor
    )


def clear_left_behind(results: Results, tasks: Sequence[BatchTask], home: str) -> None:
    """The places of a batch that was killed. A task may have ended there, so that nobody would make its place again."""
    for task in tasks:
        place = results.place(task)
        if os.path.lexists(place):
            clear_place(task.root, place, os.path.normpath(os.path.join(place, prefix_of(task.root))), home)


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
    settings: Settings
    said: Said
    keep: bool = False
    """Leave the places as they are, to look at."""
    limits: TaskLimits = TaskLimits()

    async def __call__(self, task: BatchTask, watch: BatchWatch) -> TaskOutcome:
        try:
            outcome = await self._carry_out(task, watch)
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is the end of this task alone
            return await asyncio.to_thread(self.results.keep_failure, task, problem)
        if outcome.exit_code == EXIT_INTERRUPTED:
            raise asyncio.CancelledError
        return outcome

    async def _carry_out(self, task: BatchTask, watch: BatchWatch) -> TaskOutcome:
        place = self.results.place(task)
        inside = await asyncio.to_thread(make_place, task.root, place, task.ref)
        try:
            trusted = await asyncio.to_thread(load_settings, task.root, overrides=self.said)
            outcome = await carry_out(task, inside, self.said, trusted, [partial(watch.happened, task)], self.limits)
            if outcome.exit_code != EXIT_INTERRUPTED:
                await asyncio.to_thread(self._keep, task, outcome, inside)
            return outcome
        finally:
            if not self.keep:
                await asyncio.to_thread(clear_place, task.root, place, inside, self.settings.home)

    def _keep(self, task: BatchTask, outcome: TaskOutcome, inside: str) -> None:
        patch = patch_of(inside, prefix_of(task.root))
        self.results.keep(task, outcome, patch, os.path.join(inside, ".nebula"))


def prefix_of(root: str) -> str:
    """Return the path of a project in its repository, as paths in a patch for that repository begin."""
    inside = place_in_repository(root)
    return f"{inside}/" if inside else ""
