"""A clone has the graph and no journal: what nodes record of their lines is all there is."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from blamed_project import blame, edit, git, repository, share, turn, who, write
from conftest import Bench
from nebula.blame.line_record import hash_line
from scripted_model import Call

LONG = ("first of the lines", "second of the lines", "x = 1", "third of the lines")


def run(command: str) -> Call:
    return Call("runCommand", {"command": command})


def clone(bench: Bench, tmp_path: Path, *options: str) -> Bench:
    """Return a bench whose project is a clone of the other one's repository."""
    share(bench)
    git(bench.project, "add", "-A")
    if git(bench.project, "status", "--porcelain"):
        git(bench.project, "commit", "-qm", "all of it")
    git(tmp_path, "clone", "-q", *options, f"file://{bench.project}", "clone")
    assert not (tmp_path / "clone/.nebula/journal").exists()
    return Bench(tmp_path / "clone", bench.home)


@pytest.fixture
def worked(bench: Bench) -> tuple[Bench, list[str]]:
    """A project with lines of before, of two turns and of a person, and the authors of these lines."""
    repository(bench)
    bench.write("a.py", "def first_function():\n    return 'before'\n")
    git(bench.project, "add", "a.py")
    git(bench.project, "commit", "-qm", "begin")
    old = ["def first_function():", "    return 'before'"]
    one = turn(bench, "one", *edit("a.py", *old, "", "def second_function():", "    return {", "    }"))
    new = [*old, "", "def second_function():", "    return {", "        'two': by_second_turn,", "    }"]
    two = turn(bench, "two", *edit("a.py", *new))
    bench.write("a.py", "\n".join([*new, "def by_hand(): pass", ""]))
    return bench, ["before", "before", one, one, one, two, one, "you"]


def test_a_clone_knows_the_lines_of_turns(worked: tuple[Bench, list[str]], tmp_path: Path) -> None:
    bench, authors = worked
    assert who(blame(bench, "a.py")) == authors
    in_clone = who(blame(clone(bench, tmp_path), "a.py"))
    assert in_clone == [each if each != "you" else "before" for each in authors]


def test_after_a_squash_and_in_a_shallow_clone(worked: tuple[Bench, list[str]], tmp_path: Path) -> None:
    bench, authors = worked
    share(bench)
    git(bench.project, "add", "-A")
    git(bench.project, "commit", "-qm", "one more")
    git(bench.project, "reset", "-q", "--soft", "HEAD~1")
    git(bench.project, "commit", "-qm", "squashed", by="bob")
    runs = blame(clone(bench, tmp_path, "--depth", "1"), "a.py")
    assert who(runs) == [each if each != "you" else "before" for each in authors]
    assert not any("commit" in run for run in runs), "where history is cut off, git does not know"


def test_a_work_tree_counts_as_a_clone(worked: tuple[Bench, list[str]], tmp_path: Path) -> None:
    bench, authors = worked
    share(bench)
    git(bench.project, "add", "-A")
    git(bench.project, "commit", "-qm", "all of it")
    git(bench.project, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "other")
    tree = Bench(tmp_path / "tree", bench.home)
    assert who(blame(tree, "a.py")) == [each if each != "you" else "before" for each in authors]


def test_a_changed_line_is_nobodys_in_a_clone(worked: tuple[Bench, list[str]], tmp_path: Path) -> None:
    bench, _ = worked
    there = clone(bench, tmp_path)
    there.write("a.py", there.read("a.py").replace("by_second_turn", "by_somebody_else"))
    assert who(blame(there, "a.py"))[5] == "before"


def test_a_formatter_and_a_rename_leave_the_authors_in_a_clone(worked: tuple[Bench, list[str]], tmp_path: Path) -> None:
    bench, authors = worked
    there = clone(bench, tmp_path)
    there.write("b.py", there.read("a.py").replace("    ", "\t"))
    (there.project / "a.py").unlink()
    assert who(blame(there, "b.py")) == [each if each != "you" else "before" for each in authors]


def test_a_line_that_a_turn_takes_out_and_puts_back_keeps_its_author_in_a_clone(
    worked: tuple[Bench, list[str]], tmp_path: Path
) -> None:
    bench, authors = worked
    lines = bench.read("a.py").splitlines()
    three = turn(bench, "three", *edit("a.py", lines[0]), *edit("a.py", *lines, "by the third turn"))
    assert who(blame(bench, "a.py")) == [*authors, three]
    in_clone = who(blame(clone(bench, tmp_path), "a.py"))
    assert in_clone == [*(each if each != "you" else "before" for each in authors), three]


def test_a_copied_line_is_not_the_turns_in_a_clone(worked: tuple[Bench, list[str]], tmp_path: Path) -> None:
    there = clone(worked[0], tmp_path)
    there.write("b.py", there.read("a.py"))
    assert set(who(blame(there, "b.py"))) == {"before"}


def test_a_line_that_a_later_turn_took_out_belongs_to_who_typed_it_again(bench: Bench, tmp_path: Path) -> None:
    repository(bench)
    one = turn(bench, "one", write("a.py", "first of the lines", "second of the lines"))
    turn(bench, "two", *edit("a.py", "first of the lines"))
    there = clone(bench, tmp_path)
    there.write("a.py", "first of the lines\nsecond of the lines\n")
    assert who(blame(there, "a.py")) == [one, "before"]


def test_a_line_that_a_turn_carried_to_another_file_keeps_its_author(bench: Bench, tmp_path: Path) -> None:
    repository(bench)
    one = turn(bench, "one", write("a.py", "first of the lines", "second of the lines"))
    two = turn(bench, "two", write("b.py", "header of b", "second of the lines"), *edit("a.py", "first of the lines"))
    there = clone(bench, tmp_path)
    assert who(blame(bench, "b.py")) == who(blame(there, "b.py")) == [two, one]


