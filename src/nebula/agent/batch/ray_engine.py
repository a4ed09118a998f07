"""The same batch on a Ray cluster: files and tasks go there, patches and records come back.

nebula has to be installed on the machines of the cluster, and they have to reach the models by themselves: no key
leaves this machine. Needs the extra `ray`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import tempfile
import warnings
from functools import partial
from typing import Any

from nebula.agent.batch.outcome import TaskOutcome, failed_outcome
from nebula.agent.batch.packing import unpack
from nebula.agent.batch.places import TaskPlaces, prefix_of
from nebula.agent.batch.results import Results
from nebula.agent.batch.run import BatchWatch
from nebula.agent.batch.task_file import BatchTask
from nebula.agent.batch.work import Returned, Said, TaskOrder, carry_out, send_project, settings_for
from nebula.agent.orchestrator.limits import TaskLimits
from nebula.config import Settings
from nebula.config.parsing import MAX_CONFIG_BYTES
from nebula.errors import EXIT_USAGE, NebulaError
from nebula.files.home import forget_projects_below
from nebula.files.reading import UnreadableFile, read_below

LOCAL = "ray"
PROJECT_CONFIG = ".nebula/config.json"
CPUS_A_TASK = 0.5
"""A task mostly waits for its model."""
WAKE_S = 0.2
CLEARING_S = 2.0


class RayMissing(NebulaError):
    """Ray is not installed, or its cluster cannot be reached."""

    exit_code = EXIT_USAGE


class ClusterFailed(NebulaError):
    """Raised where the cluster could not carry out a task."""


class RayEngine:
    def __init__(
        self, results: Results, places: TaskPlaces, said: Said, address: str, limits: TaskLimits | None = None
    ) -> None:
        """Connect to the cluster at `address`. Raises RayMissing."""
        self._results, self._places, self._said, self._limits = results, places, said, limits or TaskLimits()
        self._ray = _connect(address)
        self._cancelled: list[Any] = []
        self._work: Any = self._ray.remote(num_cpus=CPUS_A_TASK, max_retries=1)(work_on)

    async def __call__(self, task: BatchTask, _: BatchWatch) -> TaskOutcome:
        try:
            returned = await self._run_on_cluster(task)
        except self._ray.exceptions.RayError as problem:  # with a traceback of another machine; its last line says it
            said = str(problem).strip().splitlines()[-1:] or [type(problem).__name__]
            returned = Returned(failed_outcome(task, ClusterFailed("{problem}", problem=said[0])))
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is the end of this task alone
            returned = Returned(failed_outcome(task, problem))
        await asyncio.to_thread(self._results.keep, task, returned)
        return returned.outcome

    async def _run_on_cluster(self, task: BatchTask) -> Returned:
        settings = await asyncio.to_thread(settings_for, task, task.root, self._said)
        prefix = prefix_of(task.root)
        packed = await self._pack(task, settings, prefix)
        config = await asyncio.to_thread(_read_config, task.root)
        said = {name: each for name, each in self._said.items() if each} | {"trust": settings.trust or None}
        reference = self._work.remote(packed, config, task, said, prefix, self._limits)
        try:
            returned: Returned = await asyncio.wrap_future(reference.future())
        except asyncio.CancelledError:
            self._ray.cancel(reference)
            self._cancelled.append(reference)
            raise
        return returned

    def close(self) -> None:
        """Leave the cluster, once tasks that were cancelled there have removed their files; one of this machine ends
        with that."""
        if self._cancelled:
            self._ray.wait(self._cancelled, num_returns=len(self._cancelled), timeout=CLEARING_S)
        self._ray.shutdown()

    async def _pack(self, task: BatchTask, settings: Settings, prefix: str) -> bytes:
        async with self._places.begin(task, settings, partial(send_project, task, prefix)) as hear:
            return bytes(await hear())


def _read_config(root: str) -> bytes:
    try:
        return read_below(root, PROJECT_CONFIG, MAX_CONFIG_BYTES) or b""
    except UnreadableFile:
        return b""


def work_on(packed: bytes, config: bytes, task: BatchTask, said: Said, prefix: str, limits: TaskLimits) -> Returned:
    """Carry out the whole of a task, in a folder that is gone when it ends. Runs where the archive was sent to."""
    with tempfile.TemporaryDirectory(prefix="nebula-task-") as folder:
        root = os.path.join(folder, "project")
        unpack(packed, root)
        if config:
            os.makedirs(os.path.join(root, os.path.dirname(PROJECT_CONFIG)), mode=0o700, exist_ok=True)
            with open(os.path.join(root, PROJECT_CONFIG), "wb") as file:
                file.write(config)
        settings = settings_for(task, root, said)
        try:
            return asyncio.run(_carry_out_awake(TaskOrder(task, settings, prefix, limits), root))
        finally:
            shutil.rmtree(root)
            forget_projects_below(settings.home, root)


async def _carry_out_awake(order: TaskOrder, root: str) -> Returned:
    """Carry out a task in a loop that never sleeps for long: what Ray cancels it does not wake."""

    async def wake() -> None:
        while True:  # noqa: ASYNC110 - nobody could set an event
            await asyncio.sleep(WAKE_S)

    waking = asyncio.create_task(wake())
    try:
        return await carry_out(order, root)
    finally:
        waking.cancel()


def _connect(address: str) -> Any:
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
