"""A place for a task: the project as it was committed, or a copy; and the project itself is never touched."""

from __future__ import annotations

import os
import subprocess

import pytest

from nebula.agent.batch.isolation import clear_place, left_out_of, make_place, uncommitted_in
from nebula.agent.batch.run import prefix_of


def git(folder, *words):
    who = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    (folder / "app").mkdir(parents=True)
    (folder / "app" / "a.txt").write_text("committed\n")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Begin")
    return folder


def test_a_repository_gives_a_work_tree_of_its_last_commit(repository, tmp_path):
    (repository / "app" / "a.txt").write_text("not committed\n")
    place = str(tmp_path / "place")
    inside = make_place(str(repository / "app"), place)
    assert inside == os.path.join(place, "app")
    with open(os.path.join(inside, "a.txt"), encoding="utf-8") as file:
        assert file.read() == "committed\n"
    assert len(git(repository, "worktree", "list").splitlines()) == 2
    clear_place(str(repository / "app"), place, inside, str(tmp_path / "home"))
    assert not os.path.exists(place) and len(git(repository, "worktree", "list").splitlines()) == 1
    assert (repository / "app" / "a.txt").read_text() == "not committed\n"


def test_what_git_ignores_is_known_to_be_missing(repository, tmp_path):
    assert left_out_of(str(repository)) == left_out_of(str(tmp_path)) == []
    (repository / ".gitignore").write_text(".venv/\n.env\n__pycache__/\n*.pyc\napp/node_modules/\n")
    for name in (".venv/bin/python", ".env", "__pycache__/a.pyc", "b.pyc", "app/node_modules/x.js", "new.txt"):
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text("")
    assert left_out_of(str(repository)) == [".env", ".venv", "app/node_modules"]
    assert left_out_of(str(repository / "app")) == ["node_modules"]


def test_what_is_not_committed_is_known_to_be_missing(repository, tmp_path):
    assert uncommitted_in(str(repository)) == uncommitted_in(str(tmp_path)) == []
    (repository / "app" / "a.txt").write_text("changed\n")
    (repository / "new.txt").write_text("new\n")
    (repository / ".gitignore").write_text("*.pyc\n")
    (repository / "b.pyc").write_text("")
    assert uncommitted_in(str(repository)) == [".gitignore", "app/a.txt", "new.txt"]
    assert uncommitted_in(str(repository / "app")) == ["a.txt"]


def test_without_a_commit_nothing_is_missing(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / "a.txt").write_text("a\n")
    assert uncommitted_in(str(tmp_path)) == []


def test_what_a_killed_attempt_left_is_gone(repository, tmp_path):
    place = str(tmp_path / "place")
    with open(os.path.join(make_place(str(repository), place), "left.txt"), "w", encoding="utf-8") as file:
        file.write("x")
    assert set(os.listdir(make_place(str(repository), place))) == set(os.listdir(repository))


def test_hooks_and_filters_of_a_repository_do_not_run(repository, tmp_path):
    ran = tmp_path / "ran"
    hook = repository / ".git/hooks/post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    git(repository, "config", "filter.evil.smudge", f"touch {ran}; cat")
    (repository / ".gitattributes").write_text("* filter=evil\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Filter")
    (repository / ".git/more.inc").write_text(f'[filter "evil"]\n\tprocess = touch {ran}\n')
    git(repository, "config", "includeIf.gitdir:**/worktrees/**.path", "more.inc")
    assert not ran.exists()
    make_place(str(repository), str(tmp_path / "place"))
    assert not ran.exists() and (tmp_path / "place/app/a.txt").read_text() == "committed\n"


@pytest.mark.parametrize("begun", [False, True])
def test_a_folder_without_a_commit_is_copied_without_what_git_ignores(tmp_path, begun):
    project = tmp_path / "project"
    (project / ".nebula").mkdir(parents=True)
    (project / ".nebula/config.json").write_text('{"checks": ["true"]}')
    (project / ".nebula/trace.jsonl").write_text("{}")
    (project / ".gitignore").write_text("big/\n")
    (project / "big").mkdir()
    (project / "big" / "file").write_text("x")
    (project / "run.sh").write_text("#!/bin/sh\n")
    (project / "run.sh").chmod(0o755)
    os.symlink("run.sh", project / "link")
    if begun:
        git(project, "init", "-q")
    inside = make_place(str(project), str(tmp_path / "place"))
    assert sorted(os.listdir(inside)) == [".gitignore", ".nebula", "link", "run.sh"]
    assert os.listdir(os.path.join(inside, ".nebula")) == ["config.json"]
    assert os.access(os.path.join(inside, "run.sh"), os.X_OK) and os.path.islink(os.path.join(inside, "link"))


def test_paths_of_a_patch_are_those_of_the_repository(repository, tmp_path):
    assert (prefix_of(str(repository)), prefix_of(str(repository / "app")), prefix_of(str(tmp_path))) == (
        "",
        "app/",
        "",
    )
