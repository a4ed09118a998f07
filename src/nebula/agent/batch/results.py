"""The folder of results: a line for each task that has ended, on the disk before the next thing happens.

results.jsonl       one outcome a line; what stands here is not done again
ID/changes.patch    what the task changed
ID/.nebula/         its trace, log, audit and journal: `nebula trace show --root FOLDER/ID` tells its story
work/               places of tasks that are being worked on
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import traceback
from collections.abc import Iterable
from contextlib import suppress

from nebula.agent.batch.outcome import TaskOutcome
from nebula.agent.batch.task_file import LOCK_FILE, RESULTS_FILE, WORK_FOLDER, BadTaskFile, BatchTask
from nebula.errors import NebulaError
from nebula.files.syscalls import REAL
from nebula.files.untrusted_json import parse_json
from nebula.language import Sentence, sentence_of

PATCH_FILE = "changes.patch"


class Results:
    def __init__(self, folder: str) -> None:
        """Raises BadTaskFile where another batch is at work in the folder."""
        self.folder = os.path.abspath(folder)
        os.makedirs(os.path.join(self.folder, WORK_FOLDER), exist_ok=True)
        self._lock = os.open(os.path.join(self.folder, LOCK_FILE), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise BadTaskFile("another batch is at work in {folder}", folder=self.folder) from None
        self._path = os.path.join(self.folder, RESULTS_FILE)
        with open(os.path.join(self.folder, ".gitignore"), "w", encoding="utf-8") as rules:
            rules.write("*\n")  # results in a project are no part of it, for git and for the copies that tasks get

    def close(self) -> None:
        with suppress(OSError):
            os.rmdir(os.path.join(self.folder, WORK_FOLDER))
        os.close(self._lock)

    def place(self, task: BatchTask) -> str:
        return os.path.join(self.folder, WORK_FOLDER, task.id)

    def kept(self, task: BatchTask) -> str:
        """The task's folder in the results."""
        return os.path.join(self.folder, task.id)

    def patch(self, task_id: str) -> str:
        return os.path.join(self.folder, task_id, PATCH_FILE)

    def done(self, tasks: Iterable[BatchTask], *, again: bool = False) -> dict[str, TaskOutcome]:
        """The tasks that need not be done any more, by id; `again`: only those that succeeded."""
        digests = {task.id: task.digest for task in tasks}
        found: dict[str, TaskOutcome] = {}
        for outcome in read_outcomes(self._path):
            if digests.get(outcome.id) == outcome.digest:
                found[outcome.id] = outcome
        return {name: each for name, each in found.items() if not again or each.exit_code == 0}

    def keep(self, task: BatchTask, outcome: TaskOutcome, patch: str, state_dir: str) -> None:
        """The files first, then the line that says that they are there."""
        folder = self.kept(task)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        with open(self.patch(task.id), "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(patch)
        if os.path.isdir(state_dir):
            shutil.copytree(state_dir, os.path.join(folder, ".nebula"), symlinks=True)
        self._append(json.dumps(outcome.to_json(), ensure_ascii=False))

    def keep_failure(self, task: BatchTask, problem: Exception) -> TaskOutcome:
        """Keep and return the outcome of a task that could not be carried out; an error that nobody expected, too."""
        expected = isinstance(problem, NebulaError | OSError)
        remark = sentence_of(problem) if expected else _describe_bug(problem)
        outcome = TaskOutcome(task.id, task.digest, task.root, remark=remark, group=task.group, model=task.executor)
        self.keep(task, outcome, "", "")
        return outcome

    def _append(self, line: str) -> None:
        handle = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            size = os.fstat(handle).st_size
            torn = size and os.pread(handle, 1, size - 1) != b"\n"
            os.write(handle, (b"\n" if torn else b"") + line.encode() + b"\n")
            REAL.fsync(handle)
        finally:
            os.close(handle)


def read_outcomes(path: str) -> list[TaskOutcome]:
    """Return the outcomes in a file of results; a last line that a crash cut off is as good as none."""
    outcomes = []
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.readlines()
    except FileNotFoundError:
        return []
    for line in lines:
        with suppress(ValueError, TypeError, KeyError):
            outcomes.append(TaskOutcome.from_json(parse_json(line)))
    return outcomes


def _describe_bug(problem: Exception) -> Sentence:
    """Name the error and the line of code that it came from."""
    *_, last = traceback.extract_tb(problem.__traceback__) or [None]
    where = f"{os.path.basename(last.filename)}:{last.lineno}" if last is not None else "?"
    said = " ".join(str(problem).split())
    return Sentence(
        "An internal error ended the task: {problem} ({where})",
        problem=f"{type(problem).__name__}: {said}",
        where=where,
    )
