"""What a program tells of files that it renamed, wrote or removed, and what the index makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from index.project import Project, function
from nebula.index.errors import OutsideRoot
from nebula.index.index import Index


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.write("a.py", function("lighthouse"))
    made.write("b.py", function("beacon"))
    return made


def found(index: Index, question: str) -> list[str]:
    return [hit.path for hit in index.search(question)]


def test_a_renamed_file_is_found_under_its_new_name(project: Project) -> None:
    with project.index() as index:
        index.sync()
        (project.root / "a.py").rename(project.root / "deep.py")
        report = index.rename([("a.py", "./x/../deep.py")])
        assert (report.ingested, report.deleted, report.renamed) == (0, 0, 1)
        assert (found(index, "lighthouse"), found(index, "beacon")) == (["deep.py"], ["b.py"])


def test_a_rename_that_did_not_happen_takes_nothing_out(project: Project) -> None:
    with project.index() as index:
        index.sync()
        report = index.rename([("a.py", "nowhere.py"), ("never.py", "b.py")])
        assert (report.ingested, report.deleted, report.renamed) == (0, 0, 0)
        assert (found(index, "lighthouse"), found(index, "beacon")) == (["a.py"], ["b.py"])
        project.write("copy.py", function("lighthouse"))
        report = index.rename([("a.py", "copy.py")])
        assert (report.ingested, report.deleted, report.renamed) == (1, 0, 0), "a copy beside the file that it is of"
        assert sorted(found(index, "lighthouse")) == ["a.py", "copy.py"]


def test_a_rename_with_another_content_is_read(project: Project) -> None:
    with project.index() as index:
        index.sync()
        (project.root / "a.py").unlink()
        project.write("c.py", function("harbour"))
        report = index.rename([("a.py", "c.py")])
        assert (report.ingested, report.deleted, report.renamed) == (1, 1, 0)
        assert (found(index, "lighthouse"), found(index, "harbour")) == ([], ["c.py"])


@pytest.mark.parametrize("path", ["..", "../x.py", "a/../../x.py", "/etc/passwd", "a\0b.py", "x/\0"])
def test_a_path_outside_is_refused_by_name(project: Project, path: str) -> None:
    with project.index() as index:
        with pytest.raises(OutsideRoot) as refused:
            index.rename([("a.py", path)])
        assert str(refused.value) == f"{path}: outside the project."
        with pytest.raises(OutsideRoot):
            index.rename([(path, "a.py")])


@pytest.mark.parametrize(
    ("path", "inner"), [("a.py", "a.py"), (".", ""), ("", ""), ("x/../a.py", "a.py"), ("..x", "..x"), ("x//y/", "x/y")]
)
def test_a_path_as_the_index_writes_it(project: Project, path: str, inner: str) -> None:
    with project.index() as index:
        assert index.root.inside(path) == inner
        assert index.root.inside(str(project.root / path)) == inner


def test_what_was_cleared_is_gone_with_what_was_skipped(project: Project) -> None:
    project.write("data.bin", b"\0" * 100)
    with project.index() as index:
        index.sync()
        skipped = set(index.store.skipped())
        index.clear()
        assert (index.store.states(), index.store.skipped(), found(index, "lighthouse")) == ({}, {}, [])
        index.sync()
        assert (set(index.store.skipped()), found(index, "lighthouse")) == (skipped, ["a.py"])


def test_a_file_that_is_gone_is_taken_out_when_it_is_told(project: Project) -> None:
    with project.index() as index:
        index.sync()
        (project.root / "a.py").unlink()
        report = index.ingest(["a.py", "never.py"])
        assert (report.ingested, report.deleted) == (0, 1)
        assert (found(index, "lighthouse"), found(index, "beacon")) == ([], ["b.py"])


def test_a_content_that_is_now_another_languages_is_read_again(project: Project) -> None:
    with project.index() as index:
        index.sync()
        (project.root / "a.py").rename(project.root / "a.md")
        report = index.rename([("a.py", "a.md")])
        assert (report.ingested, report.deleted, report.renamed) == (1, 1, 0)
        [hit] = index.search("lighthouse")
        assert (hit.path, hit.language) == ("a.md", "markdown")


def test_of_two_that_moved_with_one_content_each_keeps_its_name(project: Project) -> None:
    for folder in ("one", "two"):
        for name in ("x.py", "y.py"):
            project.write(f"{folder}/{name}", function("harbour"))
    with project.index() as index:
        index.sync()
        (project.root / "one").rename(project.root / "three")
        report = index.sync()
        assert (report.ingested, report.deleted, report.renamed) == (0, 0, 2)
        assert sorted(index.store.states()) == ["a.py", "b.py", "three/x.py", "three/y.py", "two/x.py", "two/y.py"]


def test_how_far_it_is_is_told_while_it_reads(project: Project) -> None:
    told: list[tuple[int, int]] = []
    with project.index() as index:
        index.sync(lambda done, of: told.append((done, of)))
        assert told and told[-1] == (2, 2)
        told.clear()
        index.sync()
        assert told == [], "to whom nobody listens any more"


def test_what_is_hidden_is_neither_found_nor_taken_when_it_is_named(project: Project) -> None:
    asked: list[str] = []

    def hides(path: str) -> bool:
        asked.append(path)
        return path.endswith(".env")

    project.write("secret.env", "lighthouse = 1\n")
    with Index.open(str(project.root), home=str(project.home), hides=hides) as index:
        for report in (index.sync(), index.ingest(["secret.env"]), index.rename([("gone.py", "secret.env")])):
            assert report.skipped == ()
        assert sorted(index.store.states()) == ["a.py", "b.py"]
        assert set(asked) == {"a.py", "b.py", "secret.env"}
