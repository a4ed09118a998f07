"""Where tools that tie authorship to commits fail: git moves contents about, and every line keeps its author."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from blamed_project import blame, edit, git, repository, share, turn, who, write
from conftest import Bench
from scripted_model import Call

FIRST = ["first line of before", "second line of before"]


@pytest.fixture
def worked(bench: Bench) -> tuple[Bench, list[str]]:
    """A repository with a commit of before and, not committed, lines of a turn and of a person."""
    repository(bench)
    bench.write("a.py", "\n".join([*FIRST, ""]))
    bench.write("other.py", "of another file\n")
    git(bench.project, "add", "-A")
    git(bench.project, "commit", "-qm", "begin")
    one = turn(bench, "one", *edit("a.py", *FIRST, "third line by a turn", "fourth line by a turn"))
    bench.write("a.py", "\n".join([*FIRST, "third line by a turn", "by hand", "fourth line by a turn", ""]))
    return bench, ["before", "before", one, "you", one]


def commit(bench: Bench, message: str, *argv: str) -> None:
    git(bench.project, "add", "a.py", "other.py")
    git(bench.project, "commit", "-qm", message, *argv)


def test_commit_and_amend_change_nothing(worked: tuple[Bench, list[str]]) -> None:
    bench, authors = worked
    commit(bench, "work")
    assert who(blame(bench, "a.py")) == authors
    commit(bench, "otherwise", "--amend")
    assert who(blame(bench, "a.py")) == authors


def test_an_interactive_rebase_with_fixup_and_autosquash_changes_nothing(worked: tuple[Bench, list[str]]) -> None:
    bench, authors = worked
    commit(bench, "work")
    two = turn(bench, "two", *edit("a.py", *bench.read("a.py").splitlines(), "last line by another turn"))
    commit(bench, "fixup! work")
    git(bench.project, "-c", "sequence.editor=true", "rebase", "-q", "-i", "--autosquash", "--root")
    assert git(bench.project, "rev-list", "--count", "HEAD") == "2"
    assert who(blame(bench, "a.py")) == [*authors, two]


def test_a_squash_merge_changes_nothing(worked: tuple[Bench, list[str]]) -> None:
    bench, authors = worked
    git(bench.project, "switch", "-qc", "work")
    commit(bench, "one")
    two = turn(bench, "two", *edit("a.py", *bench.read("a.py").splitlines(), "last line by another turn"))
    commit(bench, "two")
    git(bench.project, "switch", "-q", "main")
    assert who(blame(bench, "a.py")) == ["before", "before"]
    git(bench.project, "merge", "-q", "--squash", "work")
    git(bench.project, "commit", "-qm", "squashed")
    assert who(blame(bench, "a.py")) == [*authors, two]


def test_a_rebase_over_the_work_of_somebody_else_keeps_the_authors(worked: tuple[Bench, list[str]]) -> None:
    bench, authors = worked
    git(bench.project, "switch", "-qc", "work")
    commit(bench, "one")
    git(bench.project, "switch", "-q", "main")
    bench.write("a.py", "\n".join(["of a colleague", "", *FIRST, ""]))
    git(bench.project, "commit", "-qam", "theirs", by="bob")
    git(bench.project, "switch", "-q", "work")
    git(bench.project, "rebase", "-q", "main")
    assert who(blame(bench, "a.py")) == ["before", "before", *authors]


def test_a_cherry_pick_onto_another_branch_keeps_the_authors(worked: tuple[Bench, list[str]]) -> None:
    bench, authors = worked
    git(bench.project, "switch", "-qc", "work")
    commit(bench, "one")
    git(bench.project, "switch", "-q", "main")
    bench.write("other.py", "of another file\nand of this branch\n")
    git(bench.project, "commit", "-qam", "elsewhere")
    git(bench.project, "cherry-pick", "work")
    assert who(blame(bench, "a.py")) == authors


def begin_beside_a_colleague(bench: Bench) -> str:
    """Commit a turn's line on a branch; on main a colleague has changed the file, and a further turn, too. Return whose
    the lines on main are."""
    repository(bench)
    bench.write("a.py", "\n".join([*FIRST, "third line of before", "fourth line of before", ""]))
    git(bench.project, "add", "a.py")
    git(bench.project, "commit", "-qm", "begin")
    git(bench.project, "switch", "-qc", "work")
    lines = bench.read("a.py").splitlines()
    one = turn(bench, "one", *edit("a.py", "line of the first turn", *lines))
    git(bench.project, "commit", "-qam", "one")
    git(bench.project, "switch", "-q", "main")
    bench.write("a.py", "\n".join([*lines[:3], "between, by a colleague", lines[3], ""]))
    git(bench.project, "commit", "-qam", "theirs", by="bob")
    return one


def pull_from_a_colleague(bench: Bench) -> None:
    """A turn has changed both files; then lines of a colleague come into one of them."""
    repository(bench)
    bench.write("a.py", "first line of before\n")
    bench.write("b.py", "other line of before\n")
    git(bench.project, "add", "a.py", "b.py")
    git(bench.project, "commit", "-qm", "begin")
    for path in ("a.py", "b.py"):
        lines = bench.read(path).splitlines()
        turn(bench, path, *edit(path, *lines, f"line of a turn in {path}"))
    git(bench.project, "commit", "-qam", "turns")
    bench.write("b.py", bench.read("b.py") + "line by a colleague\nanother by a colleague\n")
    git(bench.project, "commit", "-qam", "theirs", by="bob")


def move_by_hand(bench: Bench, moved: str = "line by a colleague\n") -> None:
    bench.write("b.py", bench.read("b.py").replace(moved, "", 1))
    bench.write("a.py", bench.read("a.py") + moved + "typed by a person\n")


def last_two(bench: Bench, path: str = "a.py") -> list[tuple[str, str]]:
    runs = [run for run in blame(bench, path) for _ in range(run["start_line"], run["end_line"] + 1)]
    return [(run["by"], run.get("author", "")) for run in runs[-2:]]


def test_a_colleagues_line_that_a_person_moves_to_another_file_stays_the_colleagues(bench: Bench) -> None:
    pull_from_a_colleague(bench)
    move_by_hand(bench)
    assert last_two(bench) == [("before", "Bob"), ("you", "")]
    git(bench.project, "commit", "-qam", "moved")
    assert last_two(bench) == [("before", "Bob"), ("you", "")]


def test_a_colleagues_line_that_is_moved_twice_stays_the_colleagues(bench: Bench) -> None:
    pull_from_a_colleague(bench)
    move_by_hand(bench)
    git(bench.project, "commit", "-qam", "moved")
    bench.write("c.py", "line by a colleague\n")
    bench.write("a.py", bench.read("a.py").replace("line by a colleague\n", ""))
    assert last_two(bench, "c.py") == [("before", "Bob")]
    git(bench.project, "add", "c.py")
    git(bench.project, "commit", "-qam", "moved again")
    assert last_two(bench, "c.py") == [("before", "Bob")]


def test_a_colleagues_line_that_a_person_copies_is_the_persons(bench: Bench) -> None:
    pull_from_a_colleague(bench)
    bench.write("a.py", bench.read("a.py") + "line by a colleague\ntyped by a person\n")
    bench.write("b.py", bench.read("b.py") + "more by a person\n")
    assert last_two(bench) == [("you", ""), ("you", "")]
    git(bench.project, "commit", "-qam", "copied")
    assert last_two(bench) == [("you", ""), ("you", "")]


def test_a_copy_becomes_a_move_once_the_line_is_taken_out_of_the_other_file(bench: Bench) -> None:
    pull_from_a_colleague(bench)
    bench.write("a.py", bench.read("a.py") + "line by a colleague\ntyped by a person\n")
    assert last_two(bench) == [("you", ""), ("you", "")]
    time.sleep(0.05)
    assert last_two(bench) == [("you", ""), ("you", "")]
    bench.write("b.py", bench.read("b.py").replace("line by a colleague\n", "", 1))
    assert last_two(bench) == [("before", "Bob"), ("you", "")]


def test_a_colleagues_line_that_a_turn_moves_to_another_file_stays_the_colleagues(bench: Bench) -> None:
    pull_from_a_colleague(bench)
    left = bench.read("b.py").replace("line by a colleague\n", "", 1)
    calls = *edit("b.py", *left.splitlines()), *edit("a.py", *bench.read("a.py").splitlines(), "line by a colleague")
    node = turn(bench, "move it", *calls)
    bench.write("a.py", bench.read("a.py") + "typed by a person\n")
    assert last_two(bench) == [("before", "Bob"), ("you", "")] and node not in who(blame(bench, "a.py"))
    git(bench.project, "commit", "-qam", "moved")
    assert last_two(bench) == [("before", "Bob"), ("you", "")] and node not in who(blame(bench, "a.py"))


def test_a_colleagues_lines_in_a_file_that_is_renamed_stay_the_colleagues(bench: Bench) -> None:
    pull_from_a_colleague(bench)
    git(bench.project, "mv", "b.py", "z.py")
    assert last_two(bench, "z.py") == [("before", "Bob")] * 2
    git(bench.project, "commit", "-qm", "renamed")
    assert last_two(bench, "z.py") == [("before", "Bob")] * 2


def turn_on_main(bench: Bench) -> str:
    two = turn(bench, "two", *edit("a.py", *bench.read("a.py").splitlines(), "line of the second turn"))
    git(bench.project, "commit", "-qam", "two")
    return two


def test_a_squash_merge_beside_other_work_brings_the_authors_along(bench: Bench) -> None:
    """It leaves nothing in git's own log: what counts is that the lines went by a checkout."""
    one = begin_beside_a_colleague(bench)
    two = turn_on_main(bench)
    git(bench.project, "merge", "-q", "--squash", "work")
    assert who(blame(bench, "a.py")) == [one, "before", "before", "before", "before", "before", two]
    git(bench.project, "commit", "-qm", "squashed")
    assert who(blame(bench, "a.py")) == [one, "before", "before", "before", "before", "before", two]


