"""What commits hand over is taken in oldest first, and leaves the queue only when it is in the index."""

from __future__ import annotations

from pathlib import Path

import pytest

from index.project import Project, function
from nebula.index.in_step.follow import Follower
from nebula.index.values import Report


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_an_entry_leaves_the_queue_after_it_is_taken_in(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("a.py", function("lighthouse"))
    project.write("b.py", function("beacon"))
    with project.index() as index:
        index.queue.add(["a.py"])
        index.queue.add(["b.py"])
        oldest, newest = index.queue.entries()
        seen: list[tuple[list[str], list[str]]] = []
        read = Follower.ingest

        def watched(follower: Follower, paths: list[str]) -> Report:
            seen.append((list(paths), index.queue.entries()))
            return read(follower, paths)

        monkeypatch.setattr(Follower, "ingest", watched)
        assert index.drain().ingested == 2
        assert seen == [(["a.py"], [oldest, newest]), (["b.py"], [newest])]
        assert index.queue.entries() == []


def test_an_entry_that_cannot_be_taken_in_stays(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("a.py", function("lighthouse"))
    with project.index() as index:
        index.queue.add(["a.py"])
        with monkeypatch.context() as patch, pytest.raises(RuntimeError):
            patch.setattr(Follower, "ingest", _fail)
            index.drain()
        assert len(index.queue.entries()) == 1
        with monkeypatch.context() as patch, pytest.raises(RuntimeError):
            patch.setattr(Follower, "sync", _fail)
            index.sync()
        assert len(index.queue.entries()) == 1
        index.sync()
        assert index.queue.entries() == []


def _fail(*_: object) -> Report:
    raise RuntimeError("killed here")


def test_a_file_is_of_a_commit_by_its_content_not_by_its_path(project: Project) -> None:
    project.write("a.py", function("lighthouse"))
    project.write("b.py", function("beacon"))
    project.commit()
    head = project.git("rev-parse", "HEAD").strip()
    with project.index() as index:
        index.sync()
        assert {hit.path: hit.commit for hit in index.search("lighthouse beacon")} == {"a.py": head, "b.py": head}
        project.write("a.py", function("lighthouse", "changed"))
        index.sync()
        assert {hit.path: hit.commit for hit in index.search("lighthouse beacon")} == {"a.py": "", "b.py": head}
        project.write("a.py", function("lighthouse"))
        index.sync()
        assert index.search("lighthouse")[0].commit == head, "as committed again"
