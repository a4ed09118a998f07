"""What a look at the files finds: what moved, what is gone, what stayed the same, and when it is worth ranking anew."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from index.project import Project, contents, function
from nebula.index.constants import WATCH_PAUSE_S, WATCH_SHARE
from nebula.index.errors import IndexFailed
from nebula.index.in_step import hook
from nebula.index.in_step.watch import watch
from nebula.index.index import Index
from nebula.index.values import Report


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def assert_equals_fresh(project: Project, index: Index) -> None:
    with project.fresh() as fresh:
        fresh.sync()
        assert contents(index) == contents(fresh)


def test_a_file_that_is_gone_was_moved_to_one_place_only(project: Project) -> None:
    project.write("a.py", function("lighthouse"))
    project.commit()
    with project.index() as index:
        index.sync()
        for name in ("b.py", "c.py"):
            project.write(name, function("lighthouse"))
        (project.root / "a.py").unlink()
        assert index.sync() == Report(ingested=1, renamed=1)
        assert_equals_fresh(project, index)


def test_what_moved_is_known_by_its_new_name(project: Project) -> None:
    project.write("old/a.py", function("lighthouse"))
    project.commit()
    with project.index() as index:
        index.sync()
        os.rename(project.root / "old", project.root / "new")
        assert index.sync().renamed == 1
        assert [hit.commit for hit in index.search("lighthouse")] == [""], "no commit has it there"


def test_a_file_that_was_only_touched_stays_part_of_its_commit(project: Project) -> None:
    project.write("a.py", function("lighthouse"))
    project.commit()
    with project.index() as index:
        index.sync()
        os.utime(project.root / "a.py", (1, 1))
        assert index.ingest(["a.py"]) == Report()
        assert index.search("lighthouse")[0].commit == project.git("rev-parse", "HEAD").strip()


def test_a_file_is_part_of_the_commit_that_has_its_content_not_only_its_name(project: Project) -> None:
    project.write("a.py", function("lighthouse"))
    project.commit()
    project.write("a.py", function("lighthouse", "lantern"))
    with project.index() as index:
        index.sync()
        assert [hit.commit for hit in index.search("lighthouse")] == [""]
        project.commit()
        index.sync()
        assert [hit.commit for hit in index.search("lighthouse")] == [project.git("rev-parse", "HEAD").strip()]
        project.git("reset", "-q", "--soft", "HEAD~1")
        index.sync()
        assert [hit.commit for hit in index.search("lighthouse")] == [""]


def test_files_that_git_still_names_and_that_are_gone_leave_nothing(project: Project) -> None:
    project.write("a.py", function("lighthouse"))
    project.write("binary.dat", b"a\0b")
    project.write("never.py", function("lighthouse"))
    project.commit()
    (project.root / "never.py").unlink()
    with project.index() as index:
        assert index.sync().ingested == 1 and [each.path for each in index.status().skipped] == ["binary.dat"]
        before = index.state()
        assert index.sync() == Report() and index.state() == before
        (project.root / "a.py").unlink()
        (project.root / "binary.dat").unlink()
        assert index.sync() == Report(deleted=1)
        assert (index.status().files, index.status().skipped, index.search("lighthouse")) == (0, (), [])


def test_a_file_that_is_gone_leaves_when_it_is_named(project: Project) -> None:
    for name in ("a.py", "b.py"):
        project.write(name, function("lighthouse"))
    project.write("binary.dat", b"a\0b")
    project.commit()
    with project.index() as index:
        index.sync()
        before = index.state()
        project.write("never.py", "")
        project.git("add", "-A")
        (project.root / "never.py").unlink()
        assert index.ingest(["never.py"]) == Report() and index.state() == before
        for name in ("a.py", "binary.dat"):
            (project.root / name).unlink()
        assert index.ingest(["a.py", "binary.dat"]).deleted == 1
        assert index.status().skipped == ()
        (project.root / "b.py").unlink()
        project.write("c.py", function("beacon"))
        assert index.rename([("b.py", "c.py")]) == Report(ingested=1, deleted=1), "moved, and another content"


def test_in_a_small_project_one_changed_file_is_enough_to_rank_anew(project: Project) -> None:
    project.write("a.py", "def light_lamp():\n    wick()\n")
    project.write("b.py", "def lantern():\n    wick()\n")

    def rank_of_a(index: Index) -> float:
        (parts,) = (parts for key, parts in index.explain("wick").items() if key.startswith("a.py"))
        return parts["references"]

    with project.index() as index:
        index.sync()
        assert rank_of_a(index) == 0
        project.write("b.py", "def lantern():\n    light_lamp()\n")
        index.sync()
        assert rank_of_a(index) > 0, "it is referred to now"


class Rounds(threading.Event):
    """Ends a watch after so many looks, without waiting for the clock."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.waits: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout)
        if len(self.waits) == self.most:
            self.set()
        return self.is_set()


def test_a_watch_tells_of_changes_and_rests_longer_than_it_looks(project: Project) -> None:
    project.write("a.py", function("lighthouse"))
    told: list[Report] = []
    stop, started = Rounds(3), time.monotonic()
    with project.index() as index:
        watch(index, stop, told.append)
    assert told == [Report(ingested=1)], "nothing changed after that"
    longest = max(WATCH_PAUSE_S, (time.monotonic() - started) / WATCH_SHARE)
    assert all(each is not None and WATCH_PAUSE_S <= each <= longest for each in stop.waits)


def test_our_hook_comes_and_goes_and_leaves_those_of_others(project: Project, tmp_path: Path) -> None:
    root = str(project.root)
    assert not hook.uninstall(root)
    path = hook.install(root)
    assert path == str(project.root / ".git/hooks/pre-commit") and os.access(path, os.X_OK)
    assert f'[ "$here" != {os.path.realpath(root)} ]' in Path(path).read_text("utf-8")
    assert hook.uninstall(root) and not os.path.exists(path) and not hook.uninstall(root)
    for text in ("#!/bin/sh\nexit 0\n", "x" * 5_000 + hook.MARK):
        Path(path).write_text(text, "utf-8")
        assert not hook.uninstall(root) and Path(path).read_text("utf-8") == text
    Path(f"{path}.before-nebula").write_text("another", "utf-8")
    with pytest.raises(IndexFailed) as both:
        hook.install(root)
    assert str(both.value) == f"{path} and {path}.before-nebula are both there; remove one of them."
    with pytest.raises(IndexFailed) as outside:
        hook.install(str(tmp_path))
    assert str(outside.value) == f"{tmp_path} is not in a git repository."
