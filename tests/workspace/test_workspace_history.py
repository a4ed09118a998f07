"""Undo, redo and restore: planned, shown, bound to what was shown, and recorded."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from file_history_rig import redo, restore, undo
from nebula.files.digest import digest
from nebula.workspace import LocalWorkspace
from nebula.workspace.errors import NotKept, Stale
from nebula.workspace.file_history import _Timeline
from nebula.workspace.journal.changes import CHANGES_FILE, TurnMark

Open = Callable[..., LocalWorkspace]
See = Callable[[], dict[str, bytes | None]]


@pytest.fixture
def two_turns(workspace: LocalWorkspace, root: Path) -> LocalWorkspace:
    (root / "kept.txt").write_text("user's\n")
    first, second = workspace.for_turn("first"), workspace.for_turn("second")
    first.write_file("new/made.txt", "one\n")
    first.write_file("kept.txt", "agent's\n", "overwrite")
    second.write_file("kept.txt", "more\n", "append")
    second.write_file("kept.txt", "and more\n", "append")
    return workspace


def test_undo_goes_back_turn_by_turn_and_redo_returns(two_turns: LocalWorkspace, see: See) -> None:
    end = see()
    history = two_turns.history
    undo(history)
    assert see()["kept.txt"] == b"agent's\n"
    undo(history)
    assert see() == {"kept.txt": b"user's\n"}
    with pytest.raises(NotKept, match="nothing to undo"):
        undo(history)
    redo(history)
    redo(history)
    assert see() == end
    with pytest.raises(NotKept, match="nothing to redo"):
        redo(history)


def test_preview_touches_nothing(two_turns: LocalWorkspace, see: See) -> None:
    before = see()
    plan = two_turns.history.plan_undo("first")
    assert [(step.path, step.after) for step in plan.steps] == [
        ("kept.txt", digest(b"user's\n")),
        ("new/made.txt", None),
    ]
    assert [step.path for step in plan.conflicts] == ["kept.txt"]  # the second turn changed it after the first
    assert see() == before


def test_changed_since_is_said_and_nothing_touched(two_turns: LocalWorkspace, root: Path, see: See) -> None:
    undo(two_turns.history, "second")
    (root / "kept.txt").write_text("edited by hand\n")
    before = see()
    with pytest.raises(Stale, match="changed since"):
        undo(two_turns.history, "first")
    assert see() == before


def test_changed_between_preview_and_apply(two_turns: LocalWorkspace, root: Path, see: See) -> None:
    plan = two_turns.history.plan_undo()
    (root / "kept.txt").write_text("edited by hand\n")
    before = see()
    with pytest.raises(Stale):
        two_turns.history.apply(plan)
    assert see() == before


def test_all_files_are_looked_at_before_the_first_is_touched(workspace: LocalWorkspace, root: Path, see: See) -> None:
    turn = workspace.for_turn("turn")
    for name in ("a.txt", "b.txt", "c.txt"):
        turn.write_file(name, "agent's\n")
    plan = workspace.history.plan_undo()
    (root / "b.txt").write_text("edited by hand\n")
    before, files = see(), [(root / name).stat() for name in ("a.txt", "c.txt")]
    with pytest.raises(Stale, match=r"nothing was touched\. Look at it and try again"):
        workspace.history.apply(plan)
    assert see() == before
    now = [(root / name).stat() for name in ("a.txt", "c.txt")]
    assert [(each.st_ino, each.st_ctime_ns) for each in now] == [(each.st_ino, each.st_ctime_ns) for each in files]
    assert [each.kind for each in workspace.history.changes("turn")] == ["write"] * 3


@pytest.mark.slow
def test_a_long_history_is_read_in_a_time_that_grows_with_it(two_turns: LocalWorkspace, root: Path) -> None:
    row = {"kind": "write", "path": "kept.txt", "before": None, "after": None}
    rows = [json.dumps({**row, "group": f"turn-{number}"}) for number in range(40_000)]
    with (root / ".nebula/journal" / CHANGES_FILE).open("a", encoding="utf-8") as file:
        file.write("\n".join(rows) + "\n")
    began = time.process_time()
    two_turns.history.plan_undo("first")
    assert time.process_time() - began < 4


@pytest.mark.slow
def test_a_long_history_is_replayed_in_linear_time() -> None:
    timeline = _Timeline()
    started = time.thread_time()
    for number in range(40_000):
        timeline.replay(TurnMark(str(number), undone=False))
    for number in reversed(range(40_000)):
        timeline.replay(TurnMark(str(number), undone=True))
    assert time.thread_time() - started < 2 and len(timeline.undone) == 40_000 and not timeline.done


def test_a_copied_project_says_once_whose_history_it_has(
    two_turns: LocalWorkspace, root: Path, tmp_path: Path, open_at: Open
) -> None:
    shutil.copytree(root, tmp_path / "copy")
    copy = open_at(at=tmp_path / "copy")
    for sentence in ("made in another folder", "There is nothing to undo."):
        with pytest.raises(NotKept, match=sentence):
            undo(copy.history)
    assert two_turns.history.plan_undo().group == "second"


def test_a_huge_object_of_the_journal_is_not_read(two_turns: LocalWorkspace, root: Path) -> None:
    name = digest(b"agent's\n")
    kept = root / ".nebula/journal/objects" / name[:2] / name[2:]
    os.truncate(kept, 6 * 2**30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # whatever other tests of this process took
    with pytest.raises(Stale, match="not kept"):
        undo(two_turns.history)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**20  # KiB


def test_deleted_by_the_user_is_a_change_too(two_turns: LocalWorkspace, root: Path) -> None:
    (root / "kept.txt").unlink()
    with pytest.raises(Stale):
        undo(two_turns.history)
    assert not (root / "kept.txt").exists()


def test_writing_after_undo_ends_redo(two_turns: LocalWorkspace) -> None:
    undo(two_turns.history)
    two_turns.for_turn("third").write_file("other.txt", "x")
    with pytest.raises(NotKept):
        redo(two_turns.history)


def test_undo_removes_folders_it_made_but_not_what_others_put_there(
    two_turns: LocalWorkspace, root: Path, see: See
) -> None:
    (root / "new/by-user.txt").write_text("mine")
    undo(two_turns.history, "second")
    undo(two_turns.history, "first")
    assert see() == {"kept.txt": b"user's\n", "new": None, "new/by-user.txt": b"mine"}


def test_undo_is_recorded(two_turns: LocalWorkspace) -> None:
    undo(two_turns.history)
    kinds = [(change.group, change.kind) for change in two_turns.history.changes()]
    assert kinds[-1] == ("second", "undo")
    assert [change.path for change in two_turns.history.changes("first")] == ["new/made.txt", "kept.txt"]


def test_another_process_can_undo(two_turns: LocalWorkspace, open_at: Open, see: See) -> None:
    two_turns.close()
    undo(open_at().history)
    assert see()["kept.txt"] == b"agent's\n"


class TestRestore:
    def test_files_as_a_node_left_them(self, two_turns: LocalWorkspace, root: Path, see: See) -> None:
        node = {"kept.txt": digest(b"agent's\n"), "new/made.txt": digest(b"one\n")}
        two_turns.for_turn("third").write_file("new/made.txt", "two\n", "overwrite")
        (root / "kept.txt").write_text("edited by hand\n")
        restore(two_turns.history, node, "restore-1")
        assert see() == {"kept.txt": b"agent's\n", "new": None, "new/made.txt": b"one\n"}
        undo(two_turns.history, "restore-1")
        assert see()["kept.txt"] == b"edited by hand\n"

    def test_to_before_a_file_was_made(self, two_turns: LocalWorkspace, see: See) -> None:
        restore(two_turns.history, {"new/made.txt": None}, "restore-1")
        assert "new/made.txt" not in see()
        undo(two_turns.history)
        assert see()["new/made.txt"] == b"one\n"

    def test_never_removes_what_the_agent_did_not_make(self, two_turns: LocalWorkspace, root: Path, see: See) -> None:
        (root / "mine.txt").write_text("mine")
        (root / "new/made.txt").write_text("agent's file, edited by hand")
        before = see()
        for state in ({"mine.txt": None}, {"kept.txt": None}, {"new/made.txt": None}):
            plan = two_turns.history.plan_restore(state, "r")
            assert plan.conflicts
            with pytest.raises(Stale):
                two_turns.history.apply(plan)
        assert see() == before

    def test_content_that_was_not_kept(self, two_turns: LocalWorkspace, see: See) -> None:
        before = see()
        with pytest.raises(Stale, match="not kept"):
            restore(two_turns.history, {"kept.txt": "0" * 64, "new/made.txt": None}, "r")
        assert see() == before

    @pytest.mark.parametrize("path", [".git/hooks/pre-commit", ".nebula/config.json", "../out.txt", "link.txt"])
    def test_goes_nowhere_a_write_could_not(self, path: str, two_turns: LocalWorkspace, root: Path) -> None:
        (root / "link.txt").symlink_to("kept.txt")
        with pytest.raises(Stale):
            restore(two_turns.history, {path: digest(b"one\n")}, "r")
        assert not (root.parent / "out.txt").exists()
        assert (root / "link.txt").is_symlink()


class TestJournal:
    def test_torn_last_line_reads_as_absent(
        self, two_turns: LocalWorkspace, root: Path, open_at: Open, see: See
    ) -> None:
        journal = root / ".nebula/journal" / CHANGES_FILE
        whole = journal.read_bytes()
        journal.write_bytes(whole + b'{"seq": 99, "kind": "wri')
        again = open_at()
        assert len(again.history.changes()) == 4
        again.for_turn("third").write_file("x.txt", "x")
        assert [change.path for change in again.history.changes("third")] == ["x.txt"]
        undo(again.history)
        assert "x.txt" not in see()

    def test_damaged_content_is_not_restored(self, two_turns: LocalWorkspace, root: Path, see: See) -> None:
        name = digest(b"agent's\n")
        (root / ".nebula/journal/objects" / name[:2] / name[2:]).write_bytes(b"damaged\n")
        before = see()
        with pytest.raises(Stale, match="not kept"):
            undo(two_turns.history)
        assert see() == before

    def test_one_that_came_with_the_project_is_set_aside(self, root: Path, open_at: Open, see: See) -> None:
        folder = root / ".nebula/journal"
        evil = digest(b"evil\n")
        (folder / "objects" / evil[:2]).mkdir(parents=True)
        (folder / "objects" / evil[:2] / evil[2:]).write_bytes(b"evil\n")
        (root / "run.sh").write_text("good\n")
        record = {"kind": "write", "group": "g", "path": "run.sh", "before": evil, "after": digest(b"good\n")}
        (folder / CHANGES_FILE).write_text(f'{{"kind": "header", "home": 1}}\n{json.dumps(record)}\n')
        workspace = open_at()
        with pytest.raises(NotKept):
            undo(workspace.history)
        assert see() == {"run.sh": b"good\n"}
        workspace.for_turn("mine").write_file("run.sh", "better\n", "overwrite")
        undo(workspace.history)
        assert see() == {"run.sh": b"good\n"}

    def test_same_content_is_kept_once(self, workspace: LocalWorkspace, root: Path) -> None:
        for number in range(5):
            workspace.write_file(f"{number}.txt", "same")
        objects = [path for path in (root / ".nebula/journal/objects").rglob("*") if path.is_file()]
        assert len(objects) == 1

    def test_git_is_left_alone(self, root: Path, workspace: LocalWorkspace) -> None:
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        before = sorted(path for path in (root / ".git").rglob("*"))
        workspace.for_turn("t").write_file("a.txt", "x")
        undo(workspace.history)
        assert sorted(path for path in (root / ".git").rglob("*")) == before

    def test_cost_of_a_write_does_not_grow(self, workspace: LocalWorkspace, root: Path) -> None:
        """Counted, not timed: the bytes read for a write are the same after many writes as after few."""
        workspace.write_file("a.txt", "x")

        def bytes_read() -> int:
            before = _read_so_far()
            workspace.write_file("a.txt", "y", "overwrite")
            workspace.write_file("a.txt", "x", "overwrite")
            return _read_so_far() - before

        bytes_read()
        few = bytes_read()
        for number in range(60):
            workspace.write_file(f"{number}.txt", "x")
        assert bytes_read() <= few + 200


def _read_so_far() -> int:
    if not os.path.exists("/proc/self/io"):
        pytest.skip("this system does not count reads")
    return int(Path("/proc/self/io").read_text(encoding="utf-8").split()[1])
