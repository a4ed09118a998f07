"""What past commits said of a file helps to find it, is never needed, and follows from the commit alone."""

from __future__ import annotations

import os
import subprocess

import pytest

from index.project import Project, contents, function, past
from nebula.git import GitFailed, GitResult
from nebula.index.constants import HISTORY_FILES, PART_WEIGHTS
from nebula.index.in_step import history
from nebula.index.index import Index
from nebula.index.stores.past import PastCommit
from nebula.value import replace


def found(index: Index, question: str) -> list[str]:
    return [hit.path for hit in index.search(question)]


def change(project: Project, path: str, message: str) -> None:
    """Commit a change of a file that says nothing of the message."""
    before = (project.root / path).read_text()
    project.write(path, before + "# .\n")
    project.commit(message)


def assert_equals_fresh(project: Project, index: Index) -> None:
    with project.fresh() as fresh:
        fresh.sync()
        assert contents(index) == contents(fresh)


@pytest.fixture
def twins(project: Project) -> Project:
    """Two files that say the same."""
    for name in ("first", "second"):
        project.write(f"{name}.py", function(f"beacon_{name}", "lamp", "lantern", "storm"))
    project.commit("Begin")
    return project


def test_a_file_that_was_changed_for_it_before_comes_first(twins: Project) -> None:
    change(twins, "second.py", "Keep the lantern lit in a storm")
    with twins.index() as index:
        index.sync()
        assert found(index, "the lamp of the lantern in a storm") == ["second.py", "first.py"]
        assert found(index, "the lamp") == ["first.py", "second.py"]
        reasons = index.explain("the lamp of the lantern in a storm")
        told = {key.partition(":")[0]: parts.get("history", 0) for key, parts in reasons.items()}
        assert told["second.py"] > 0 and told["first.py"] == 0


def test_the_past_brings_up_a_file_by_its_best_chunk_alone(project: Project) -> None:
    project.write("a.py", function("lantern", "lamp", "storm") + function("wick", "lamp"))
    project.commit()
    change(project, "a.py", "Keep the lamp lit")
    with project.index() as index:
        index.sync()
        reasons = index.explain("lamp of the lantern")
        assert len(reasons) == 2
        assert [key for key, parts in reasons.items() if "history" in parts] == ["a.py:L1-L5"]


def test_the_past_is_in_step_with_every_commit(twins: Project) -> None:
    with twins.index() as index:
        index.sync()
        assert past(index) == {}, "a first commit brings everything, and says nothing of it"
        change(twins, "second.py", "Keep the lantern lit")
        index.sync()
        assert past(index)["lantern"] == {"second.py"}
        assert_equals_fresh(twins, index)
        twins.git("reset", "-q", "--hard", "HEAD~1")
        index.sync()
        assert "lantern" not in past(index), "a commit that was taken back says nothing"
        assert_equals_fresh(twins, index)


def test_a_moved_file_keeps_its_past(twins: Project) -> None:
    change(twins, "second.py", "Keep the lantern lit")
    twins.git("mv", "second.py", "moved.py")
    twins.commit("Move it")
    change(twins, "moved.py", "Trim the wick")
    twins.write("second.py", function("another"))
    twins.commit("Another file of the old name")
    with twins.index() as index:
        index.sync()
        assert past(index)["lantern"] == {"moved.py"}
        assert past(index)["wick"] == {"moved.py"}
        assert past(index)["anoth"] == {"second.py"}


def test_a_commit_that_changed_many_files_is_about_none(project: Project) -> None:
    for number in range(20):
        project.write(f"m{number}.py", function(f"part_{number}"))
    project.commit("Begin")
    change(project, "m3.py", "Keep the lantern lit")
    for number in range(20):
        project.write(f"m{number}.py", function(f"part_{number}", "more"))
    project.commit("Reformat everything")
    with project.index() as index:
        index.sync()
        assert past(index).keys() == {"keep", "lantern", "lit"}


def test_a_commit_of_a_few_files_is_about_them_and_one_more_is_too_many(project: Project) -> None:
    for number in range(HISTORY_FILES + 1):
        project.write(f"m{number}.py", function(f"part_{number}"))
    project.commit("Begin")
    for word, count in (("lantern", HISTORY_FILES), ("beacon", HISTORY_FILES + 1)):
        for number in range(count):
            project.write(f"m{number}.py", function(f"part_{number}", word))
        project.commit(f"Light the {word}")
    with project.index() as index:
        index.sync()
        assert len(past(index)["lantern"]) == HISTORY_FILES
        assert "beacon" not in past(index)
        told = {each.subject: each.paths for each in index.store.past_commits().values()}
        assert told.keys() == {"Begin", "Light the lantern", ""} and told[""] == ()