def test_a_branch_that_a_server_squashed_and_a_pull_brought_keeps_the_authors(bench: Bench, tmp_path: Path) -> None:
    one = begin_beside_a_colleague(bench)
    two = turn_on_main(bench)
    git(tmp_path, "clone", "-q", str(bench.project), "server")
    git(tmp_path / "server", "merge", "-q", "--squash", "origin/work")
    git(tmp_path / "server", "commit", "-qm", "squashed", by="server")
    git(bench.project, "pull", "-q", "--ff-only", str(tmp_path / "server"), "main")
    git(bench.project, "branch", "-qD", "work")
    assert who(blame(bench, "a.py")) == [one, "before", "before", "before", "before", "before", two]


def test_a_cherry_pick_beside_other_work_brings_the_authors_along(bench: Bench) -> None:
    one = begin_beside_a_colleague(bench)
    two = turn_on_main(bench)
    git(bench.project, "cherry-pick", "work")
    assert who(blame(bench, "a.py")) == [one, "before", "before", "before", "before", "before", two]


def test_a_rebase_beside_other_work_brings_the_authors_along(bench: Bench) -> None:
    one = begin_beside_a_colleague(bench)
    two = turn_on_main(bench)
    git(bench.project, "switch", "-q", "work")
    git(bench.project, "rebase", "-q", "main")
    assert who(blame(bench, "a.py")) == [one, "before", "before", "before", "before", "before", two]


