"""The yardstick itself: a scripted model with known outcomes must score as what it is, task by task."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parents[2] / "yardstick"
TASKS = sorted(path.name for path in (HERE / "tasks").iterdir() if path.is_dir())
pytestmark = pytest.mark.timeout(900)


def measured(*words: str) -> dict[str, Any]:
    command = [sys.executable, str(HERE / "measure.py"), "--json", "--parallel", "2", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=880)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_there_are_twenty_tasks_of_the_kinds_that_were_asked_for():
    assert len(TASKS) == 20
    kinds = {json.loads((HERE / "tasks" / name / "task.json").read_text("utf-8"))["kind"] for name in TASKS}
    assert kinds >= {"bug", "feature", "from nothing", "rename", "Japanese request"}


def test_every_known_good_outcome_is_solved():
    found = measured("--script", "good")
    assert [each["task"] for each in found["tasks"] if not each["solved"]] == []
    assert found["solved"] == 20
    assert all(each["exit_code"] == 0 and each["steps"] and each["input_tokens"] for each in found["tasks"])


def test_no_known_bad_outcome_is_solved():
    found = measured("--script", "bad")
    assert [each["task"] for each in found["tasks"] if each["solved"]] == []
    assert len(found["tasks"]) == 20
    assert all("failed" in each["judged"] for each in found["tasks"])  # by its tests, not by a judge that broke down


def test_the_orchestrator_is_measured_the_same_way():
    names = ("feature-across-layers", "scratch-roman", "japanese-tax")
    only = [word for name in names for word in ("--only", name)]
    assert measured("--script", "good", "--door", "evercontext", *only)["solved"] == 3
    assert measured("--script", "bad", "--door", "evercontext", *only)["solved"] == 0
