"""The hook hands staged changes over and never stands in the way of a commit."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.project import Project, contents, function
from nebula.files.home import project_id
from nebula.index.errors import IndexFailed
from nebula.index.in_step.hook import BEFORE, NAME, hooks_folder, install, uninstall
from nebula.index.in_step.queue import Change, parse_changes
from nebula.index.in_step.watch import watch


@pytest.fixture
def project(tmp_path: Path, url: str) -> Project:
    project = Project(tmp_path, url=url)
    project.write("a.py", function("lighthouse"))
    project.write("b.py", function("beacon", "harbour"))
    project.write("c.py", function("lantern"))
    project.commit()
    with project.index() as index:
        index.sync()
    install(str(project.root), str(project.home))
    return project


def test_add_modify_delete_and_rename_in_one_commit(project: Project) -> None:
    project.write("new.py", function("anchor"))
    project.write("a.py", function("lighthouse", "tower"))
    (project.root / "c.py").unlink()
    project.git("mv", "b.py", "moved.py")
    project.commit()
    with project.index() as index:
        assert index.status().queued == 1
        report = index.drain()
        assert (report.ingested, report.deleted, report.renamed) == (2, 1, 1)
        assert index.status().queued == 0
        with project.fresh() as fresh:
            fresh.sync()
            index.sync()
            assert contents(index) == contents(fresh)


@pytest.mark.parametrize(("way", "wanted"), [("drain", 1), ("sync", 2)])
def test_renames_of_commits_are_checked_and_told(project: Project, way: str, wanted: int) -> None:
    """Commit by commit, a file that was moved on since is nobody's; all at once its whole way counts."""
    heard: list[tuple[int, int]] = []
    for old, new in (("b.py", "moved.py"), ("moved.py", "again.py"), ("c.py", "deeper/c.py")):
        (project.root / new).parent.mkdir(exist_ok=True)
        project.git("mv", old, new)
        project.commit()
    with project.index() as index:
        index.heard_renames = lambda asked, held: heard.append((asked, held))
        getattr(index, way)()
    asked, held = (sum(numbers) for numbers in zip(*heard, strict=True))
    assert asked == held == wanted


def test_an_aborted_commit_leaves_the_index_right(project: Project) -> None:
    project.write("a.py", function("anchor"))
    project.git("add", "-A")
    with pytest.raises(subprocess.CalledProcessError):
        project.git("-c", "core.editor=false", "commit", "-q")
    project.git("reset", "-q", "--hard")
    with project.index() as index:
        assert index.status().queued == 1
        index.drain()
        assert index.search("anchor") == []
        assert [hit.path for hit in index.search("lighthouse")] == ["a.py"]


def test_what_is_staged_in_part_is_found_as_the_file_is(project: Project) -> None:
    project.write("a.py", function("staged"))
    project.git("add", "a.py")
    project.write("a.py", function("staged") + function("unstaged"))
    project.git("commit", "-q", "-m", "part")
    with project.index() as index:
        index.drain()
        (hit, *_) = index.search("unstaged")
        assert hit.text.startswith("def unstaged")


def test_a_commit_without_the_hook_is_caught_up_by_sync(project: Project) -> None:
    project.write("a.py", function("anchor"))
    project.git("commit", "-q", "-a", "-m", "x", "--no-verify")
    with project.index() as index:
        assert index.status().queued == 0
        index.sync()
        assert [hit.path for hit in index.search("anchor")] == ["a.py"]


def test_a_hook_that_was_there_still_runs_and_may_refuse(tmp_path: Path) -> None:
    project = Project(tmp_path)
    existing = project.root / ".git/hooks/pre-commit"
    existing.write_text("#!/bin/sh\necho ran >>ran.txt\ntest ! -e refuse\n")
    existing.chmod(0o755)
    install(str(project.root), str(project.home))
    install(str(project.root), str(project.home))
    project.write("a.py", "x = 1\n")
    project.commit()
    assert (project.root / "ran.txt").read_text() == "ran\n"
    project.write("refuse", "")
    with pytest.raises(subprocess.CalledProcessError):
        project.commit()
    with project.index() as index:
        assert index.status().queued == 1
    assert uninstall(str(project.root))
    assert existing.read_text().startswith("#!/bin/sh\necho ran")
    assert not (existing.parent / BEFORE).exists()
    assert not uninstall(str(project.root))


def test_a_queue_that_cannot_be_written_does_not_stop_a_commit(project: Project) -> None:
    hook = project.root / ".git/hooks/pre-commit"
    hook.write_text(hook.read_text().replace("queue=", "queue=/proc/none/"))
    project.write("a.py", function("anchor"))
    project.commit()
    assert project.git("status", "--porcelain") == ""


def test_the_hooks_folder_that_git_uses_is_used(project: Project, tmp_path: Path) -> None:
    project.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    assert os.path.realpath(hooks_folder(str(tmp_path / "side"))) == str(project.root / ".git/hooks")
    project.git("config", "core.hooksPath", "my-hooks")
    path = Path(install(str(project.root), str(project.home)))
    assert path == project.root / "my-hooks" / NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


