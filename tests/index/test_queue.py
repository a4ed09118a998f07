"""What commits hand over is taken in oldest first, and leaves the queue only when it is in the index."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from index.project import Project, function
from nebula.index.in_step.follow import Follower
from nebula.index.in_step.queue import Change, Queue, parse_changes
from nebula.index.values import Report
from rows import each_row


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


RAW = b":100644 100644 1111111 2222222 "


@each_row(
    ("data", "changes"),
    [
        (b"", []),
        (RAW + b"M\0a.py\0", [Change("a.py")]),
        (RAW + b"M\0a.py\0" + RAW + b"D\0b c.py\0", [Change("a.py"), Change("b c.py")]),
        (RAW + b"R100\0old.py\0new.py\0" + RAW + b"A\0x\0", [Change("new.py", "old.py"), Change("x")]),
        (RAW + b"C75\0from.py\0copy.py\0" + RAW + b"A\0x\0", [Change("copy.py"), Change("x")]),
        (
            RAW + b"M\0a\0" + RAW + b"R90\0old\0new\0" + RAW + b"A\0x\0",
            [Change("a"), Change("new", "old"), Change("x")],
        ),
        (RAW + b"R100\0old.py\0new.py", [Change("new.py", "old.py")]),
        (RAW + b"X\0a.py\0" + RAW + b"A\0b.py\0", [Change("a.py"), Change("b.py")]),
        (RAW + b"M\0\xff.py\0", [Change("\udcff.py")]),
        (RAW + b"R100\0cut.py", [Change("cut.py")]),
        (RAW + b"M\0a.py\0" + RAW + b"M", [Change("a.py")]),
        (RAW + b"\0a.py\0", []),
        (b":100644 M\0a.py\0" + RAW + b"M\0b.py\0", []),
        (RAW + b"M more\0a.py\0", []),
    ],
)
def test_what_a_commit_hands_over_is_read(data: bytes, changes: list[Change]) -> None:
    assert parse_changes(data) == changes


def test_an_entry_is_private_whole_and_told_as_it_was_given(tmp_path: Path) -> None:
    queue = Queue(str(tmp_path / "project"), str(tmp_path / "home"))
    assert queue.entries() == []
    queue.add(["a.py", "b c/\udcff.py"])
    queue.add(["d.py"])
    first, second = queue.entries()
    assert queue.read(first) == [Change("a.py"), Change("b c/\udcff.py")]
    assert queue.read(second) == [Change("d.py")]
    assert (Path(queue.folder) / second).read_bytes() == b":000000 000000 0 0 M\0d.py\0", "as git would write it"
    assert stat.S_IMODE(Path(queue.folder).stat().st_mode) == 0o700
    (Path(queue.folder) / ".new-1").write_bytes(b"half")
    assert queue.entries() == [first, second]
    queue.remove(first)
    queue.remove(first)
    assert queue.entries() == [second]
    (Path(queue.folder) / "0").symlink_to("/etc/passwd")
    assert (queue.read("0"), queue.read("gone")) == ([], [])


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
