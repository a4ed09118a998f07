"""A batch on this machine: how many at a time, what one failure means for the others, and that nothing stays open."""

from __future__ import annotations

import asyncio
import gc
import os
from pathlib import Path

import pytest

from nebula.agent.batch.outcome import TaskOutcome
from nebula.agent.batch.places import TaskPlaces
from nebula.agent.batch.results import Results
from nebula.agent.batch.run import LocalEngine, run_batch
from nebula.agent.batch.task_file import BatchTask
from nebula.agent.batch.work import Returned
from scripted_model import ScriptedModel
from scripted_model.batch import batch_model


class Quiet:
    def started(self, task):
        pass

    def happened(self, task, stamped):
        pass

    def ended(self, outcome):
        pass


def tasks(root, count, what="write made.md"):
    return [BatchTask(f"{number:03}", what, str(root)) for number in range(count)]


async def test_never_more_at_a_time_than_asked_for(tmp_path):
    at_work, most = 0, 0

    async def engine(task, _):
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        for _ in range(5):
            await asyncio.sleep(0)
        at_work -= 1
        return TaskOutcome(task.id, task.digest, task.root, exit_code=0)

    outcomes = await run_batch(tasks(tmp_path, 20), 3, engine, Quiet())
    assert (most, [each.id for each in outcomes]) == (3, [f"{number:03}" for number in range(20)])


async def run_here(folder, lines, parallel, said=None):
    """Run tasks in places of their own, and return the results as well."""
    results = Results(str(folder / "out"))
    places = TaskPlaces(lines, results.folder, print)
    try:
        return await run_batch(lines, parallel, LocalEngine(results, places, said or {}), Quiet()), results
    finally:
        places.close()


@pytest.mark.slow
async def test_a_place_that_cannot_be_made_is_one_task_s_failure(tmp_path):
    gone = BatchTask("gone", "write a.md", str(tmp_path / "gone"))
    [outcome], results = await run_here(tmp_path, [gone], 1)
    assert (outcome.exit_code, str(outcome.remark)) == (1, f"{gone.root}: No such file or directory")
    assert list(results.done([gone])) == ["gone"]


async def test_an_error_that_nobody_expected_is_the_end_of_one_task_alone(tmp_path):
    results = Results(str(tmp_path / "out"))

    class Broken(LocalEngine):
        async def _carry_out(self, task, watch):
            if task.id == "001":
                raise ValueError("two\nlines")
            await asyncio.sleep(0.01)  # still at work when the other one ends
            return Returned(TaskOutcome(task.id, task.digest, task.root, exit_code=0))

    lines = tasks(tmp_path, 3)
    outcomes = await run_batch(lines, 3, Broken(results, TaskPlaces(lines, results.folder, print), {}), Quiet())
    assert [each.exit_code for each in outcomes] == [0, 1, 0]
    assert str(outcomes[1].remark).startswith("An internal error ended the task: ValueError: two lines (test_run.py:")
    assert sorted(results.done(lines, again=True)) == ["000", "002"]  # kept in the order in which they ended


@pytest.mark.slow
def test_many_tasks_leave_nothing_open(tmp_path, monkeypatch):
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("x = 1\n")
    monkeypatch.setenv("NEBULA_HOME", str(tmp_path / "home"))

    def look():
        gc.collect()
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii").split()
        return len(os.listdir("/proc/self/fd")), children

    with ScriptedModel(batch_model) as model:
        for name, value in model.env().items():
            monkeypatch.setenv(name, value)

        async def both():
            await run_here(tmp_path, tasks(project, 2), 2)
            files, children = look()
            outcomes, _ = await run_here(tmp_path / "more", tasks(project, 12), 4)
            more, left = look()
            return outcomes, more - files, set(left) - set(children)

        outcomes, more, left = asyncio.run(both())
    assert [each.exit_code for each in outcomes] == [0] * 12
    assert more <= 10 and not left