@pytest.mark.parametrize("shared", ["worktree", "hooks of all repositories", "a folder below"])
def test_a_commit_elsewhere_goes_to_the_index_that_is_there(project: Project, tmp_path: Path, shared: str) -> None:
    """Worktrees share their hooks, and so do all repositories where `core.hooksPath` is set for all."""
    other = Project.__new__(Project)
    other.root, other.home, other.url = tmp_path / "it's there", project.home, project.url
    if shared == "worktree":
        project.git("worktree", "add", "-q", "-b", "side", str(other.root))
    else:
        other.root.mkdir()
        other.git("init", "-q")
        other.git("config", "core.hooksPath", str(project.root / ".git/hooks"))
    if shared == "a folder below":
        project.write("inner/d.py", function("keel"))
        install(str(project.root / "inner"), str(project.home))
        other.root /= "inner"
        other.root.mkdir()
    other.write("boat.py", function("boat"))
    other.commit()
    with project.index() as index:
        assert index.status().queued == 0
    with other.index() as index:
        assert index.status().queued == 0, "there was no index to tell"
        index.sync()
        other.write("ship.py", function("ship"))
        other.commit()
        (entry,) = index.queue.entries()
        assert [change.path for change in index.queue.read(entry)] == ["ship.py"]


def test_two_foreign_hooks_are_left_alone(tmp_path: Path) -> None:
    project = Project(tmp_path)
    for name in (NAME, BEFORE):
        (project.root / ".git/hooks" / name).write_text("#!/bin/sh\n")
    with pytest.raises(IndexFailed):
        install(str(project.root), str(project.home))


_RUN = """
import sys
sys.argv = ["evercontext", "hook", "run"]
from nebula.cli.evercontext_start import main
code = main()
"""
_RUN_LEAN = f"""{_RUN}
late = {{"argparse", "subprocess", "typing", "contextlib", "collections", "hashlib", "re"}} & sys.modules.keys()
assert not late, f"a commit waits for this: {{late}}"
"""


def test_a_hook_of_somebody_else_can_run_it(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("it's here/new.py", function("anchor"))
    project.write("outside.py", function("beacon"))
    project.git("add", "-A")
    inner = Project.__new__(Project)
    inner.root, inner.home, inner.url = project.root / "it's here", project.home, ""
    env = os.environ | {"NEBULA_HOME": str(project.home)}
    done = subprocess.run([sys.executable, "-c", _RUN_LEAN], cwd=inner.root, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    with inner.index() as index:
        assert index.status().queued == 1
        (entry,) = index.queue.entries()
        assert [change.path for change in index.queue.read(entry)] == ["new.py"], (
            "paths from the project, none beside it"
        )
    entry = project.home / "projects" / project_id(str(inner.root)) / "queue" / entry
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600
    unwritable = env | {"NEBULA_HOME": "/proc/none"}
    subprocess.run([sys.executable, "-c", f"{_RUN}sys.exit(code)"], cwd=inner.root, env=unwritable, check=True)


def test_outside_a_repository_nothing_is_handed_over(tmp_path: Path) -> None:
    env = os.environ | {"NEBULA_HOME": str(tmp_path / "home"), "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    done = subprocess.run([sys.executable, "-c", _RUN], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    (queue,) = (tmp_path / "home").rglob("queue")
    assert list(queue.iterdir()) == []


def test_a_first_commit_is_handed_over(tmp_path: Path) -> None:
    project = Project(tmp_path)
    install(str(project.root), str(project.home))
    project.write("odd name\n.py", function("lighthouse"))
    project.commit()
    with project.index() as index:
        index.drain()
        assert [hit.path for hit in index.search("lighthouse")] == ["odd name\n.py"]


LINES = [
    b":100644 100644 0 0 M\0a.py\0",
    b":100644 100644 0 0 R100\0a.py\0b.py\0",
    b":000000 100644 0 0 A\0",
    b"\0",
    b" ",
]


@given(st.lists(st.sampled_from(LINES) | st.binary(max_size=20)))
def test_any_queued_bytes_are_read_without_harm(pieces: list[bytes]) -> None:
    data = LINES[0] + b"".join(pieces)
    changes = parse_changes(data)
    assert changes[0] == Change("a.py")
    assert all(os.fsencode(name) in data for change in changes for name in (change.path, change.moved_from))


def test_a_watched_project_is_searchable_after_an_edit(project: Project) -> None:
    stop, seen = threading.Event(), threading.Event()
    with project.index() as index:
        thread = threading.Thread(target=watch, args=(index, stop, lambda _: seen.set()))
        thread.start()
        try:
            project.write("a.py", function("anchor"))
            assert seen.wait(60)
        finally:
            stop.set()
            thread.join()
        assert [hit.path for hit in index.search("anchor")] == ["a.py"]
