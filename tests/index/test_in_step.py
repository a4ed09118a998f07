"""The index follows the files: whatever git or an editor does, it equals one built from scratch."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from contextlib import closing
from copy import copy
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from in_memory import folder_in_memory
from index.project import Project, contents, function
from nebula.config import Settings
from nebula.index.errors import IndexFailed, IndexStopped, OutsideRoot
from nebula.index.in_step.worktree import git_marks
from nebula.index.values import Report
from nebula.tools.code.code_index import LocalCode


def paths(project: Project, question: str) -> list[str]:
    with project.index() as index:
        return [hit.path for hit in index.search(question)]


def assert_equals_fresh(project: Project) -> None:
    with project.index() as index, project.fresh() as fresh:
        fresh.sync()
        assert contents(index) == contents(fresh)


def test_a_hit_says_where_it_is_from(project: Project) -> None:
    project.write("app/users.py", "import os\n\n\n" + function("create_user", "hash_password"))
    project.commit()
    with project.index() as index:
        index.sync()
        (hit, *_) = index.search("where is the password hashed?")
    assert (hit.path, hit.span, hit.symbol, hit.language) == ("app/users.py", "L4-L7", "create_user", "python")
    assert hit.text == "def create_user():\n    hash_password_call()\n\n"
    assert hit.commit == project.git("rev-parse", "HEAD").strip()
    assert hit.blob == project.git("rev-parse", "HEAD:app/users.py").strip()


def test_a_changed_file_is_read_again_before_it_answers(project: Project) -> None:
    project.write("a.py", function("lighthouse", "beacon"))
    project.commit()
    with project.index() as index:
        index.sync()
        project.write("a.py", "x = 1\n\n\n" + function("lighthouse", "lantern"))
        (hit,) = index.search("lighthouse")
        assert hit.text == "def lighthouse():\n    lantern_call()\n\n"
        assert hit.commit == ""
        (project.root / "a.py").unlink()
        assert index.search("lighthouse") == []
        assert index.status().files == 0


def test_a_change_of_the_same_size_and_time_is_seen(project: Project) -> None:
    project.write("a.py", function("lighthouse", "beacon"))
    with project.index() as index:
        index.sync()
        before = os.stat(project.root / "a.py")
        project.write("a.py", function("lighthouse", "lanter"))
        os.utime(project.root / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))
        index.sync()
        assert "lanter" in index.search("lighthouse")[0].text
    assert_equals_fresh(project)


def test_ignored_files_and_links_are_never_indexed(project: Project) -> None:
    project.write(".gitignore", "secret.py\nbuild/\n")
    project.write("secret.py", function("lighthouse"))
    project.write("build/a.py", function("lighthouse"))
    project.write(".nebula/a.py", function("lighthouse"))
    (project.root / "link.py").symlink_to("secret.py")
    (project.root / "loop").symlink_to(".")
    with project.index() as index:
        index.sync()
        index.ingest(["secret.py", "build", ".nebula/a.py", "link.py", "loop"])
        assert index.search("lighthouse") == []


def test_paths_outside_the_project_are_refused(project: Project) -> None:
    with project.index() as index:
        for path in ("../x.py", "/etc/passwd", "a/../../x"):
            with pytest.raises(OutsideRoot):
                index.ingest([path])


def test_ingest_takes_files_and_folders(project: Project) -> None:
    project.write("pkg/a.py", function("lighthouse"))
    project.write("pkg/b.py", function("beacon"))
    project.write("other.py", function("lantern"))
    with project.index() as index:
        assert index.ingest(["pkg"]).ingested == 2
        assert [hit.path for hit in index.search("lantern")] == []
        assert index.ingest(["other.py"]).ingested == 1
        (project.root / "pkg/a.py").unlink()
        assert index.ingest(["pkg"]).deleted == 1
        assert index.prune(["pkg"]).deleted == 1
        assert index.status().files == 1
        assert index.ingest(["pkg"]).ingested == 1
        (project.root / "pkg/b.py").unlink()
        (project.root / "other.py").unlink()
        assert index.ingest(["pkg", "other.py"]).deleted == 2, "one below a folder, and one by name"


def test_bad_files_are_skipped_with_a_reason_and_not_tried_again(project: Project) -> None:
    project.write("binary.dat", b"a\0b")
    project.write("huge.txt", b"x\n" * 300_000)
    project.write("line.js", b"x" * 100_000)
    project.write("latin.py", "def caf\xe9(): pass\n".encode("latin-1"))
    os.mkfifo(project.root / "pipe.py")
    with project.index() as index:
        report = index.sync()
        reasons = {each.path: each.reason for each in report.skipped}
        assert reasons.keys() == {"binary.dat", "huge.txt", "line.js"}
        assert reasons["binary.dat"] == "binary"
        assert "larger" in reasons["huge.txt"] and "longer" in reasons["line.js"]
        assert index.search("café")[0].text == "def café(): pass"
        assert {each.path for each in index.status().skipped} == reasons.keys()
        assert index.sync().skipped == ()


@pytest.mark.parametrize("with_git", [True, False])
def test_a_name_that_is_not_utf_8_is_counted_as_skipped(tmp_path: Path, url: str, with_git: bool) -> None:
    project = Project(tmp_path, with_git=with_git, url=url)
    project.write("a.py", function("lighthouse"))
    strange = os.path.join(os.fsencode(project.root), b"caf\xe9.py")
    with open(strange, "w", encoding="utf-8") as file:
        file.write(function("beacon"))
    with project.index() as index:
        assert [(each.path, each.reason) for each in index.sync().skipped] == [("caf\\xe9.py", "its name is not UTF-8")]
        assert [each.path for each in index.status().skipped] == ["caf\\xe9.py"]
        assert index.sync() == Report(), "said once"
        assert index.search("beacon") == []
        os.unlink(strange)
        index.sync()
        assert index.status().skipped == ()


@pytest.mark.parametrize("first", ["sync", "search", "ingest", "status", "clear"])
def test_an_index_damaged_in_its_middle_is_made_anew(tmp_path: Path, first: str) -> None:
    project = Project(tmp_path)
    for i in range(40):
        project.write(f"m{i}.py", function(f"lighthouse{i}", *WORDS) * 10)
    with project.index() as index:
        index.sync()
    (database,) = project.home.rglob("index.db")
    with open(database, "r+b") as file:
        file.seek(4_096 * 2)
        file.write(b"\xa5" * (os.path.getsize(database) - 4_096 * 2))
    with project.index() as index:
        actions = {
            "sync": index.sync,
            "search": lambda: index.search("lighthouse7"),
            "ingest": lambda: index.ingest(["m1.py"]),
            "status": index.status,
            "clear": index.clear,
        }
        actions[first]()
        if first == "clear":
            index.sync()
        assert index.search("lighthouse7")
        assert index.status().files == 40
    assert_equals_fresh(project)


def test_a_pure_rename_moves_the_path_and_reads_nothing_again(project: Project) -> None:
    for i in range(5):
        project.write(f"old/file{i}.py", function(f"thing{i}", "lighthouse"))
    project.commit()
    with project.index() as index:
        index.sync()
        segments = index.store.shape().segments
        project.git("mv", "old", "fresh")
        report = index.sync()
        assert (report.ingested, report.renamed, report.deleted) == (0, 5, 0)
        assert index.store.shape().segments == segments
        assert {hit.path for hit in index.search("lighthouse")} == {f"fresh/file{i}.py" for i in range(5)}
        assert [hit.path for hit in index.search("fresh folder")][:1] == ["fresh/file0.py"]
    assert_equals_fresh(project)


def test_files_that_change_places_keep_their_contents(project: Project) -> None:
    project.write("a.py", function("lighthouse"))
    project.write("b.py", function("beacon"))
    with project.index() as index:
        index.sync()
        (project.root / "a.py").rename(project.root / "c.py")
        (project.root / "b.py").rename(project.root / "a.py")
        (project.root / "c.py").rename(project.root / "b.py")
        index.sync()
        assert [hit.path for hit in index.search("lighthouse")] == ["b.py"]
    assert_equals_fresh(project)


def test_submodules_are_indexed_as_their_own_git_lists_them(tmp_path: Path, project: Project) -> None:
    inner = Project(tmp_path / "inner")
    inner.write("lib.py", function("lighthouse"))
    inner.write(".gitignore", "no.py\n")
    inner.commit()
    project.git("submodule", "add", "-q", str(inner.root), "sub")
    project.write("sub/no.py", function("beacon"))
    project.commit()
    with project.index() as index:
        index.sync()
        assert [hit.path for hit in index.search("lighthouse")] == ["sub/lib.py"]
        assert index.search("beacon") == []
        project.write("sub/lib.py", function("lantern"))
        index.ingest(["sub/lib.py"])
        assert [hit.path for hit in index.search("lantern")] == ["sub/lib.py"]


def test_a_worktree_has_its_own_index(project: Project) -> None:
    project.write("a.py", function("lighthouse"))
    project.commit()
    other = project.root.parent / "other"
    project.git("worktree", "add", "-q", "-b", "side", str(other))
    (other / "a.py").write_text(function("beacon"))
    from nebula.index.index import Index

    with project.index() as index, Index.open(str(other), home=str(project.home), url=project.url) as second:
        index.sync()
        second.sync()
        assert index.search("beacon") == []
        assert [hit.path for hit in second.search("beacon")] == ["a.py"]


@pytest.mark.parametrize("linked", [False, True], ids=["main", "worktree"])
def test_git_going_forth_and_back_is_noticed(project: Project, linked: bool) -> None:
    project.write("a.py", function("lighthouse"))
    project.commit()
    project.write("b.py", function("beacon"))
    project.commit()
    root = project.root
    if linked:
        root = project.root.parent / "linked"
        project.git("worktree", "add", "-q", "-b", "side", str(root))
    before = git_marks(str(root))
    assert git_marks(str(root)) == before
    project.git("checkout", "-q", "HEAD~1", cwd=root)
    away = git_marks(str(root))
    project.git("checkout", "-q", "-", cwd=root)
    assert len({before, away, git_marks(str(root))}) == 3


def test_a_folder_without_git_is_indexed(tmp_path: Path) -> None:
    project = Project(tmp_path / "plain", with_git=False)
    project.write("a.py", function("lighthouse"))
    project.write("node_modules/b.py", function("lighthouse"))
    with project.index() as index:
        index.sync()
        assert [(hit.path, hit.commit) for hit in index.search("lighthouse")] == [("a.py", "")]


@pytest.mark.parametrize("damage", [b"not a database", b"SQLite format 3\0" + b"\xff" * 5_000, b""])
def test_a_damaged_index_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    project = Project(tmp_path)
    project.write("a.py", function("lighthouse"))
    with project.index() as index:
        index.sync()
    (database,) = project.home.rglob("index.db")
    database.write_bytes(damage)
    with project.index() as index:
        index.sync()
        assert [hit.path for hit in index.search("lighthouse")] == ["a.py"]


def test_an_index_that_cannot_be_used_is_a_sentence(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("a.py", function("lighthouse"))
    with project.index() as index:
        index.sync()
        project.write("a.py", function("beacon"))
        (path,) = project.home.rglob("index.db")
        with (
            closing(sqlite3.connect(path)) as other,
            other,
            pytest.raises(IndexFailed, match="cannot be used: database is locked"),
        ):
            index.store.db.execute("PRAGMA busy_timeout = 0")
            other.execute("BEGIN IMMEDIATE")
            index.sync()
        other.close()
        assert index.sync().ingested == 1
    path.unlink()
    path.mkdir()
    with pytest.raises(IndexFailed, match="cannot be used: unable to open"):
        project.index()


def test_an_index_of_a_newer_version_is_made_anew(tmp_path: Path) -> None:
    project = Project(tmp_path)
    import sqlite3

    project.write("a.py", function("lighthouse"))
    with project.index() as index:
        index.sync()
    (database,) = project.home.rglob("index.db")
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("PRAGMA user_version = 999")
    db.close()
    with project.index() as index:
        index.sync()
        assert [hit.path for hit in index.search("lighthouse")] == ["a.py"]


NAMES = [
    "a.py",
    "b.py",
    "pkg/c.py",
    "pkg/d.py",
    "pkg/sub/e.py",
    "tests/test_f.py",
    "notes.md",
    "sub/lib.py",
    "sub/in/x.py",
]
WORDS = ["lighthouse", "beacon", "lantern", "harbour", "anchor"]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(NAMES), st.lists(st.sampled_from(WORDS), max_size=4)),
        st.tuples(st.just("move"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
        st.tuples(st.just("delete"), st.sampled_from(NAMES), st.none()),
        st.tuples(st.just("commit"), st.none(), st.none()),
        st.tuples(st.just("branch"), st.sampled_from(["x", "y"]), st.none()),
        st.tuples(st.just("checkout"), st.sampled_from(["main", "x", "y"]), st.none()),
        st.tuples(st.just("stash"), st.none(), st.none()),
        st.tuples(st.just("pop"), st.none(), st.none()),
        st.tuples(st.just("rebase"), st.sampled_from(["main", "x", "y"]), st.none()),
        st.tuples(st.just("move and edit"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
        st.tuples(st.just("commit inside"), st.none(), st.none()),
        st.tuples(st.just("reset inside"), st.none(), st.none()),
        st.tuples(st.just("write beside"), st.sampled_from(NAMES), st.sampled_from(WORDS)),
        st.tuples(st.just("reset"), st.none(), st.none()),
        st.tuples(st.just("amend"), st.none(), st.none()),
        st.tuples(st.just("merge"), st.sampled_from(["main", "x", "y"]), st.none()),
        st.tuples(st.just("sync"), st.none(), st.none()),
        st.tuples(st.just("ingest"), st.sampled_from([*NAMES, "pkg", ""]), st.none()),
    ),
    max_size=14,
)


_ADD = ["add", "-A"]


def take(project: Project, step: tuple[object, ...]) -> None:
    kind, first, second = step
    _change_files(project, str(kind), str(first), second)
    commands = {
        "commit": [_ADD, ["commit", "-q", "--allow-empty", "-m", "w"]],
        "branch": [["branch", str(first)]],
        "checkout": [["checkout", "-q", str(first)]],
        "stash": [["stash", "-q", "-u"]],
        "pop": [["stash", "pop", "-q"]],
        "reset": [["reset", "-q", "--hard", "HEAD~1"]],
        "amend": [_ADD, ["commit", "-q", "--amend", "-m", "a", "--allow-empty"]],
        "merge": [["merge", "-q", "--no-edit", str(first)]],
        "rebase": [["rebase", "-q", str(first)]],
        "commit inside": [["-C", "sub", *_ADD], ["-C", "sub", "commit", "-q", "--allow-empty", "-m", "i"]],
        "reset inside": [["-C", "sub", "reset", "-q", "--hard", "HEAD~1"]],
    }
    for command in commands.get(str(kind), []):
        try:
            project.git(*command)
        except subprocess.CalledProcessError:  # a conflict, nothing to stash: the work tree is as it is
            break
    if kind in ("sync", "ingest"):
        with project.index() as index:
            index.sync() if kind == "sync" else index.ingest([str(first)])


def _change_files(project: Project, kind: str, first: str, second: object) -> None:
    root = project.root
    if kind == "write":
        text = "".join(function(f"{word}_{i}", word) for i, word in enumerate(second))  # type: ignore[arg-type, var-annotated]
        project.write(first, text)
    elif kind == "write beside":
        file = beside(project).root / first
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(function(str(second)))
    elif kind in ("move", "move and edit") and (root / first).is_file():
        (root / str(second)).parent.mkdir(parents=True, exist_ok=True)
        (root / first).rename(root / str(second))
        if kind == "move and edit":
            with (root / str(second)).open("a") as file_moved:
                file_moved.write(function("moved", "anchor"))
    elif kind == "delete":
        (root / first).unlink(missing_ok=True)


def with_submodule_and_worktree(folder: Path, url: str) -> Project:
    inner = Project(folder / "inner")
    inner.write("lib.py", function("lighthouse"))
    inner.commit()
    project = Project(folder, url=url)
    project.git("submodule", "add", "-q", str(inner.root), "sub")
    project.commit("first")
    project.git("worktree", "add", "-q", "-b", "side", str(folder / "beside" / "project"))
    return project


def beside(project: Project) -> Project:
    """The second work tree of the same repository."""
    other = copy(project)
    other.root = project.root.parent / "beside" / "project"
    return other


@pytest.mark.slow
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(steps=STEPS)
def test_after_any_history_the_index_equals_a_fresh_one(url: str, steps: list[tuple[object, ...]]) -> None:
    with folder_in_memory() as folder:
        project = with_submodule_and_worktree(folder, url)
        for step in steps:
            take(project, step)
        for each in (project, beside(project)):
            with each.index() as index:
                index.sync()
            assert_equals_fresh(each)


@pytest.mark.slow
def test_many_small_updates_are_merged_and_still_equal_a_fresh_index(project: Project) -> None:
    for i in range(40):
        project.write(f"f{i}.py", function(f"start{i}", *WORDS))
    with project.index() as index:
        index.sync()
        for i in range(60):
            project.write(f"f{i % 40}.py", function(f"name{i}", WORDS[i % 5]) + function("other", WORDS[i % 3]))
            index.ingest([f"f{i % 40}.py"])
        assert len(index.store.shape().segments) <= 25
        index.sync()
    assert_equals_fresh(project)


def test_a_search_whose_project_is_closed_reads_no_further_file(tmp_path: Path) -> None:
    """It has a thread of its own, for which the end of the program would wait."""
    project = Project(tmp_path)
    project.write("a.py", function("lighthouse"))
    code = LocalCode(Settings(home=str(project.home), root=str(project.root)))
    assert code.is_new()
    code.close()
    with pytest.raises(IndexStopped):
        code.search("lighthouse", 1, "", "")
