"""Lines that moved to another file before any turn saw it, as only git knows: they keep the author that they had."""

from __future__ import annotations

import pytest

from blamed_project import blame, edit, git, repository, turn, who
from conftest import Bench


def turn_each(bench: Bench) -> list[str]:
    """Two files of before, in a commit of long ago; a turn has changed each."""
    bench.write("a.py", "first line of before\nsecond line of before\nthird line of before\n")
    bench.write("b.py", "other line of before\nfurther line of before\n")
    git(bench.project, "add", "a.py", "b.py")
    git(bench.project, "commit", "-qm", "begin", "--date", "2020-01-01T00:00:00Z")
    return [turn(bench, path, *edit(path, f"by a turn in {path}", *lines(bench, path))) for path in ("a.py", "b.py")]


def lines(bench: Bench, path: str) -> list[str]:
    return bench.read(path).splitlines()


def move(bench: Bench, line: str, source: str, target: str) -> None:
    bench.write(source, bench.read(source).replace(f"{line}\n", "", 1))
    bench.write(target, (bench.read(target) if (bench.project / target).exists() else "") + f"{line}\n")


def test_a_revision_from_before_the_first_turn_is_of_before(bench: Bench) -> None:
    repository(bench)
    bench.write("a.py", "taken out long ago\nfirst line of before\n")
    git(bench.project, "add", "a.py")
    git(bench.project, "commit", "-qm", "begin", at="2020-01-01T00:00:00Z")
    bench.write("a.py", "first line of before\n")
    git(bench.project, "commit", "-qam", "taken out", at="2020-01-02T00:00:00Z")
    turn(bench, "one", *edit("a.py", "first line of before", "by a turn"))
    git(bench.project, "commit", "-qam", "one")
    assert who(blame(bench, "a.py", "--rev", "HEAD~2")) == ["before", "before"]


def test_lines_of_a_revision_that_went_since_keep_their_authors(bench: Bench) -> None:
    """No turn has seen the file as that revision has it."""
    repository(bench)
    one, _ = turn_each(bench)
    git(bench.project, "commit", "-qam", "turns")
    left = bench.read("a.py")
    for content in (f"{left}typed by a person\n", left):
        bench.write("a.py", content)
        git(bench.project, "commit", "-qam", "by hand")
    turn(bench, "take out", *edit("a.py", "third line of before"))
    assert who(blame(bench, "a.py", "--rev", "HEAD~1")) == [one, "before", "before", "before", "you"]


@pytest.mark.parametrize("inside", ["", "part of it"])
def test_an_older_line_that_a_person_moves_on_a_branch_stays_older(bench: Bench, inside: str) -> None:
    """A turn took it out on the other branch, so that nothing but git says where it came from."""
    repository(bench)
    bench = Bench(bench.project / inside, bench.home)
    bench.project.mkdir(exist_ok=True)
    _, two = turn_each(bench)
    git(bench.project, "commit", "-qam", "turns")
    git(bench.project, "switch", "-qc", "work")
    move(bench, "second line of before", "a.py", "b.py")
    git(bench.project, "commit", "-qam", "moved")
    git(bench.project, "switch", "-q", "main")
    turn(bench, "take it out", *edit("a.py", *(line for line in lines(bench, "a.py") if "second" not in line)))
    git(bench.project, "commit", "-qam", "taken out")
    git(bench.project, "merge", "-q", "--no-edit", "work")
    assert who(blame(bench, "b.py")) == [two, "before", "before", "before"]


@pytest.mark.parametrize("inside", ["", "part of it"])
def test_a_turns_line_that_moves_right_after_an_amended_commit_stays_the_turns(bench: Bench, inside: str) -> None:
    """Such a commit keeps its date, from before the turn."""
    repository(bench)
    bench = Bench(bench.project / inside, bench.home)
    bench.project.mkdir(exist_ok=True)
    one, _ = turn_each(bench)
    git(bench.project, "commit", "-qam", "begin", "--amend")
    move(bench, "by a turn in a.py", "a.py", "c.py")
    git(bench.project, "add", "c.py")
    git(bench.project, "commit", "-qam", "moved")
    assert who(blame(bench, "c.py")) == who(blame(bench, "c.py", "--rev", "HEAD")) == [one]


def test_a_line_of_yours_that_a_colleague_moves_stays_yours(bench: Bench) -> None:
    repository(bench)
    _, two = turn_each(bench)
    bench.write("a.py", bench.read("a.py") + "typed by a person\n")
    git(bench.project, "commit", "-qam", "turns")
    move(bench, "typed by a person", "a.py", "b.py")
    bench.write("b.py", bench.read("b.py") + "typed by a colleague\n")
    git(bench.project, "commit", "-qam", "theirs", by="bob")
    assert who(blame(bench, "b.py")) == [two, "before", "before", "you", "before"]