def test_short_lines_are_known_while_the_file_is_as_turns_left_it(bench: Bench, tmp_path: Path) -> None:
    repository(bench)
    bench.write("old.py", "a = 0\nb = 0\n")
    git(bench.project, "add", "-A")
    git(bench.project, "commit", "-qm", "begin")
    one = turn(bench, "one", write("s.py", "x = 1"), *edit("old.py", "a = 0", "x = 1", "b = 0"))
    two = turn(bench, "two", *edit("s.py", "x = 1", "y = 2"))
    turn(bench, "three", *edit("s.py", "z = 3"))
    turn(bench, "four", *edit("s.py", "x = 1", "y = 2"))
    there = clone(bench, tmp_path)
    for each in (bench, there):
        assert who(blame(each, "s.py")) == [one, two]
        assert who(blame(each, "old.py")) == ["before", one, "before"]
    there.write("s.py", "y = 2\nx = 1\n")
    there.write("old.py", "a = 0\nx = 1\nb = 1\n")
    assert {*who(blame(there, "s.py")), *who(blame(there, "old.py"))} == {"before"}, "anybody may have typed that"


def test_short_lines_that_come_back_are_still_those_of_before(bench: Bench, tmp_path: Path) -> None:
    repository(bench)
    bench.write("s.py", "a = 0\nb = 0\n")
    git(bench.project, "add", "-A")
    git(bench.project, "commit", "-qm", "begin")
    turn(bench, "one", *edit("s.py", "b = 0", "a = 0"))
    turn(bench, "two", *edit("s.py", "a = 0", "b = 0"))
    three = turn(bench, "three", *edit("s.py", "a = 0", "b = 0", "c = 0"))
    for each in (bench, clone(bench, tmp_path)):
        assert who(blame(each, "s.py")) == ["before", "before", three]


@pytest.mark.slow
def test_a_file_that_a_command_gave_another_name(bench: Bench, tmp_path: Path) -> None:
    repository(bench)
    one = turn(bench, "one", write("short.py", "x = 1", "y = 2"), write("a.py", *LONG))
    two = turn(bench, "two", run("mkdir d; mv short.py d/; mv a.py b.py; sed -i s/third/changed/ b.py"))
    turn(bench, "three", run("mv d e; mv b.py e/"))
    there = clone(bench, tmp_path)
    for each in (bench, there):
        assert who(blame(each, "e/short.py")) == [one, one]
        assert who(blame(each, "e/b.py")) == [one, one, one, two]


@pytest.mark.slow
def test_a_line_that_was_taken_out_under_another_name_belongs_to_who_typed_it_again(
    bench: Bench, tmp_path: Path
) -> None:
    repository(bench)
    one = turn(bench, "one", write("a.py", *LONG))
    turn(bench, "two", run("mv a.py b.py"))
    turn(bench, "three", *edit("b.py", *LONG[:1], *LONG[2:]))
    there = clone(bench, tmp_path)
    there.write("b.py", "".join(f"{line}\n" for line in (*LONG, "by hand")))
    assert who(blame(there, "b.py")) == [one, "before", one, one, "before"]


def test_nothing_of_a_secret_file_is_in_the_graph(bench: Bench) -> None:
    from in_process import run_here
    from scripted_model import Call, ScriptedModel, Turn

    read, change = Call("readFile", {"path": ".env"}), {"path": ".env", "new_content": "PASSWORD=battery-staple\n"}
    calls = [
        write(".env", "PASSWORD=correct-horse"),
        read,
        Call("editFile", change),
        write("a.py", "one ordinary line"),
    ]
    with ScriptedModel([*(Turn("Working.", [call]) for call in calls), Turn("Done.")]) as model:
        ran = run_here(bench, "nebula", "-p", "x", "--yes", "--allow", ".env", **model.env())
    assert ran.code == 0, ran.err
    assert bench.read(".env") == "PASSWORD=battery-staple\n"
    (node,) = (bench.project / ".nebula/graph/nodes").rglob("*.xml")
    said = node.read_text("utf-8")
    assert 'path=".env"' in said and said.count("wrote=") == 1 and "one ordinary line" in said
    held = [*(bench.project / ".nebula/graph").rglob("*"), *(bench.home / ".nebula/projects").rglob("*")]
    secrets = [b"correct-horse", b"battery-staple", hash_line(b"PASSWORD=correct-horse").encode()]
    found = [
        (each.name, secret) for each in held if each.is_file() for secret in secrets if secret in each.read_bytes()
    ]
    assert found == []


def test_a_line_with_a_key_is_counted_and_not_named(bench: Bench) -> None:
    turn(bench, "x", write("a.py", "one ordinary line", "KEY = 'sk-ant-api03-" + "a1B2" * 20 + "'", "another line"))
    (node,) = (bench.project / ".nebula/graph/nodes").rglob("*.xml")
    wrote = re.search(r'wrote="1:([^"]*)"', node.read_text("utf-8"))
    assert wrote is not None and wrote[1][8:16] == "." * 8 and len(wrote[1]) == 24


def test_what_somebody_wrote_into_a_node_is_passed_over(worked: tuple[Bench, list[str]], tmp_path: Path) -> None:
    there = clone(worked[0], tmp_path)
    for file in (there.project / ".nebula/graph/nodes").rglob("*.xml"):
        file.write_text(re.sub(r'wrote="[^"]*"', 'wrote="9999999999:zz x:1 5:abc"', file.read_text("utf-8")), "utf-8")
    shutil.rmtree(there.home / ".nebula", ignore_errors=True)
    assert set(who(blame(there, "a.py"))) == {"before"}