def test_a_line_that_a_turn_took_out_and_a_person_types_again_is_the_persons(bench: Bench) -> None:
    repository(bench)
    turn(bench, "one", write("a.py", "first line", "second line", "third line"))
    git(bench.project, "add", "a.py")
    git(bench.project, "commit", "-qm", "one")
    two = turn(bench, "two", *edit("a.py", "first line", "another line"))
    lines = who(blame(bench, "a.py"))
    bench.write("a.py", "third line\nfirst line\nanother line\n")
    assert who(blame(bench, "a.py")) == ["you", *lines] and lines[1] == two


def test_a_stash_that_is_popped_over_a_further_turn_brings_the_authors_along(bench: Bench) -> None:
    repository(bench)
    bench.write("a.py", "".join(f"line {number} of before\n" for number in range(8)))
    git(bench.project, "add", "a.py")
    git(bench.project, "commit", "-qm", "begin")
    lines = bench.read("a.py").splitlines()
    one = turn(bench, "one", *edit("a.py", "line of the first turn", *lines))
    git(bench.project, "stash", "-q")
    two = turn(bench, "two", *edit("a.py", *lines, "line of the second turn"))
    git(bench.project, "commit", "-qam", "two")
    git(bench.project, "stash", "pop", "-q")
    assert who(blame(bench, "a.py")) == [one, *["before"] * 8, two]


