"""The conversation stays out of git until the user shares it."""

import os
import subprocess

import pytest

from conftest import Bench
from in_process import run_here
from nebula.graph.graph import Graph
from nebula.workspace.guard.jail import Jail
from nebula.workspace.shared_graph import LOCAL_RULES, SHARED_RULES
from nebula.workspace.state_folder import open_state_dir, prepare_state_folder


@pytest.fixture
def project(bench):
    git(bench, "init", "-q")
    with Graph(str(bench.project / ".nebula/graph")) as graph:
        graph.create_node("hello", "world")
    bench.write(".nebula/log.txt", "private")
    return bench


def git(bench, *args):
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false")
    return subprocess.run(
        ["git", *identity, *args], cwd=bench.project, check=True, capture_output=True, text=True
    ).stdout


def untracked(bench):
    return git(bench, "ls-files", "-o", "--exclude-standard").split()


def prepare(bench, monkeypatch):
    monkeypatch.setenv("HOME", bench.env()["HOME"])
    monkeypatch.delenv("NEBULA_HOME", raising=False)
    prepare_state_folder(str(bench.project))


def rules(bench):
    return (bench.project / ".nebula/.gitignore").read_text("utf-8")


def test_nothing_of_the_state_is_offered_to_git(project, monkeypatch):
    project.write(".nebula/config.json", "{}")
    prepare(project, monkeypatch)
    assert untracked(project) == [".nebula/config.json"]


def test_sharing_says_what_is_in_it_and_lets_git_take_it(project, monkeypatch):
    prepare(project, monkeypatch)
    with Graph(str(project.project / ".nebula/graph")) as graph:
        graph.create_node("my key is ghp_" + "a1B2" * 9, "do not show it")
    ran = run_here(project, "nebula", "graph", "share", "--yes")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "2 turns, 1 with suspected secrets")
    assert rules(project) == SHARED_RULES
    prepare(project, monkeypatch)
    assert ".nebula/.gitignore" in untracked(project)
    assert any(name.startswith(".nebula/graph/nodes/") for name in untracked(project))
    assert not any("log.txt" in name or ".state" in name for name in untracked(project))
    assert "shared already" in run_here(project, "nebula", "graph", "share").err


def test_without_a_terminal_and_a_yes_nothing_is_shared(project, monkeypatch):
    prepare(project, monkeypatch)
    ran = run_here(project, "nebula", "graph", "share")
    assert (ran.code, ran.err) == (2, "Nobody is there to ask: add --yes.\nNothing was shared.\n")
    assert rules(project) == LOCAL_RULES


def test_a_folder_in_no_repository_has_nobody_to_share_with(bench):
    ran = run_here(bench, "nebula", "graph", "share", "--yes")
    assert ran.code == 1 and "no git repository" in ran.err


def test_a_clone_does_not_decide_for_the_user(project, monkeypatch):
    project.write(".nebula/.gitignore", SHARED_RULES)
    prepare(project, monkeypatch)
    assert rules(project) == LOCAL_RULES


@pytest.mark.parametrize("planted", ["!*\n", "", "/*\n!/log.txt\n"])
def test_rules_of_somebody_else_are_replaced_before_anything_is_written(planted, project):
    project.write(".nebula/.gitignore", planted)
    jail = Jail(str(project.project))
    os.close(open_state_dir(jail.fd))
    jail.close()
    assert rules(project) == LOCAL_RULES


def test_a_graph_that_git_keeps_already_is_shared(project, monkeypatch):
    project.write(".nebula/.gitignore", SHARED_RULES)
    git(project, "add", "-A")
    git(project, "commit", "-qm", "x")
    prepare(project, monkeypatch)
    assert rules(project) == SHARED_RULES
    os.rename(project.project / ".git", project.project / "gone")
    prepare(project, monkeypatch)
    assert rules(project) == SHARED_RULES, "git is not asked at every start"


@pytest.mark.parametrize("inside", ["", "a [part] of it"])
def test_nothing_private_is_offered_to_git_by_a_commit_of_before_the_sharing(project, monkeypatch, inside):
    """Its checkout takes the rules in `.nebula/` away."""
    (project.project / inside).mkdir(exist_ok=True)
    if inside:
        (project.project / ".nebula").rename(project.project / inside / ".nebula")
    bench = Bench(project.project / inside, project.home)
    bench.write("a.py", "older")
    git(bench, "add", "a.py")
    git(bench, "commit", "-qm", "before")
    prepare(bench, monkeypatch)
    for _ in range(2):
        assert run_here(bench, "nebula", "graph", "share", "--yes").code == 0
    git(bench, "add", ".")
    git(bench, "commit", "-qm", "shared")
    assert git(bench, "ls-files", ".nebula/graph/nodes")
    git(bench, "checkout", "-q", "HEAD~1")
    assert not (bench.project / ".nebula/.gitignore").exists() and untracked(bench) == []
    git(bench, "checkout", "-q", "-")
    assert untracked(bench) == []
    excluded = (project.project / ".git/info/exclude").read_text("utf-8")
    assert excluded.count(".nebula/*") == 1
