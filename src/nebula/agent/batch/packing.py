"""A task on its way to another machine and back: its files as one archive, its outcome as plain values.

Keys do not travel: each machine has its own models, or its own environment that leads to them.
"""

from __future__ import annotations

import asyncio
import io
import os
import tarfile
import tempfile
from collections.abc import Mapping
from typing import Any

from nebula.agent.batch.isolation import forget_derived
from nebula.agent.batch.outcome import patch_of
from nebula.agent.batch.task_file import BatchTask
from nebula.agent.batch.work import carry_out
from nebula.agent.orchestrator.limits import TaskLimits
from nebula.config import load_settings
from nebula.value import value


@value
class Returned:
    outcome: Mapping[str, Any]
    patch: str
    records: bytes
    """What the task wrote down, as an archive."""


def pack(folder: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        archive.add(folder, arcname=".")
    return buffer.getvalue()


def unpack(packed: bytes, folder: str) -> None:
    """Nothing outside the folder, no devices, no foreign owners."""
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as archive:
        archive.extractall(folder, filter="data")


def work_on(
    packed: bytes, task: Mapping[str, Any], said: Mapping[str, Any], prefix: str, trusted: bool, limits: TaskLimits
) -> Returned:
    """The whole of a task, in a folder that is gone when it ends. Runs where the archive was sent to."""
    with tempfile.TemporaryDirectory(prefix="nebula-task-") as folder:
        place = os.path.join(folder, "project")
        unpack(packed, place)
        settings = load_settings(place, overrides={**said, "trust": trusted or None})
        try:
            outcome = asyncio.run(carry_out(BatchTask.from_json(task), place, said, settings, (), limits))
            records = pack(os.path.join(place, ".nebula"))
            return Returned(outcome.to_json(), patch_of(place, prefix), records)
        finally:
            forget_derived(place, settings.home)