def test_a_file_that_git_renamed_after_a_merge_keeps_the_authors(bench: Bench) -> None:
    one = begin_beside_a_colleague(bench)
    two = turn_on_main(bench)
    git(bench.project, "merge", "-q", "--squash", "work")
    git(bench.project, "commit", "-qm", "squashed")
    git(bench.project, "mv", "a.py", "z.py")
    git(bench.project, "commit", "-qm", "renamed")
    assert who(blame(bench, "z.py")) == [one, "before", "before", "before", "before", "before", two]


def test_a_merge_of_two_branches_with_a_shared_conversation_keeps_the_authors(bench: Bench, tmp_path: Path) -> None:
    repository(bench)
    bench.write("a.py", "first line of before\n")
    bench.write("b.py", "other line of before\n")
    zero = turn(bench, "zero", *edit("a.py", "first line of before", "line of the first turn"))
    share(bench)
    git(bench.project, "add", "-A")
    git(bench.project, "commit", "-qm", "begin")
    git(bench.project, "switch", "-qc", "work")
    one = turn(bench, "one", *edit("a.py", "first line of before", "line of the first turn", "line on the branch"))
    git(bench.project, "add", "-A")
    git(bench.project, "commit", "-qm", "one")
    git(bench.project, "switch", "-q", "main")
    two = turn(bench, "two", *edit("b.py", "other line of before", "line beside the branch"))
    git(bench.project, "add", "-A")
    git(bench.project, "commit", "-qm", "two")
    git(bench.project, "merge", "-q", "work")  # git puts the nodes of both into one file
    assert who(blame(bench, "a.py")) == ["before", zero, one]
    assert who(blame(bench, "b.py")) == ["before", two]
    git(bench.project, "checkout", "-q", "--", ".nebula")  # they are parted, and come together again
    bench.write("b.py", bench.read("b.py") + "typed by a person\n")
    assert who(blame(bench, "b.py")) == ["before", two, "you"]
    git(tmp_path, "clone", "-q", str(bench.project), "clone")
    there = Bench(tmp_path / "clone", bench.home)
    assert (who(blame(there, "a.py")), who(blame(there, "b.py"))) == (["before", zero, one], ["before", two])


@pytest.mark.parametrize("path", ["new.py", "other.py"])
def test_a_turns_line_that_a_person_moves_to_a_file_of_no_turn_stays_the_turns(
    worked: tuple[Bench, list[str]], path: str
) -> None:
    bench, authors = worked
    moved = ["third line by a turn", "fourth line by a turn"]
    bench.write("a.py", "\n".join([*FIRST, "by hand", ""]))
    bench.write(path, "\n".join(["of another file", *moved, ""]))
    there = ["before", authors[2], authors[2]]
    assert who(blame(bench, path)) == there
    git(bench.project, "add", "a.py", path)
    git(bench.project, "commit", "-qm", "moved")
    assert who(blame(bench, path)) == who(blame(bench, path, "--rev", "HEAD")) == there
    two = turn(bench, "two", *edit(path, "of another file", *moved, "last line by another turn"))
    assert who(blame(bench, path)) == [*there, two]


def test_an_older_line_that_is_like_one_of_a_turn_stays_older(bench: Bench) -> None:
    repository(bench)
    bench.write("a.py", "first line of before\n")
    bench.write("b.py", "import everything\n")
    bench.write("c.py", "import everything\n")
    git(bench.project, "add", "a.py", "b.py")
    git(bench.project, "commit", "-qm", "begin", "--date", "2020-01-01T00:00:00Z")
    os.utime(bench.project / "c.py", (1e9, 1e9))
    turn(bench, "one", *edit("a.py", "first line of before", "import everything"))
    bench.write("a.py", "first line of before\n")
    assert who(blame(bench, "b.py")) == who(blame(bench, "c.py")) == ["before"]


def test_a_stash_and_its_return_change_nothing(worked: tuple[Bench, list[str]]) -> None:
    bench, authors = worked
    git(bench.project, "stash", "-q")
    assert who(blame(bench, "a.py")) == ["before", "before"]
    git(bench.project, "stash", "pop", "-q")
    assert who(blame(bench, "a.py")) == authors


def test_a_rename_in_git_keeps_the_authors(worked: tuple[Bench, list[str]]) -> None:
    bench, authors = worked
    commit(bench, "work")
    git(bench.project, "mv", "a.py", "z.py")
    assert who(blame(bench, "z.py")) == authors
    git(bench.project, "commit", "-qm", "renamed")
    assert who(blame(bench, "z.py")) == authors


