"""The folder of results: a line for each task that has ended, on the disk before the next thing happens.

results.jsonl       one outcome a line; what stands here is not done again
ID/changes.patch    what the task changed
ID/.nebula/         its trace, log, audit and journal: `nebula trace show --root FOLDER/ID` tells its story
work/ID/            the project as the task left it, where that was asked for
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from nebula.agent.batch.outcome import TaskOutcome
from nebula.agent.batch.packing import unpack
from nebula.agent.batch.task_file import LOCK_FILE, RESULTS_FILE, WORK_FOLDER, BadTaskFile, BatchTask
from nebula.files.descriptors import closed_after, naming
from nebula.files.syscalls import REAL
from nebula.files.untrusted_json import parse_json

if TYPE_CHECKING:
    from nebula.agent.batch.work import Returned

PATCH_FILE = "changes.patch"


class Results:
    def __init__(self, folder: str) -> None:
        """Raise BadTaskFile where another batch is at work in the folder."""
        self.folder = os.path.abspath(folder)
        os.makedirs(self.folder, exist_ok=True)
        self._lock = os.open(os.path.join(self.folder, LOCK_FILE), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise BadTaskFile("another batch is at work in {folder}", folder=self.folder) from None
        self._path = os.path.join(self.folder, RESULTS_FILE)
        ignored = os.path.join(self.folder, ".gitignore")
        with naming(ignored), open(ignored, "w", encoding="utf-8") as rules:
            rules.write("*\n")  # results in a project are no part of it, for git and for the copies that tasks get

    def close(self) -> None:
        os.close(self._lock)

    def patch(self, task_id: str) -> str:
        return os.path.join(self.folder, task_id, PATCH_FILE)

    def done(self, tasks: Iterable[BatchTask], *, again: bool = False) -> dict[str, TaskOutcome]:
        """Return the outcomes of the tasks that are done, by id; with `again` only of those that succeeded."""
        digests = {task.id: task.digest for task in tasks}
        found: dict[str, TaskOutcome] = {}
        for outcome in read_outcomes(self._path):
            if digests.get(outcome.id) == outcome.digest:
                found[outcome.id] = outcome
        return {name: each for name, each in found.items() if not again or each.exit_code == 0}

    def keep(self, task: BatchTask, returned: Returned) -> None:
        """Store the result of a task: its files first, then the line that says that they are there."""
        folder = os.path.join(self.folder, task.id)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        with naming(folder):
            with open(self.patch(task.id), "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
                file.write(returned.patch)
            if returned.records:
                unpack(returned.records, os.path.join(folder, ".nebula"))
            if returned.project:
                place = os.path.join(self.folder, WORK_FOLDER, task.id)
                shutil.rmtree(place, ignore_errors=True)
                unpack(returned.project, place)
        with naming(self._path):
            self._append(json.dumps(returned.outcome.to_json(), ensure_ascii=False))

    def _append(self, line: str) -> None:
        with closed_after(os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)) as handle:
            size = os.fstat(handle).st_size
            torn = size and os.pread(handle, 1, size - 1) != b"\n"
            REAL.write(handle, (b"\n" if torn else b"") + line.encode() + b"\n")
            REAL.fsync(handle)


def read_outcomes(path: str) -> list[TaskOutcome]:
    """Return the outcomes in a file of results; a last line that a crash cut off is ignored."""
    outcomes = []
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.readlines()
    except FileNotFoundError:
        return []
    for line in lines:
        with suppress(ValueError):
            outcomes.append(TaskOutcome.from_json(parse_json(line)))
    return outcomes
