"""A file counts as changed when its content did, whatever its size and times say and whichever process asks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from in_memory import folder_in_memory
from index.project import Project, contents, function
from nebula.index.index import Index
from nebula.index.reading import Root, object_format
from nebula.index.stores.rows import FileRow, Segment, Stamp
from nebula.server.rag import operations
from nebula.server.rag.bodies import IngestBody

LONG_AGO = 1_600_000_000_000_000_000
WORDS = ("beacon", "lanter", "harbor", "anchor")  # all of one length: the size never tells


def write_long_ago(project: Project, path: str, word: str) -> None:
    """Write a file whose time of writing is years back, as `rsync -t`, `cp -p`, `tar` and `touch -d` do."""
    project.write(path, function("lighthouse", word))
    os.utime(project.root / path, ns=(LONG_AGO, LONG_AGO))


def shown(index: Index, path: str) -> str:
    return "".join(hit.text for hit in index.search("lighthouse") if hit.path == path)


def ingest(index: Index, **body: object) -> dict[str, object]:
    return operations.ingest(index, IngestBody.model_validate_json(json.dumps(body)))


@pytest.mark.parametrize("how", ["search", "sync", "ingest", "drain"])
def test_an_edit_under_the_same_size_and_time_is_found(project: Project, how: str) -> None:
    write_long_ago(project, "a.py", "beacon")
    with project.index() as index:
        index.sync()
        write_long_ago(project, "a.py", "lanter")
        if how == "sync":
            assert index.sync().ingested == 1
        elif how == "ingest":
            assert ingest(index, paths=["a.py"]) == {"ingested": 1, "skipped": [], "deleted": 0, "renamed": 0}
        elif how == "drain":
            index.queue.add(["a.py"])
            assert index.drain().ingested == 1
        for _ in range(2):
            assert "lanter_call" in shown(index, "a.py")
    with project.index() as index:
        assert "lanter_call" in shown(index, "a.py"), "in another process"
        assert index.sync().ingested == 0, "nothing is left to do"


def test_what_a_search_finds_stale_is_read_where_a_file_system_keeps_no_times(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Root, "stat", lambda root, path: Stamp(50, 1, 1) if (project.root / path).is_file() else None)
    project.write("a.py", function("lighthouse", "beacon"))
    with project.index() as index:
        index.sync()
        project.write("a.py", function("lighthouse", "lanter"))
        assert "lanter_call" in shown(index, "a.py")
        project.write("a.py", function("lighthouse", "harbor"))
        assert index.ingest(["a.py"]).ingested == 1
        project.write("a.py", b"\0")
        assert shown(index, "a.py") == ""
        project.write("a.py", function("lighthouse", "anchor"))
        assert index.ingest(["a.py"]).ingested == 1, "one that could not be indexed is read again, too"
        assert "anchor_call" in shown(index, "a.py")


def test_an_unchanged_file_is_not_read_by_a_look_at_all(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("a.py", function("lighthouse", "beacon"))
    project.write("b.dat", b"\0")
    with project.index() as index:
        index.sync()
        future = time.time_ns() + 5_000_000_000
        monkeypatch.setattr(time, "time_ns", lambda: future)
        index.sync()  # read once more, since it had been written a moment before
        read: list[str] = []
        monkeypatch.setattr(Root, "read", lambda *args: read.append(args[1]))
        index.sync()
        assert read == []


SEARCH = (
    "import sys; from nebula.index.index import Index\n"
    "index = Index.open(sys.argv[1], home=sys.argv[2])\n"
    "if sys.argv[3] == 'sync': index.sync()\n"
    "else: print(*(f'{hit.path} {hit.blob} {hit.commit}' for hit in index.search('lighthouse')), sep='\\n')\n"
)


def ask_another_process(project: Project, what: str) -> list[str]:
    command = [sys.executable, "-c", SEARCH, str(project.root), str(project.home), what]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def sha256_project(folder: Path) -> Project:
    project = Project(folder, with_git=False)
    project.git("init", "-q", "-b", "main", "--object-format=sha256")
    return project


@pytest.mark.slow
def test_processes_agree_about_a_repository_with_long_hashes(tmp_path: Path) -> None:
    project = sha256_project(tmp_path)
    project.write("a.py", function("lighthouse", "beacon"))
    project.commit()
    wanted = [f"a.py {project.git('rev-parse', 'HEAD:a.py').strip()} {project.git('rev-parse', 'HEAD').strip()}"]
    for what in ("sync", "search", "sync", "search"):
        found = ask_another_process(project, what)
        assert what == "sync" or found == wanted


def test_a_repository_with_long_hashes_is_named_as_git_names_it(tmp_path: Path) -> None:
    project = sha256_project(tmp_path)
    project.write("a.py", function("lighthouse", "beacon"))
    project.commit()
    with project.index() as index:
        index.ingest(["a.py"])
        (hit,) = index.search("lighthouse")
        assert hit.blob == project.git("rev-parse", "HEAD:a.py").strip()
        index.sync()
        (hit,) = index.search("lighthouse")
        assert hit.commit == project.git("rev-parse", "HEAD").strip()
    project.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    assert object_format(str(tmp_path / "side")) == "sha256"


def test_a_repository_made_after_the_index_is_heeded(tmp_path: Path) -> None:
    project = Project(tmp_path, with_git=False)
    project.write("a.py", function("lighthouse", "beacon"))
    with project.index() as index:
        index.sync()
        assert len(index.search("lighthouse")[0].blob) == 40
        project.git("init", "-q", "-b", "main", "--object-format=sha256")
        project.commit()
        index.sync()
        (hit,) = index.search("lighthouse")
        assert (hit.blob, hit.commit) == tuple(project.git("rev-parse", "HEAD:a.py", "HEAD").split())


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["edit", "edit as before", "copy", "move", "delete", "commit"]),
        st.sampled_from(["a.py", "b.py", "pkg/c.py"]),
        st.sampled_from(WORDS),
        st.sampled_from(["search", "sync", "ingest", "other search", "other sync", "nothing"]),
    ),
    max_size=8,
)


def take(project: Project, kind: str, path: str, word: str) -> None:
    file = project.root / path
    if kind == "edit":
        project.write(path, function("lighthouse", word))
    elif kind == "edit as before":
        write_long_ago(project, path, word)
    elif kind == "copy":
        write_long_ago(project, f"../elsewhere/{path}", word)
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(project.root.parent / "elsewhere" / path, file)
    elif kind == "move" and file.exists():
        file.rename(project.root / f"moved_{file.name}")
    elif kind == "delete":
        file.unlink(missing_ok=True)
    elif kind == "commit":
        project.commit()


@pytest.mark.slow
@pytest.mark.parametrize("long_hashes", [False, True], ids=["sha1", "sha256"])
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS)
def test_whatever_is_done_to_files_a_search_shows_what_they_hold(
    long_hashes: bool, steps: list[tuple[str, str, str, str]]
) -> None:
    with folder_in_memory() as folder:
        project = sha256_project(folder) if long_hashes else Project(folder)
        with project.index() as one, project.index() as other:
            for kind, path, word, then in steps:
                take(project, kind, path, word)
                index = other if then.startswith("other") else one
                actions = {"search": lambda at: at.search("lighthouse"), "sync": Index.sync}
                if then == "ingest":
                    index.ingest([path])
                    assert (path in index.store.states()) == (project.root / path).exists()
                elif then != "nothing":
                    actions[then.rpartition(" ")[2]](index)
                for hit in index.search("lighthouse"):
                    assert hit.text + "\n" == (project.root / hit.path).read_text()
            one.sync()
            files = {str(path.relative_to(project.root)) for path in project.root.rglob("*.py")}
            for index in (one, other):
                assert {hit.path for hit in index.search("lighthouse")} == files
            with project.fresh() as fresh:
                fresh.sync()
                assert contents(one) == contents(fresh)


def test_a_deleted_file_that_is_there_is_said_to_be(project: Project) -> None:
    project.write("a.py", function("lighthouse", "beacon"))
    project.write("b.py", function("beacon"))
    with project.index() as index:
        index.sync()
        (project.root / "b.py").unlink()
        reply = ingest(index, diff={"deleted": ["a.py", "b.py"]})
        assert reply == {
            "ingested": 0,
            "skipped": [{"path": "a.py", "reason": "it is still there"}],
            "deleted": 1,
            "renamed": 0,
        }
        assert index.store.states().keys() == {"a.py"}


@pytest.mark.slow
def test_many_files_are_taken_out_in_linear_time(tmp_path: Path) -> None:
    project = Project(tmp_path)
    paths = [f"old/{i}.txt" for i in range(12_000)]
    empty = project.git("hash-object", "-w", "--stdin", stdin="")  # git lists them whether they are there or not
    project.git("update-index", "--index-info", stdin="".join(f"100644 {empty.strip()}\t{path}\n" for path in paths))
    with project.index() as index:
        index.store.add(Segment(tuple(FileRow(path, "0" * 40, Stamp(0, 1, 1), "", False, 0, ()) for path in paths)))
        started = time.thread_time()
        assert index.sync().deleted == len(paths)
        assert time.thread_time() - started < 2


@pytest.mark.slow
def test_many_files_of_one_content_are_moved_in_linear_time(tmp_path: Path) -> None:
    project = Project(tmp_path, with_git=False)
    (project.root / "new").mkdir()
    for i in range(3_000):
        (project.root / "new" / f"{i}.txt").touch()
    (empty,) = {project.git("hash-object", str(project.root / "new" / "0.txt"), cwd=tmp_path).strip()}
    with project.index() as index:
        old = [FileRow(f"old/x{i}.txt", empty, Stamp(0, 1, 1), "", False, 0, ()) for i in range(3_000)]
        index.store.add(Segment(tuple(old)))
        started = time.thread_time()
        assert index.sync().renamed == len(old)
        assert time.thread_time() - started < 2
