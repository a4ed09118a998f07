"""Copies of projects for the tasks of a batch: one process makes all copies of one project, for as long as it has
tasks."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from nebula.agent.batch.task_file import BatchTask
from nebula.agent.places.process import HostProcess
from nebula.agent.places.start import begin_work, give_order, modules_ahead
from nebula.agent.places.wire import HeldStill, PlaceFailed, PlaceOrder, receive
from nebula.config import Settings
from nebula.errors import NebulaError
from nebula.git import find_repository, place_in_repository
from nebula.language import Sentence
from nebula.value import replace

if TYPE_CHECKING:
    from nebula.agent.places.host import Work

_WORK = "nebula.agent.batch.work"

Hear = Callable[[], Awaitable[Any]]
"""Returns the next message of the work. Raises WorkEnded."""


class WorkEnded(NebulaError):
    """Raised where the process of a task ended without a result."""


class TaskPlaces:
    """The places for `tasks`, without the folder of their results. Closing it ends all that is being worked on."""

    def __init__(self, tasks: Sequence[BatchTask], results: str, remark: Callable[[Sentence], None]) -> None:
        self._results = os.path.realpath(results)
        self._left = Counter(map(_find_top, tasks))
        self._hidden: dict[str, set[str]] = {}
        for task in tasks:
            inside = os.path.relpath(os.path.realpath(task.root), top := _find_top(task))
            self._hidden.setdefault(top, {".nebula"}).add(os.path.normpath(os.path.join(inside, ".nebula")))
        self._hosts: dict[str, HostProcess] = {}
        self._remark = remark
        self._remarks: set[Sentence] = set()

    @asynccontextmanager
    async def begin(self, task: BatchTask, settings: Settings, work: Work) -> AsyncIterator[Hear]:
        """Run `work` in a copy of the task's project; the block gets a function that returns the messages of the work,
        one a call. Leaving the block ends the work."""
        top = _find_top(task)
        try:
            if top not in self._hosts:
                self._hosts[top] = HostProcess(_WORK)
                give_order(self._hosts[top], self._make_order(top, settings))
            line = await asyncio.to_thread(begin_work, self._hosts[top], work)
            reader, writer = await asyncio.open_unix_connection(sock=line)
            try:
                yield partial(self._next, reader)
            finally:
                writer.close()
        finally:
            self._left[top] -= 1
            if not self._left[top] and (host := self._hosts.pop(top, None)):
                await asyncio.to_thread(host.close)

    async def _next(self, reader: asyncio.StreamReader) -> Any:
        while isinstance(said := await receive(reader), HeldStill):
            if said.remark is not None and said.remark not in self._remarks:
                self._remarks.add(said.remark)
                self._remark(said.remark)
        if said is None:
            raise WorkEnded("The process of the task ended before the task did.")
        if isinstance(said, PlaceFailed):
            raise WorkEnded("{problem}", problem=said.problem)
        return said

    def close(self) -> None:
        for process in self._hosts.values():
            process.close()
        self._hosts.clear()

    def _make_order(self, top: str, settings: Settings) -> PlaceOrder:
        hidden = self._hidden[top]
        if f"{self._results}/".startswith(f"{top}/"):
            hidden.add(os.path.relpath(self._results, top))
        modules = modules_ahead([settings])
        return PlaceOrder(
            replace(settings, root=top), (), modules, tuple(sorted(hidden)), shows_graph=False, own_records=True
        )


def _find_top(task: BatchTask) -> str:
    """Return the folder that is copied: for a task that begins at a commit the whole repository."""
    repository = find_repository(task.root) if task.ref else None
    return repository[0] if repository else os.path.realpath(task.root)


def prefix_of(root: str) -> str:
    """Return the path of a project in its repository, as the paths of a patch for that repository begin."""
    inside = place_in_repository(root)
    return f"{inside}/" if inside else ""
