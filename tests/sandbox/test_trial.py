"""The trial of a layer in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nebula.sandbox import remembered
from nebula.sandbox.capability import capability
from nebula.sandbox.remembered import AVAILABLE, recall, recall_or_wait, remember
from scripted_model import ScriptedModel, Turn

if TYPE_CHECKING:
    from conftest import Bench


def test_what_was_begun_is_known_when_somebody_asks(tmp_path: Path) -> None:
    home = str(tmp_path / "not made yet")
    remembered.begin_trial(home)
    assert recall_or_wait(home) == (AVAILABLE, 0)


def test_whoever_asks_waits_for_it(tmp_path: Path) -> None:
    home = str(tmp_path)
    remembered.begin_trial(home)
    process = remembered._begun[home]
    assert capability(home).available
    with pytest.raises(ChildProcessError):
        os.waitpid(process, os.WNOHANG)


def test_an_answer_that_is_just_being_written_is_none(tmp_path: Path) -> None:
    remember(str(tmp_path), AVAILABLE, 0)
    (note,) = tmp_path.iterdir()
    note.write_bytes(b"")
    assert recall(str(tmp_path)) is None


def test_only_one_is_begun_and_none_where_the_answer_is_known(tmp_path: Path) -> None:
    home = str(tmp_path)
    remembered.begin_trial(home)
    process = remembered._begun[home]
    remembered.begin_trial(home)
    assert remembered._begun[home] == process
    recall_or_wait(home)
    remembered.begin_trial(home)
    assert home not in remembered._begun


@pytest.mark.parametrize("interpreter", ["/bin/false", "/no/such/interpreter", ""])
def test_where_no_process_finds_out_the_asker_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interpreter: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", interpreter)
        remembered.begin_trial(str(tmp_path))
    assert capability(str(tmp_path)).available


@pytest.mark.slow
def test_a_first_task_leaves_it_to_that_process_however_slow(bench: Bench, tmp_path: Path) -> None:
    slow = tmp_path / "slow-python"
    slow.write_text(f'#!/bin/sh\nsleep 0.5\nexec "{sys.executable}" "$@"\n')
    slow.chmod(0o755)
    with ScriptedModel([Turn("Done.")]) as model:
        script = (
            "import sys; from nebula.cli.nebula import main; sys.executable = sys.argv[1]; code = main(['-p', 'hi']); "
            "print(code, 'nebula.sandbox.command' in sys.modules)"
        )
        env = {**os.environ, **model.env(), "HOME": str(bench.home), "NEBULA_HOME": str(bench.home / "nebula")}
        words = [sys.executable, "-c", script, str(slow)]
        ran = subprocess.run(words, cwd=bench.project, env=env, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "0 False"
    assert "runCommand" in {tool["function"]["name"] for tool in model.turns[0].json["tools"]}


def test_a_machine_without_layers_is_known_to_be_one(tmp_path: Path) -> None:
    remember(str(tmp_path), "namespaces", 1)
    remembered.begin_trial(str(tmp_path))
    assert str(tmp_path) not in remembered._begun
    assert not capability(str(tmp_path)).available