def test_the_more_of_a_question_the_past_said_the_more_it_counts(twins: Project) -> None:
    change(twins, "first.py", "Mend the lamp")
    change(twins, "second.py", "Lamp and lantern, lamp and lantern")
    with twins.index() as index:
        index.sync()
        told = {key.partition(":")[0]: parts["history"] for key, parts in index.explain("lamp lantern").items()}
        whole = PART_WEIGHTS["history"]
        assert 0 < told["first.py"] < told["second.py"] == pytest.approx(whole), "all of it, said twice or once"
        (of_first,) = (parts for key, parts in index.explain("lamp").items() if key.startswith("first.py"))
        assert of_first["history"] == pytest.approx(whole)


def test_a_merge_says_nothing_and_an_odd_subject_does_no_harm(twins: Project) -> None:
    twins.git("checkout", "-q", "-b", "side")
    change(twins, "second.py", "Trim the wick")
    twins.git("checkout", "-q", "main")
    change(twins, "first.py", "Fill the oil")
    twins.git("merge", "-q", "--no-ff", "-m", "Merge the beacons", "side")
    twins.write("second.py", function("another"))
    twins.git("add", "-A")
    in_latin = twins.git("write-tree").strip()
    head = twins.git("rev-parse", "HEAD").strip()
    person = "a <a@example.org> 0 +0000"
    text = f"tree {in_latin}\nparent {head}\nauthor {person}\ncommitter {person}\n\nLantern \udce9teinte\n"
    made = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        cwd=twins.root,
        input=os.fsencode(text),
        stdout=subprocess.PIPE,
        check=True,
    )
    twins.git("reset", "-q", "--hard", made.stdout.decode().strip())
    with twins.index() as index:
        index.sync()
        assert past(index)["wick"] == {"second.py"} and past(index)["oil"] == {"first.py"}
        assert past(index)["lantern"] == {"second.py"}
        assert not past(index).keys() & {"merg", "merge", "beacon"}


