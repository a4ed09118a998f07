"""A batch in this process: how many at a time, what one failure means for the others, and that nothing stays open."""

from __future__ import annotations

import asyncio
import gc
import os

import pytest

from nebula.agent.batch.outcome import TaskOutcome
from nebula.agent.batch.results import Results
from nebula.agent.batch.run import LocalEngine, run_batch
from nebula.agent.batch.task_file import BatchTask
from nebula.config import load_settings
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


async def test_a_place_that_cannot_be_made_is_one_task_s_failure(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    results = Results(str(tmp_path / "out"))
    gone = BatchTask("gone", "write a.md", str(tmp_path / "gone"))
    engine = LocalEngine(results, load_settings(str(project)), {})
    [outcome] = await run_batch([gone], 1, engine, Quiet())
    assert (outcome.exit_code, str(outcome.remark)) == (1, "No such file or directory")
    assert results.done([gone]) == {"gone": outcome}


async def test_an_error_that_nobody_expected_is_the_end_of_one_task_alone(tmp_path):
    results = Results(str(tmp_path / "out"))

    class Broken(LocalEngine):
        async def _carry_out(self, task, watch):
            if task.id == "001":
                raise ValueError("two\nlines")
            await asyncio.sleep(0.01)  # still at work when the other one ends
            return TaskOutcome(task.id, task.digest, task.root, exit_code=0)

    engine = Broken(results, load_settings(str(tmp_path)), {})
    outcomes = await run_batch(tasks(tmp_path, 3), 3, engine, Quiet())
    assert [each.exit_code for each in outcomes] == [0, 1, 0]
    assert str(outcomes[1].remark).startswith("An internal error ended the task: ValueError: two lines (test_run.py:")
    assert list(results.done(tasks(tmp_path, 3))) == ["001"]


@pytest.mark.slow
def test_many_tasks_leave_nothing_open(tmp_path, monkeypatch):
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("x = 1\n")

    def open_files():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    with ScriptedModel(batch_model) as model:
        for name, value in model.env().items():
            monkeypatch.setenv(name, value)
        results = Results(str(tmp_path / "out"))
        engine = LocalEngine(results, load_settings(str(project)), {})

        async def both():
            await run_batch(tasks(project, 2), 2, engine, Quiet())
            before = open_files()
            outcomes = await run_batch(tasks(project, 20), 4, engine, Quiet())
            return outcomes, open_files() - before

        outcomes, more = asyncio.run(both())
    assert [each.exit_code for each in outcomes] == [0] * 20
    assert more <= 10
