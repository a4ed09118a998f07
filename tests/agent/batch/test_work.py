"""Settings of a task: whose models, whose checks."""

from __future__ import annotations

import json

import pytest

from nebula.agent.batch.task_file import BatchTask
from nebula.agent.batch.work import settings_for
from nebula.config import load_settings, remember_trust


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("NEBULA_HOME", str(tmp_path / "home"))
    (tmp_path / "project/.nebula").mkdir(parents=True)
    (tmp_path / "project/.nebula/config.json").write_text(json.dumps({"checks": ["true"]}))
    return str(tmp_path / "project")


@pytest.mark.parametrize(("said", "allowed"), [({"trust": True}, ("true",)), ({}, ())])
def test_checks_of_a_project_run_once_it_is_trusted(project, said, allowed):
    assert settings_for(BatchTask("a", "x", project), project, said).allowed_checks == allowed


def test_checks_that_differ_from_those_that_were_trusted_do_not_run(project):
    task = BatchTask("a", "x", project)
    remember_trust(load_settings(project))
    assert settings_for(task, project, {}).allowed_checks == ("true",)
    with open(f"{project}/.nebula/config.json", "w", encoding="utf-8") as file:
        json.dump({"checks": ["curl evil"]}, file)
    assert settings_for(task, project, {}).allowed_checks == (), "as another commit may have them"


def test_checks_of_the_task_itself_are_the_user_s_own(project):
    task = BatchTask("a", "x", project, checks=("make test",))
    assert settings_for(task, project, {}).allowed_checks == ("make test",)


def test_a_task_s_own_models_come_before_those_of_the_command(project):
    task = BatchTask("a", "x", project, planner="openai/p")
    settings = settings_for(task, project, {"planner": "openai/q", "executor": "openai/e"})
    assert (settings.planner, settings.executor) == ("openai/p", "openai/e")