def test_a_formatter_does_not_make_an_agents_lines_a_persons(worked: tuple[Bench, list[str]]) -> None:
    bench, authors = worked
    bench.write("a.py", "".join(f"\t{line}  \r\n" for line in bench.read("a.py").splitlines()))
    commit(bench, "formatted")
    assert who(blame(bench, "a.py")) == authors


def test_a_formatter_that_a_turn_runs_does_not_make_a_persons_lines_an_agents(worked: tuple[Bench, list[str]]) -> None:
    bench, authors = worked
    lines = bench.read("a.py").splitlines()
    turn(bench, "format it", *edit("a.py", *(f"    {line.replace(' ', '  ')}" for line in lines)))
    assert who(blame(bench, "a.py")) == authors
    commit(bench, "formatted")
    assert who(blame(bench, "a.py")) == authors


def test_a_persons_change_of_an_agents_line_is_the_persons(worked: tuple[Bench, list[str]]) -> None:
    bench, authors = worked
    bench.write("a.py", bench.read("a.py").replace("third line by a turn", "third line, by a person now"))
    assert who(blame(bench, "a.py")) == [*authors[:2], "you", *authors[3:]]


def test_a_review_that_changes_nothing_takes_over_nothing(worked: tuple[Bench, list[str]]) -> None:
    bench, authors = worked
    turn(bench, "review it", Call("readFile", {"path": "a.py"}))
    assert who(blame(bench, "a.py")) == authors


def test_one_line_by_hand_does_not_make_the_block_a_persons_after_the_commit(worked: tuple[Bench, list[str]]) -> None:
    bench, authors = worked
    commit(bench, "work")
    bench.write("a.py", bench.read("a.py").replace("by hand\n", "by hand\nanother by hand\n"))
    commit(bench, "one more")
    assert who(blame(bench, "a.py")) == [*authors[:4], "you", *authors[4:]]


def test_a_half_changed_line_belongs_to_who_changed_it(worked: tuple[Bench, list[str]]) -> None:
    bench, authors = worked
    lines = bench.read("a.py").splitlines()
    two = turn(bench, "two", *edit("a.py", lines[0] + " # and more", *lines[1:]))
    assert who(blame(bench, "a.py")) == [two, *authors[1:]]


def test_an_old_code_base_is_before_and_not_yours(worked: tuple[Bench, list[str]]) -> None:
    (run,) = blame(worked[0], "other.py")
    assert run["by"] == "before" and run["author"] == "Me"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="commands run in layers, which Linux has")
def test_what_a_turns_command_wrote_is_the_turns(bench: Bench) -> None:
    bench.write("a.py", "first line\n")
    node = turn(bench, "generate", Call("runCommand", {"command": "printf 'generated line\\n' >> a.py; cp a.py b.py"}))
    if not os.path.exists(bench.project / "b.py"):
        pytest.fail("the command changed nothing")
    assert who(blame(bench, "a.py")) == ["before", node]
    assert set(who(blame(bench, "b.py"))) == {node}, "a copied line belongs to who copied it"


def test_undo_and_redo_bring_lines_back_with_their_author(bench: Bench) -> None:
    one = turn(bench, "one", write("a.py", "first line", "second line"))
    two = turn(bench, "two", *edit("a.py", "another line"))
    assert who(blame(bench, "a.py")) == [two]
    from nebula.agent.undo import carry_out, redo_plan, undo_plan
    from nebula.workspace import open_workspace

    with open_workspace(str(bench.project)) as files:
        carry_out(files, undo_plan(files))
        assert who(blame(bench, "a.py")) == [one, one]
        carry_out(files, redo_plan(files))
        assert who(blame(bench, "a.py")) == [two]


@pytest.mark.parametrize("committed", [False, True])
def test_what_git_brought_and_a_person_moved_before_a_turn_saw_it_stays_the_turns(
    bench: Bench, committed: bool
) -> None:
    pull_from_a_colleague(bench)
    lines = bench.read("b.py").splitlines()
    one = turn(bench, "write it", *edit("b.py", *lines, "line of a turn, taken out by another"))
    git(bench.project, "commit", "-qam", "one")
    turn(bench, "take it out", *edit("b.py", *lines))
    git(bench.project, "checkout", "-q", "--", "b.py")
    move_by_hand(bench, "line of a turn, taken out by another\n")
    if committed:
        git(bench.project, "commit", "-qam", "moved")
    assert who(blame(bench, "a.py"))[-2:] == [one, "you"]
