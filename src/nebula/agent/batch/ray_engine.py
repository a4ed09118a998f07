"""The same batch on a Ray cluster: files and tasks go there, patches and records come back.

nebula has to be installed on the machines of the cluster, and they have to reach the models by themselves: no key
leaves this machine. Needs the extra `ray`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
import warnings
from typing import Any

from nebula.agent.batch.isolation import clear_place, make_place
from nebula.agent.batch.outcome import TaskOutcome
from nebula.agent.batch.packing import Returned, pack, unpack, work_on
from nebula.agent.batch.results import Results
from nebula.agent.batch.run import BatchWatch, prefix_of
from nebula.agent.batch.task_file import BatchTask
from nebula.agent.batch.work import Said
from nebula.agent.orchestrator.limits import TaskLimits
from nebula.config import Settings, load_settings
from nebula.errors import EXIT_USAGE, NebulaError

LOCAL = "ray"
CPUS_A_TASK = 0.5
"""A task mostly waits for its model."""


class RayMissing(NebulaError):
    """Ray is not installed, or its cluster cannot be reached."""

    exit_code = EXIT_USAGE


class ClusterFailed(NebulaError):
    """Raised where the cluster could not carry out a task."""


class RayEngine:
    def __init__(
        self, results: Results, settings: Settings, said: Said, address: str, limits: TaskLimits | None = None
    ) -> None:
        """Raises RayMissing."""
        self._results, self._settings, self._said, self._limits = results, settings, said, limits or TaskLimits()
        self._ray = _connected(address)
        self._work: Any = self._ray.remote(num_cpus=CPUS_A_TASK, max_retries=1)(work_on)

    async def __call__(self, task: BatchTask, _: BatchWatch) -> TaskOutcome:
        try:
            returned = await self._on_the_cluster(task)
            outcome = TaskOutcome.from_json(returned.outcome)
            await asyncio.to_thread(self._keep, task, outcome, returned)
        except self._ray.exceptions.RayError as problem:  # with a traceback of another machine; its last line says it
            said = str(problem).strip().splitlines()[-1:] or [type(problem).__name__]
            return self._results.keep_failure(task, ClusterFailed("{problem}", problem=said[0]))
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is the end of this task alone
            return self._results.keep_failure(task, problem)
        return outcome

    async def _on_the_cluster(self, task: BatchTask) -> Returned:
        packed = await asyncio.to_thread(self._packed, task)
        trusted = load_settings(task.root, overrides=self._said).trust
        said = {name: each for name, each in self._said.items() if each}
        reference = self._work.remote(packed, task.to_json(), said, prefix_of(task.root), trusted, self._limits)
        try:
            returned: Returned = await asyncio.wrap_future(reference.future())
        except asyncio.CancelledError:
            self._ray.cancel(reference)
            raise
        return returned

    def _packed(self, task: BatchTask) -> bytes:
        place = self._results.place(task)
        inside = make_place(task.root, place, task.ref)
        try:
            return pack(inside)
        finally:
            clear_place(task.root, place, inside, self._settings.home)

    def _keep(self, task: BatchTask, outcome: TaskOutcome, returned: Returned) -> None:
        with tempfile.TemporaryDirectory(prefix="nebula-records-") as folder:
            records = os.path.join(folder, "records")
            unpack(returned.records, records)
            self._results.keep(task, outcome, returned.patch, records)


def _connected(address: str) -> Any:
    try:
        import ray
    except ImportError:
        raise RayMissing("Ray is not installed; `pip install 'ray[client]'` adds it.") from None
    logging.getLogger("ray").setLevel(logging.ERROR)
    quiet = {"log_to_driver": False, "include_dashboard": False} if address == LOCAL else {"address": address}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what it warns of it also raises
            ray.init(logging_level=logging.ERROR, **quiet)
    except Exception as problem:  # noqa: BLE001 - where it cannot start it raises the bare Exception
        reason = str(problem).strip().splitlines()[0] if str(problem).strip() else type(problem).__name__
        raise RayMissing("The cluster {address} cannot be reached: {reason}", address=address, reason=reason) from None
    return ray
