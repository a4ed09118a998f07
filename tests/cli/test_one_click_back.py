"""Going back: what will change is shown first, and going back can be undone itself."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from conftest import Bench
from in_process import run_here, sit_down_here
from nebula.workspace.diff import merged
from rows import each_row
from scripted_model import Call, ScriptedModel, Turn
from terminal_driver import CTRL_D, Person

BASE = "".join(f"line {number}\n" for number in range(20))


def edit(number: int, word: str) -> list[Turn]:
    """A turn that changes one line of a.txt."""
    edits = [{"old_text": f"line {number}\n", "new_text": f"{word} {number}\n"}]
    return [Turn("", [Call("editFile", {"path": "a.txt", "edits": edits})]), Turn(f"Changed {number}.")]


def worked(bench: Bench, script: str, *turns: Turn) -> str:
    """What a session says that reads the file first and then goes on as the script says."""
    bench.write("a.txt", BASE)
    with ScriptedModel([Turn("", [Call("readFile", {"path": "a.txt"})]), Turn("Read."), *turns]) as server:
        return run_here(bench, "nebula", "--yes", stdin=f"read\n{script}exit\n", **server.env()).out


def node_of(bench: Bench, prompt: str) -> str:
    found = run_here(bench, "vizprompt", "--data-dir", ".nebula/graph", "search", "--text", prompt, "--json")
    return str(found.json[0]["id"])


def test_undo_and_redo_show_the_diff_before_they_act(bench: Bench) -> None:
    out = worked(bench, "change 3\n/undo\n/redo\n", *edit(3, "LINE"))
    _, undone, redone = out.split("What changes:")
    assert undone.index("-LINE 3") < undone.index("+line 3") < undone.index("Taken back: a.txt")
    assert redone.index("+LINE 3") < redone.index("Done again: a.txt")
    assert "LINE 3" in bench.read("a.txt")


def test_a_folder_or_mode_that_comes_back_is_named(bench: Bench) -> None:
    make = Call("runCommand", {"command": "mkdir made; chmod 755 a.txt; echo new >> a.txt"})
    out = worked(bench, "go\n/undo\n", Turn("", [make]), Turn("Made."))
    undone = out.split("What changes:")[1]
    assert "\nmade: folder → nothing\n" in undone and re.search("\na.txt: mode 755 → 644\n--- a/a.txt\n", undone)


def test_at_a_terminal_files_are_named_where_their_lines_would_fill_more_than_the_screen(bench: Bench) -> None:
    new = [Call("writeFile", {"path": f"{name}.txt", "content": f"{name}\n" * 30}) for name in ("one", "two")]

    def person(screen: Person) -> None:
        screen.prompt()
        for typed, seen in (("go", "Done."), ("/undo", "Taken back"), ("/redo", "Done again"), ("/exit", "")):
            screen.line(typed)
            screen.wait(seen)

    with ScriptedModel([Turn("", new), Turn("Done.")]) as server:
        _, screen = sit_down_here(bench, person, "--yes", **server.env())
    assert "  one.txt (+0 −30)" in screen.text and "  two.txt (+30 −0)" in screen.text
    assert "-one" not in screen.text and "+two" not in screen.text
    assert (bench.project / "two.txt").exists()


def test_fork_shows_what_restore_would_change_and_the_way_back(bench: Bench) -> None:
    out = worked(bench, "change 3\nchange 5\n/fork 2\n/restore\n/undo\n", *edit(3, "LINE"), *edit(5, "LINE"))
    forked = out.split("The next prompt continues from: change 3")[1]
    assert re.search(r"/undo, or later /fork [0-9a-f-]+, goes back to where you were", forked)
    assert forked.index("-LINE 5") < forked.index("/restore puts it back") < forked.index("Put back: a.txt")
    assert forked.count("What changes:") == 2  # once by /fork, once by the /undo of /restore
    assert "LINE 3" in bench.read("a.txt") and "LINE 5" in bench.read("a.txt")


def test_undo_takes_a_fork_back_and_redo_goes_there_again(bench: Bench) -> None:
    script = "change 3\nchange 5\n/fork 2\n/restore\n/undo\n/undo\n/redo\n/undo\nwhere are we\n/undo\n"
    out = worked(bench, script, *edit(3, "LINE"), *edit(5, "LINE"), Turn("Here."))
    steps = re.findall(r"continues from: .*|Put back: .*|Taken back: .*|\*\*\*.*", out)
    assert steps == [
        "continues from: change 3",  # /fork
        "Put back: a.txt",  # /restore
        "Taken back: a.txt",  # that first, as it was done last
        "continues from: change 5",  # then the /fork
        "continues from: change 3",
        "continues from: change 5",
        "Taken back: a.txt",  # the turn's files: its /fork is long past
    ]
    assert "LINE 3" in bench.read("a.txt") and "LINE 5" not in bench.read("a.txt")
    found = run_here(bench, "vizprompt", "--data-dir", ".nebula/graph", "search", "--text", "where are we", "--json")
    path = run_here(bench, "vizprompt", "--data-dir", ".nebula/graph", "context", found.json[0]["id"])
    assert "change 5" in path.out


def test_what_was_taken_back_last_is_done_again_first(bench: Bench) -> None:
    script = "change 3\nchange 5\n/fork 2\n/restore\n/undo\n/undo\n/undo\n/redo\n/redo\n/redo\n/undo\n"
    out = worked(bench, script, *edit(3, "LINE"), *edit(5, "LINE"))
    steps = re.findall(r"continues from: .*|Put back: .*|Taken back: .*|Done again: .*", out)
    assert steps == [
        "continues from: change 3",  # /fork
        "Put back: a.txt",  # /restore
        "Taken back: a.txt",
        "continues from: change 5",
        "Taken back: a.txt",  # the turn's files
        "Done again: a.txt",  # those, and not the /fork
        "continues from: change 3",
        "Done again: a.txt",  # what /restore did
        "Taken back: a.txt",
    ]


def test_what_cannot_be_taken_back_is_not_asked_about(bench: Bench) -> None:
    worked(bench, "change 3\n", *edit(3, "LINE"))
    bench.write("a.txt", bench.read("a.txt") + "by hand\n")
    with ScriptedModel([]) as server:
        out = run_here(bench, "nebula", stdin="/undo\nexit\n", **server.env()).out
    assert "a.txt: changed since; nothing was touched.\n/history FILE NUMBER does it" in out
    assert "all the same?" not in out


def test_undo_after_a_turn_takes_back_files_and_not_the_fork_before_it(bench: Bench) -> None:
    out = worked(bench, "change 3\n/fork 2\nwhere are we\n/undo\n/redo\n", *edit(3, "LINE"), Turn("Here."))
    steps = re.findall(r"continues from: .*|Taken back: .*|Done again: .*", out)
    assert steps == ["continues from: read", "Taken back: a.txt", "Done again: a.txt"]


def test_restore_takes_a_node_by_name(bench: Bench) -> None:
    out = worked(bench, "change 3\nchange 5\n/restore 2\n/restore 1\n", *edit(3, "LINE"), *edit(5, "LINE"))
    assert "-LINE 5" in out and out.count("Put back: a.txt") == 2
    assert "LINE 5" in bench.read("a.txt")


def test_a_file_that_was_deleted_by_hand_is_named_before_it_comes_back(bench: Bench) -> None:
    make = [Turn("", [Call("writeFile", {"path": "new.txt", "content": "x\n"})]), Turn("Made.")]
    told = "Deleted by hand, and brought back: new.txt"
    undone = worked(bench, "make\n/undo\n/restore 1\n", *make)
    (bench.project / "new.txt").unlink()
    with ScriptedModel([Turn("Back.")]) as server:
        out = run_here(bench, "nebula", "-c", stdin="/restore 1\nexit\n", **server.env()).out
        assert out.index("What changes:") < out.index(told) < out.index("Put back: new.txt")
        (bench.project / "new.txt").unlink()
        ran = run_here(
            bench, "nebula", "-c", "-p", "go on", "--from", node_of(bench, "make"), "--with-files", **server.env()
        )
    assert ran.err.index(told) < ran.err.index("Put back: new.txt")
    assert "Put back: new.txt" in undone and "Deleted by hand" not in undone


def test_a_file_changed_by_hand_is_named_where_it_is_left_behind(bench: Bench) -> None:
    told = "Changed by hand since, and left as they are: a.txt"
    worked(bench, "change 3\nchange 5\n", *edit(3, "LINE"), *edit(5, "LINE"))
    bench.write("a.txt", bench.read("a.txt") + "by hand\n")
    with ScriptedModel([Turn("On.")]) as server:
        out = run_here(bench, "nebula", "-c", stdin="/fork 2\n/undo\n/fork 1\n/restore 2\nexit\n", **server.env()).out
        there = node_of(bench, "change 3")
        ran = run_here(bench, "nebula", "-c", "-p", "go on", "--from", there, "--with-files", **server.env())
    assert out.count(told) == 2 and "as that turn left them" not in out  # the newest turn is where the files are
    assert ran.err.count(told) == 1 and bench.read("a.txt").endswith("by hand\n")


def test_what_changed_between_fork_and_restore_is_told(bench: Bench) -> None:
    worked(bench, "change 3\nchange 5\n", *edit(3, "LINE"), *edit(5, "LINE"))

    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("/fork 2")
        screen.wait("/restore puts it back.")
        screen.prompt(times=2)
        bench.write("a.txt", "by hand\n")
        screen.line("/restore")
        screen.wait("Changed by hand since, and left as they are: a.txt")
        screen.prompt(times=3)
        screen.send(CTRL_D)

    with ScriptedModel([]) as server:
        sit_down_here(bench, person, "-c", **server.env())
    assert bench.read("a.txt") == "by hand\n"


@pytest.mark.parametrize(("number", "left"), [(1, "LINE 3"), (2, "LINE 15")])
def test_history_takes_back_one_turns_part_of_a_file(bench: Bench, number: int, left: str) -> None:
    script = f"change 3\nchange 15\n/history a.txt\n/history a.txt {number}\n/history b.txt\n/history a.txt 9\n"
    out = worked(bench, script, *edit(3, "LINE"), *edit(15, "LINE"))
    listed = re.findall(r"^ +(\d)  [0-9a-f-]+  \d\d-\d\d \d\d:\d\d  \+1 −1  (change \d+)$", out, re.M)
    assert listed == [("1", "change 15"), ("2", "change 3")]
    gone = {"LINE 3", "LINE 15"} - {left}
    assert re.search(f"-{gone.pop()}\n.*Taken back: a.txt. /undo brings it back.", out, re.DOTALL)
    assert re.findall("LINE \\d+", bench.read("a.txt")) == [left]
    assert "No turn has changed b.txt." in out and "There is no number 9" in out


def test_taking_back_a_part_can_be_undone_and_never_touches_later_changes(bench: Bench) -> None:
    again = [{"old_text": "LINE 3\n", "new_text": "Line three\n"}]
    later = [Turn("", [Call("editFile", {"path": "a.txt", "edits": again})]), Turn("Again.")]
    out = worked(bench, "change 3\nagain\n/history a.txt 2\n/history a.txt 1\n/undo\n", *edit(3, "LINE"), *later)
    assert "a.txt: later changes touch the same lines; nothing was touched." in out
    assert "Taken back: a.txt. /undo brings it back." in out and "Line three\n" in bench.read("a.txt")


def test_a_file_that_a_turn_made_goes_with_its_part(bench: Bench) -> None:
    make = [Turn("", [Call("writeFile", {"path": "new.txt", "content": "x\n"})]), Turn("Made.")]
    worked(bench, "make\n/history new.txt 1\n", *make)
    assert not (bench.project / "new.txt").exists()


def test_headless_the_files_go_back_with_the_talk(bench: Bench) -> None:
    worked(bench, "change 3\nchange 5\n", *edit(3, "LINE"), *edit(5, "LINE"))
    nodes = run_here(bench, "vizprompt", "--data-dir", ".nebula/graph", "search", "--text", "change 3", "--json").json
    with ScriptedModel([Turn("Back."), Turn("never")]) as server:
        ran = run_here(bench, "nebula", "-p", "go on", "--from", nodes[0]["id"], "--with-files", **server.env())
        assert "LINE 3" in bench.read("a.txt") and "LINE 5" not in bench.read("a.txt")
        assert ran.err.index("-LINE 5") < ran.err.index("Put back: a.txt")
        bench.write("a.txt", "mine\n")
        ran = run_here(bench, "nebula", "-p", "go on", "--with-files", **server.env())
    assert ran.code == 64 and bench.read("a.txt") == "mine\n"


@each_row(
    ("base", "ours", "theirs", "both"),
    [
        ("a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\n", "A\nb\nc\nD\n"),
        ("a\nb\nc\n", "a\nX\nc\n", "a\nX\nc\n", "a\nX\nc\n"),
        ("a\nb\nc\n", "a\nX\nc\n", "a\nY\nc\n", None),
        ("a\nb\n", "a\nnew\nb\n", "a\nB\n", None),
        ("a\nb\nc\nd", "a\nb\nc\nd\ne\n", "b\nc\nd", "b\nc\nd\ne\n"),
        ("", "x\n", "", "x\n"),
    ],
)
def test_two_changes_meet_or_pass_each_other(base: str, ours: str, theirs: str, both: str | None) -> None:
    assert merged(base, ours, theirs) == both == merged(base, theirs, ours)


def git(bench: Bench, *args: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    return subprocess.check_output(["git", *who, *args], cwd=bench.project, text=True).strip()


@pytest.mark.parametrize(
    ("lang", "said"), [("en", "Commit {} still has it"), ("ja", "コミット {} にはまだ残っています")]
)
def test_undo_says_which_commit_still_has_what_was_taken_back(bench: Bench, lang: str, said: str) -> None:
    git(bench, "init", "-q")
    bench.write("a.txt", BASE)
    bench.write("sub/b [1].txt", "b\n")
    git(bench, "add", "-A")
    git(bench, "commit", "-q", "-m", "before")
    writes = [
        Call("writeFile", {"path": "new.txt", "content": "new\n"}),
        Call("runCommand", {"command": "rm 'sub/b [1].txt'; echo local > other.txt"}),
    ]
    with ScriptedModel([Turn("", writes), Turn("Done.")]) as server:
        run_here(bench, "nebula", "-p", "go", "--yes", **server.env())
        git(bench, "add", "new.txt", "sub")
        git(bench, "commit", "-q", "-m", "first")
        first = git(bench, "rev-parse", "--short", "HEAD")
        git(bench, "commit", "-q", "--allow-empty", "-m", "something else")
        out = run_here(bench, "nebula", "-c", stdin="/undo\nexit\n", **server.env(), NEBULA_LANG=lang).out
    (line,) = [each for each in out.splitlines() if said.format(first) in each]
    assert "new.txt" in line and "sub/b [1].txt" in line and "other.txt" not in line
    assert bench.read("sub/b [1].txt") == "b\n" and not (bench.project / "new.txt").exists()


def test_undo_says_nothing_of_commits_that_have_something_else(bench: Bench) -> None:
    git(bench, "init", "-q")
    bench.write("a.txt", BASE)
    git(bench, "add", "-A")
    git(bench, "commit", "-q", "-m", "before", "--date=2020-01-01T00:00:00Z")
    out = worked(bench, "change 3\n!git status\n/undo\n", *edit(3, "LINE"))
    assert "Taken back: a.txt" in out and "still has it" not in out


def test_undo_of_a_turn_that_went_back_to_an_old_commit_says_nothing_of_it(bench: Bench) -> None:
    git(bench, "init", "-q")
    bench.write("a.txt", "committed\n")
    git(bench, "add", "-A")
    env = {**os.environ, "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"}
    subprocess.run(
        ["git", "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "old"], cwd=bench.project, env=env
    )
    bench.write("a.txt", "mine\n")
    calls = [Call("runCommand", {"command": "echo committed > a.txt"})]
    with ScriptedModel([Turn("", calls), Turn("Done.")]) as server:
        out = run_here(bench, "nebula", "--yes", stdin="go\n/undo\nexit\n", **server.env()).out
    assert bench.read("a.txt") == "mine\n" and "still has it" not in out
