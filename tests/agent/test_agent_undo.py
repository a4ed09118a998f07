"""Undo, redo and going back, on a real workspace."""

import time
from datetime import datetime

import pytest

from nebula.agent.recording.node_files import FileTexts, changed_by, texts_by_turn
from nebula.agent.undo import (
    NoJournalHere,
    NothingToUndo,
    UndoRefused,
    carry_out,
    propose,
    redo_plan,
    restore_plan,
    undo_plan,
)
from nebula.files.digest import digest
from nebula.graph.values import FileState, Node
from nebula.workspace import Policy, open_workspace


def undo(workspace):
    return carry_out(workspace, undo_plan(workspace))


def redo(workspace):
    return carry_out(workspace, redo_plan(workspace))


@pytest.fixture
def workspace(tmp_path):
    with open_workspace(str(tmp_path), Policy()) as opened:
        yield opened


def change(workspace, turn, path, content):
    """One turn's write, and the file as its node would record it."""
    written = workspace.for_turn(turn).write_file(path, content, "overwrite")
    return Node(turn, "2026-01-01T00:00:00+00:00", files=(FileState(path, written.before or "", written.after),))


def test_back_and_forth_over_two_turns(workspace, tmp_path):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    change(workspace, "one", "mine.txt", "first")
    change(workspace, "two", "mine.txt", "second")
    change(workspace, "two", "new/made.txt", "x")
    assert undo(workspace) == ("mine.txt", "new/made.txt")
    assert (tmp_path / "mine.txt").read_text(encoding="utf-8") == "first"
    assert not (tmp_path / "new").exists()
    assert undo(workspace) == ("mine.txt",)
    assert (tmp_path / "mine.txt").read_text(encoding="utf-8") == "mine"
    with pytest.raises(NothingToUndo):
        undo(workspace)
    redo(workspace)
    redo(workspace)
    assert (tmp_path / "new/made.txt").read_text(encoding="utf-8") == "x"
    with pytest.raises(NothingToUndo):
        redo(workspace)


def test_one_changed_file_keeps_the_whole_turn(workspace, tmp_path):
    change(workspace, "one", "a.txt", "a")
    change(workspace, "one", "b.txt", "b")
    (tmp_path / "b.txt").write_text("by hand", encoding="utf-8")
    with pytest.raises(UndoRefused, match=r"b\.txt"):
        undo(workspace)
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "a"
    assert (tmp_path / "b.txt").read_text(encoding="utf-8") == "by hand"


def test_the_difference_of_a_turn_is_from_its_first_to_its_last_content(workspace):
    change(workspace, "one", "a.txt", "old\n")
    change(workspace, "two", "a.txt", "between\n")
    change(workspace, "two", "a.txt", "new\n")
    change(workspace, "two", "b.txt", "same\n")
    (first, second) = (each.diff for each in changed_by(workspace, "two"))
    assert (first.added, first.removed, second.added) == (1, 1, 1)
    assert "between" not in first.text
    assert changed_by(workspace, "nobody") == []


def test_going_back_leaves_alone_what_somebody_else_changed(workspace, tmp_path):
    kept = change(workspace, "one", "a.txt", "one")
    change(workspace, "two", "a.txt", "two")
    change(workspace, "two", "b.txt", "b")
    plan = restore_plan(workspace, kept)
    assert [step.path for step in plan.steps] == ["a.txt", "b.txt"]
    (tmp_path / "b.txt").write_text("by hand", encoding="utf-8")
    plan = restore_plan(workspace, kept)
    assert carry_out(workspace, plan) == ("a.txt",)
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "one"
    assert (tmp_path / "b.txt").read_text(encoding="utf-8") == "by hand"
    assert undo(workspace) == ("a.txt",), "the restore itself is recorded"
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "two"


