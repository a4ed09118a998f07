"""Tasks of a batch: what is wrong with a line is said before anything begins. Results: kept whole, read back, never lost."""

from __future__ import annotations

import json
import os
import pickle

import pytest

from nebula.agent.batch.outcome import TaskOutcome
from nebula.agent.batch.results import Results, read_outcomes
from nebula.agent.batch.task_file import WORK_FOLDER, BadTaskFile, BatchTask, read_task_file
from nebula.agent.batch.work import Returned
from nebula.agent.plan.plan import read_plan


def written(folder, *lines):
    file = folder / "tasks.jsonl"
    file.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), "utf-8")
    return str(file)


def test_roots_are_relative_to_the_file_and_ids_are_line_numbers(tmp_path):
    (tmp_path / "app").mkdir()
    path = written(tmp_path, {"task": " 作って "}, "", {"task": "b", "root": "app", "id": "b-1", "executor": "m"})
    assert read_task_file(path) == [
        BatchTask("001", "作って", os.getcwd(), line=1),
        BatchTask("b-1", "b", str(tmp_path / "app"), executor="m", line=3),
    ]
    assert read_task_file(path, str(tmp_path / "app"))[0].root == str(tmp_path / "app")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "has no tasks"),
        (["{"], "line 1: not JSON"),
        (["[" * 100_000], "line 1: not JSON"),
        (["[]"], "line 1: a task is a JSON object"),
        ([{"task": "a"}, {"tusk": "b"}], "line 2: unknown key 'tusk'"),
        ([{"task": 3}], "line 1: 'task' must be a string"),
        ([{"root": "."}], 'line 1: "task" says what to do'),
        ([{"task": "a", "id": "../x"}], "line 1: an id has letters"),
        ([{"task": "a", "root": "nowhere"}], "line 1: there is no directory"),
        ([{"task": "a", "id": "x"}, {"task": "b", "id": "x"}], "two tasks have the id 'x'"),
        ([{"task": "a", "id": "A"}, {"task": "b", "id": "a"}], "two tasks have the id 'a'"),
        ([{"task": "a", "id": "work"}], "line 1: 'work' is a name of the batch's own files"),
        ([{"task": "a"}, {"task": "a", "id": "Lock"}], "line 2: 'Lock' is a name of the batch's own files"),
        ([{"task": "a", "id": "results.jsonl"}], "line 1: 'results.jsonl' is a name of the batch's own files"),
        ([{"plan": {"tasks": []}}], "line 1: The plan has no tasks."),
        ([{"task": "a", "checks": []}], "line 1: 'checks' must be a list of strings, none of them empty"),
        ([{"task": "a", "env": {"A": 1}}], "line 1: 'env' must be an object of variables"),
        ([{"task": "a", "checks": [" "]}], "line 1: 'checks' must be a list of strings, none of them empty"),
        ([{"task": "a", "models": ["m", ""]}], "line 1: 'models' must be a list of strings, none of them empty"),
        ([{"task": "a", "env": {"": "x"}}], "line 1: 'env' must be an object of variables"),
        ([{"task": "a", "env": {"A=B": "x"}}], "line 1: 'env' must be an object of variables"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, lines, said):
    with pytest.raises(BadTaskFile, match=said):
        read_task_file(written(tmp_path, *lines))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(BadTaskFile, match="cannot be read: No such file"):
        read_task_file(str(tmp_path / "missing"))


def test_a_task_survives_the_way_to_another_machine():
    plan = read_plan({"tasks": [{"id": "1", "goal": "g", "files": ["a"]}]})
    task = BatchTask("a", "", "/r", "p", plan=plan, env=(("A", "b"),), checks=("true",))
    assert pickle.loads(pickle.dumps(task)) == task


def kept(results, task, code=0):
    outcome = TaskOutcome(task.id, task.digest, task.root, exit_code=code, status="ok", files=("a",), cost=0.5)
    results.keep(task, Returned(outcome, "--- patch\n"))
    return outcome


def test_results_are_there_after_a_crash_and_stand_for_the_same_task_only(tmp_path):
    one, two, three = (BatchTask(name, "do it", "/r") for name in ("one", "two", "three"))
    results = Results(str(tmp_path / "out"))
    first, second = kept(results, one), kept(results, two, code=1)
    with open(tmp_path / "out" / "results.jsonl", "a", encoding="utf-8") as file:
        file.write('{"id": "three", "dig')  # a line that a crash cut off
    results.close()
    again = Results(str(tmp_path / "out"))
    changed = BatchTask("one", "do something else", "/r")
    assert again.done([one, two, three]) == {"one": first, "two": second}
    assert again.done([one, two, three], again=True) == {"one": first}
    assert again.done([changed]) == {}
    third = kept(again, three)
    assert again.done([three]) == {"three": third}
    assert (tmp_path / "out/three/changes.patch").read_text() == "--- patch\n"


@pytest.mark.parametrize(
    "line",
    ["", "[]", "3", "null", "{}", '{"id": 3}', '{"id": "b"}', "[" * 100_000, '"\\ud800"']
    + [json.dumps({"id": "b", "digest": "d", "root": "r", name: {"a": 1}}) for name in TaskOutcome.__match_args__],
)
def test_a_line_of_results_that_is_none_counts_as_none(tmp_path, line):
    results = Results(str(tmp_path / "out"))
    one = BatchTask("one", "do it", "/r")
    (tmp_path / "out/results.jsonl").write_text(line + "\n", "utf-8")
    first = kept(results, one)
    assert read_outcomes(str(tmp_path / "out/results.jsonl")) == [first]


def test_two_batches_do_not_share_a_folder(tmp_path):
    results = Results(str(tmp_path))
    with pytest.raises(BadTaskFile, match="another batch is at work"):
        Results(str(tmp_path))
    results.close()
    Results(str(tmp_path)).close()


def test_no_task_can_have_a_name_of_the_folder_of_results(tmp_path):
    results = Results(str(tmp_path / "out"))
    kept(results, BatchTask("a", "x", str(tmp_path)))
    results.close()
    os.makedirs(os.path.join(results.folder, WORK_FOLDER))
    for name in os.listdir(results.folder):
        if name != "a":
            with pytest.raises(BadTaskFile):
                read_task_file(written(tmp_path, {"task": "x", "id": name}))