def test_a_long_past_is_read_piece_by_piece(twins: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for word in ("wick", "oil", "glass", "brass", "tower"):
        change(twins, "second.py", f"Polish the {word}")
    monkeypatch.setattr(history, "HISTORY_BATCH", 2)
    with twins.index() as index:
        with monkeypatch.context() as hurried:
            hurried.setattr(history, "HISTORY_SECONDS", 0)
            index.sync()
            assert past(index).keys() >= {"tow", "brass"} and "wick" not in past(index), "the newest first"
            index.sync()
            assert past(index).keys() >= {"tow", "oil"} and "wick" not in past(index), "and on it goes"
        index.sync()
        assert past(index).keys() >= {"tow", "wick"}
        assert_equals_fresh(twins, index)


def test_commits_that_are_known_are_not_read_again(twins: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []
    real = history.safe_git

    def heard(root: str, *args: str, timeout: float, feed: bytes | None = None) -> GitResult:
        asked.append(feed or b"")
        return real(root, *args, timeout=timeout, feed=feed)

    monkeypatch.setattr(history, "safe_git", heard)
    with twins.index() as index:
        index.sync()
        asked.clear()
        index.sync()
        assert asked == [], "the same commit"
        change(twins, "second.py", "Keep the lantern lit")
        index.sync()
        assert asked == [b"", twins.git("rev-parse", "HEAD").encode()]


@pytest.mark.parametrize("letters", [40, 64])
def test_commits_are_kept_as_they_were_told(project: Project, letters: int) -> None:
    names = ("ランタン.py", "caf\udce9.py")  # the latter is what Python makes of a name that is not UTF-8
    told = [
        PastCommit("1" * letters, "Keep the lantern lit", names),
        PastCommit("0" * letters),
        PastCommit("a5" * (letters // 2), "", (), ((names[0], "moved.py"), ("b.py", "c.py"))),
    ]
    with project.index() as index:
        assert index.store.past_commits() == {}
        index.store.set_past("mark", told, names[:1])
        assert index.store.past_commits() == {each.id: each for each in told}
        index.store.set_past("mark", [], ())
        assert index.store.past_commits() == {}, "no commits are a past as well"


def test_a_past_of_ordinary_commits_is_small(project: Project) -> None:
    paths = [f"source/rooms/{name}/lantern_{number}.py" for name in ("hall", "attic", "cellar") for number in range(20)]
    told = [
        PastCommit(f"{number:040x}", f"Keep lantern {number} of the room lit", tuple(paths[number % 60 :][:2]))
        for number in range(1_000)
    ]
    with project.index() as index:
        index.store.set_past("mark", told, ())
        (size,) = index.store.db.execute("SELECT length(ids) + length(commits) FROM past").fetchone()
        assert size < 50 * len(told), "an id, and of the rest a fraction: 100 letters without it"


def test_only_so_much_of_the_past_counts(twins: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "HISTORY_COMMITS", 2)
    with twins.index() as index:
        for word in ("wick", "oil", "glass"):
            change(twins, "second.py", f"Polish the {word}")
            index.sync()
        assert past(index).keys() == {"polish", "oil", "glass"}
        assert_equals_fresh(twins, index)


def test_a_git_that_fails_leaves_the_rest_of_the_index_in_step(twins: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> GitResult:
        raise GitFailed("git failed: {problem}", problem="too slow")

    change(twins, "first.py", "Trim the wick")
    with monkeypatch.context() as broken, twins.index() as index:
        broken.setattr(history, "safe_git", fails)
        index.sync()
        assert sorted(found(index, "lamp")) == ["first.py", "second.py"] and past(index) == {}
    with twins.index() as index:
        index.sync()
        assert past(index) == {}, "not asked again for the same commit"
        change(twins, "second.py", "Keep the lantern lit")
        index.sync()
        assert_equals_fresh(twins, index)


@pytest.mark.parametrize("cut", ["", "M", "R100", "R100\0first.py", "M\0first.py\0R100\0second.py"])
def test_what_git_does_not_say_to_its_end_is_no_past(twins: Project, monkeypatch: pytest.MonkeyPatch, cut: str) -> None:
    change(twins, "first.py", "Trim the wick")
    commit = twins.git("rev-parse", "HEAD").strip()
    told = f"\1{commit}\2Trim the wick\0\n{cut}" if cut else ""
    real = history.safe_git

    def cut_off(root: str, *args: str, timeout: float, feed: bytes | None = None) -> GitResult:
        done = real(root, *args, timeout=timeout, feed=feed)
        return replace(done, stdout=told.encode()) if "diff-tree" in args else done

    with twins.index() as index:
        monkeypatch.setattr(history, "safe_git", cut_off)
        index.sync()
        assert sorted(found(index, "lamp")) == ["first.py", "second.py"]
        assert past(index) == ({"trim": {"first.py"}, "wick": {"first.py"}} if "M\0first.py" in cut else {})
        assert index.store.meta("history") == commit, "there is nothing more to ask"


def test_a_git_that_ends_with_an_error_says_nothing(twins: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    change(twins, "first.py", "Trim the wick")
    real = history.safe_git

    def failed(root: str, *args: str, timeout: float, feed: bytes | None = None) -> GitResult:
        return replace(real(root, *args, timeout=timeout, feed=feed), returncode=128)

    with twins.index() as index:
        monkeypatch.setattr(history, "safe_git", failed)
        index.sync()
        assert past(index) == {} and index.store.past_commits() == {}


def test_a_project_inside_a_repository_has_the_past_of_its_own_files(project: Project) -> None:
    project.write("inner/a.py", function("beacon"))
    project.write("outer.py", function("beacon"))
    project.commit()
    for path in ("inner/a.py", "outer.py"):
        change(project, path, "Light the lantern")
    with Index.open(str(project.root / "inner"), home=str(project.home)) as index:
        index.sync()
        assert past(index)["lantern"] == {"a.py"}


def test_a_clone_without_a_past_says_nothing_of_its_first_commit(twins: Project) -> None:
    change(twins, "second.py", "Keep the lantern lit")
    shallow = twins.root.parent / "shallow"
    twins.git("clone", "-q", "--depth", "1", f"file://{twins.root}", str(shallow))
    with Index.open(str(shallow), home=str(twins.home)) as index:
        index.sync()
        assert past(index) == {}