def test_going_back_keeps_what_another_conversation_made_before(workspace, tmp_path):
    change(workspace, "other", "other.txt", "o")
    kept = change(workspace, "one", "a.txt", "one")
    change(workspace, "two", "other.txt", "o2")
    assert sorted(carry_out(workspace, restore_plan(workspace, kept))) == ["other.txt"]
    assert (tmp_path / "other.txt").read_text(encoding="utf-8") == "o"
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "one"


def test_a_turn_that_wrote_nothing_stands_where_its_time_puts_it(workspace, tmp_path):
    change(workspace, "one", "a.txt", "one")
    talk = Node("talk", datetime.now().astimezone().isoformat())
    time.sleep(0.01)
    change(workspace, "two", "a.txt", "two")
    carry_out(workspace, restore_plan(workspace, talk))
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "one"


def test_files_of_another_machine_have_no_journal_here(tmp_path):
    with open_workspace(str(tmp_path), Policy(), read_only=True) as reader, pytest.raises(NoJournalHere):
        undo(reader)


def test_the_difference_of_a_turn_names_modes_links_and_folders(tmp_path):
    from file_history_rig import path_change

    (tmp_path / "run.sh").write_text("x\n")
    (tmp_path / "run.sh").chmod(0o644)
    changes = [
        path_change("run.sh", "file", 0o755, content=b"x\n"),
        path_change("l", "link", content=b"run.sh"),
        path_change("d", "folder", 0o755),
        path_change("new.sh", "file", 0o755, content=b"x\n"),
        path_change("latin.txt", "file", 0o644, content=b"\xf6\n"),
    ]
    (tmp_path / "latin.txt").write_bytes(b"\xe4\n")
    (tmp_path / "latin.txt").chmod(0o644)
    with open_workspace(str(tmp_path)).for_turn("turn-1") as workspace:
        workspace.apply_changes(changes)
        found = {each.path: each.diff.text.partition("\n")[0] for each in changed_by(workspace, "turn-1")}
    assert found.pop("latin.txt").startswith("binary: 2 bytes, sha256 ")
    notes = {"run.sh": "mode 644 → 755", "l": "nothing → link", "d": "nothing → folder", "new.sh": "mode 755"}
    assert found == notes


def test_the_texts_of_a_turn_are_whole_or_none(workspace, tmp_path):
    (tmp_path / "image.png").write_bytes(b"\x89PNG\0\xff")
    change(workspace, "one", "a.txt", "first")
    change(workspace, "two", "a.txt", "second")
    change(workspace, "two", "a.txt", "third")
    change(workspace, "two", "image.png", "text now")
    change(workspace, "three", "b.txt", "not asked for")
    assert texts_by_turn(workspace, ["one", "two"]) == {
        "one": [FileTexts("a.txt", None, "first")],
        "two": [FileTexts("a.txt", "first", "third"), FileTexts("image.png", None, None)],
    }


@pytest.mark.parametrize(
    ("before", "after", "is_write"),
    [
        ("", "{a}", True),
        ("", "{a}:644", True),
        ("", "{a}:755", False),
        ("{a}", "{b}", True),
        ("{a}:755", "{b}:755", True),
        ("{a}:644", "{b}:755", False),
        ("{a}:755", "{b}:644", False),
        ("{a}", "{b}:644", True),
        ("{a}", "{b}:755", False),
        ("{a}", "", False),
        ("link:{a}", "{b}", False),
        ("{a}", "link:{b}", False),
        ("", "folder:755", False),
        ("{a}", "{nothing}", False),
        ("{nothing}", "{a}", True),
        ("", "{nothing}", True),
    ],
)
def test_a_change_is_a_write_only_if_it_gives_a_file_its_text_alone(workspace, before, after, is_write):
    """What a delegate did is asked about under a yes to files of a kind unless it was that."""
    kept = {"a": b"a", "b": b"b", "nothing": b""}
    for content in kept.values():
        workspace.keep_content(content)
    names = {name: digest(content) for name, content in kept.items()}
    states = (each.format(**names) or None for each in (before, after))
    assert propose(workspace.history, "a.md", *states).is_write is is_write
