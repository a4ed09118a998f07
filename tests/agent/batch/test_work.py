"""Settings of a task in its own directory: whose checks may run there."""

from __future__ import annotations

import json

import pytest

from nebula.agent.batch.task_file import BatchTask
from nebula.agent.batch.work import settings_for
from nebula.config import load_settings


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("NEBULA_HOME", str(tmp_path / "home"))

    def make(name, *checks):
        folder = tmp_path / name
        (folder / ".nebula").mkdir(parents=True)
        (folder / ".nebula" / "config.json").write_text(json.dumps({"checks": checks}))
        return str(folder)

    return make


def allowed(root, copy, **said):
    trusted = load_settings(root, overrides=said)
    return settings_for(BatchTask("a", "x", root), copy, said, trusted).allowed_checks


def test_checks_of_a_trusted_project_run_in_its_copy(project):
    assert allowed(project("own", "true"), project("copy", "true"), trust=True) == ("true",)


def test_checks_of_a_project_that_nobody_trusts_do_not(project):
    assert allowed(project("own", "true"), project("copy", "true")) == ()


def test_checks_of_a_copy_that_say_something_else_do_not(project, tmp_path):
    """The user trusted what the project says now; the last commit may say something else."""
    own = project("own", "true")
    settings = load_settings(own)
    trusted = settings_for(BatchTask("a", "x", own), own, {"trust": True}, settings)
    copy = project("copy", "rm -r .")
    assert trusted.trust
    assert settings_for(BatchTask("a", "x", own), copy, {}, trusted).allowed_checks == ()


def test_a_task_s_own_models_come_before_those_of_the_command(project):
    own = project("own")
    task = BatchTask("a", "x", own, planner="openai/p")
    settings = settings_for(task, own, {"planner": "openai/q", "executor": "openai/e"}, load_settings(own))
    assert (settings.planner, settings.executor) == ("openai/p", "openai/e")
