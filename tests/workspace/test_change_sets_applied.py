"""A set of changes is applied as a whole, and undo gives back exactly the bytes, modes and links that were there."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from failing_disk import Dying, Failing
from file_history_rig import path_change, redo, restore, undo
from nebula.value import replace
from nebula.workspace import LocalWorkspace, open_workspace
from nebula.workspace.contract import PathChange
from nebula.workspace.errors import ProtectedPath, SecretPath, Stale, WorkspaceError
from nebula.workspace.file_history import states_after
from nebula.workspace.guard.judge import Policy

Tree = dict[str, tuple[str, int, bytes]]
"""Path → kind, mode, content or target."""

NAMES = st.sampled_from(["a", "b", "c.txt", "日本"])
MODES = st.sampled_from([0o644, 0o755, 0o600, 0o444])
FILES = st.tuples(st.just("file"), MODES, st.binary(max_size=40))
LINKS = st.tuples(st.just("link"), st.just(0), st.sampled_from([b"a", b"../out", b"/etc/passwd", b"b/c.txt"]))
EMPTY = st.tuples(st.just("folder"), st.sampled_from([0o755, 0o700]), st.just(b""))


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    tree: Tree = {}
    for parts in draw(st.lists(st.lists(NAMES, min_size=1, max_size=3), max_size=8)):
        for depth in range(1, len(parts)):
            above = tree.setdefault("/".join(parts[:depth]), ("folder", 0o755, b""))
            if above[0] != "folder":
                break
        else:
            tree.setdefault("/".join(parts), draw(st.one_of(FILES, LINKS, EMPTY)))
    return tree


def write_tree(root: Path, tree: Tree) -> None:
    root.mkdir()
    for path, (kind, mode, content) in sorted(tree.items()):
        place = root / path
        if kind == "folder":
            place.mkdir()
        elif kind == "link":
            place.symlink_to(os.fsdecode(content))
        else:
            place.write_bytes(content)
        if kind != "link":
            place.chmod(mode)


def read_tree(root: Path) -> Tree:
    tree: Tree = {}
    for folder, folders, files in os.walk(root):
        if ".nebula" in folders:
            folders.remove(".nebula")
        for name in (*folders, *files):
            place = Path(folder, name)
            status = place.lstat()
            path = str(place.relative_to(root))
            if stat.S_ISLNK(status.st_mode):
                tree[path] = ("link", 0, os.fsencode(os.readlink(place)))
            elif stat.S_ISDIR(status.st_mode):
                tree[path] = ("folder", stat.S_IMODE(status.st_mode), b"")
            else:
                tree[path] = ("file", stat.S_IMODE(status.st_mode), place.read_bytes())
    return tree


def changes_between(old: Tree, new: Tree) -> list[PathChange]:
    changes = []
    for path in sorted({*old, *new}):
        if old.get(path) != new.get(path):
            kind, mode, content = new.get(path, (None, 0, b""))
            changes.append(path_change(path, kind, mode, content))  # type: ignore[arg-type]
    return changes


def applied(root: Path, changes: list[PathChange], **options: Any) -> LocalWorkspace:
    workspace = open_workspace(str(root), **options).for_turn("turn-1")
    done = workspace.apply_changes(changes)
    assert done.left_out == ()
    return workspace


class TestASetOfChanges:
    @given(old=trees(), new=trees())
    def test_is_applied_undone_and_redone_exactly(
        self, old: Tree, new: Tree, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        root = tmp_path_factory.mktemp("set") / "app"
        write_tree(root, old)
        changes = changes_between(old, new)
        with applied(root, changes) as workspace:
            assert read_tree(root) == new
            if changes:
                undo(workspace.history)
                assert read_tree(root) == old
                redo(workspace.history)
                assert read_tree(root) == new
                undo(workspace.history)
                assert read_tree(root) == old

    @given(old=trees(), middle=trees(), new=trees())
    @example(old={"a": ("file", 0o755, b"")}, middle={"a": ("file", 0o755, b"1")}, new={"a": ("file", 0o644, b"")})
    def test_the_state_after_an_earlier_one_comes_back(
        self, old: Tree, middle: Tree, new: Tree, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """As /fork does it: the journal says what stood where when the first turn had ended."""
        root = tmp_path_factory.mktemp("fork") / "app"
        write_tree(root, old)
        with open_workspace(str(root)) as workspace:
            workspace.for_turn("turn-1").apply_changes(changes_between(old, middle))
            workspace.for_turn("turn-2").apply_changes(changes_between(middle, new))
            assert read_tree(root) == new
            history = workspace.history
            state = states_after(history.changes(), len(history.changes("turn-1")))
            restore(history, state, "restored")
            assert read_tree(root) == middle
            if state and middle != new:
                undo(history, "restored")
                assert read_tree(root) == new

    def test_leaves_out_what_the_policy_refuses_and_what_changed(self, tmp_path: Path) -> None:
        root = tmp_path / "app"
        write_tree(root, {"own.txt": ("file", 0o644, b"mine")})
        changes = [
            path_change(".env", "file", content=b"KEY=1"),
            path_change(".git/hooks/pre-commit", "file", content=b"#!"),
            path_change("own.txt", "file", content=b"theirs", still_there=lambda: False),
            path_change("new.txt", "file", content=b"new"),
        ]
        with open_workspace(str(root)).for_turn("turn-1") as workspace:
            done = workspace.apply_changes(changes)
        assert {path: type(error) for path, error in done.left_out} == {
            ".env": SecretPath,
            ".git/hooks/pre-commit": ProtectedPath,
            "own.txt": Stale,
        }
        assert read_tree(root) == {"own.txt": ("file", 0o644, b"mine"), "new.txt": ("file", 0o644, b"new")}

    def test_keeps_what_git_ignores_beside_it_out_of_the_journal(self, tmp_path: Path) -> None:
        root = tmp_path / "app"
        write_tree(root, {"old.o": ("file", 0o644, b"o")})
        ignored = [
            path_change("old.o", None),
            path_change("build", "folder", 0o755),
            path_change("build/x", "file", 0o755, content=b"x"),
            path_change("build/l", "link", content=b"x"),
        ]
        with open_workspace(str(root)).for_turn("turn-1") as workspace:
            assert workspace.apply_changes([], ignored).ignored == 4
            assert workspace.history.changes() == []
        expected = {
            "build": ("folder", 0o755, b""),
            "build/x": ("file", 0o755, b"x"),
            "build/l": ("link", 0, b"x"),
        }
        assert read_tree(root) == expected


OLD: Mapping[str, tuple[str, int, bytes]] = {
    "a": ("folder", 0o755, b""),
    "a/gone.py": ("file", 0o755, b"old 1"),
    "kept.py": ("file", 0o644, b"old 2"),
    "l": ("link", 0, b"kept.py"),
    "swapped": ("file", 0o644, b"file"),
}
NEW: Mapping[str, tuple[str, int, bytes]] = {
    "b": ("folder", 0o755, b""),
    "b/moved.py": ("file", 0o755, b"old 1"),
    "kept.py": ("file", 0o755, b"new 2"),
    "l": ("link", 0, b"b"),
    "swapped": ("folder", 0o755, b""),
    "swapped/x": ("file", 0o644, b"x"),
}


BESIDE_OLD: Mapping[str, tuple[str, int, bytes]] = {
    ".git": ("folder", 0o755, b""),
    ".git/index": ("file", 0o644, b"index 1"),
    ".git/gone": ("file", 0o644, b"gone"),
    "build": ("folder", 0o755, b""),
    "build/old": ("folder", 0o755, b""),
    "build/old/x.o": ("file", 0o644, b"x 1"),
    "build/swapped": ("link", 0, b"x.o"),
}
BESIDE_NEW: Mapping[str, tuple[str, int, bytes]] = {
    ".git": ("folder", 0o755, b""),
    ".git/objects": ("folder", 0o755, b""),
    ".git/objects/1": ("file", 0o444, b"object"),
    ".git/index": ("file", 0o644, b"index 2"),
    "build": ("folder", 0o755, b""),
    "build/swapped": ("folder", 0o755, b""),
    "build/swapped/y.o": ("file", 0o600, b"y"),
    "build/old": ("file", 0o644, b"no folder any more"),
}
BEFORE, AFTER = {**OLD, **BESIDE_OLD}, {**NEW, **BESIDE_NEW}


def apply_all(root: Path, **options: Any) -> LocalWorkspace:
    """Apply the set with what git ignores and what is git's own."""
    beside = changes_between(dict(BESIDE_OLD), dict(BESIDE_NEW))
    workspace = open_workspace(str(root), Policy(allowed=frozenset({".git"})), **options).for_turn("turn-1")
    done = workspace.apply_changes(
        changes_between(dict(OLD), dict(NEW)),
        [change for change in beside if change.path.startswith("build")],
        [change for change in beside if change.path.startswith(".git")],
    )
    assert done.left_out == ()
    assert done.ignored == len(beside)
    return workspace


def journal_objects(root: Path) -> set[str]:
    return {path.name for path in (root / ".nebula/journal/objects").rglob("*") if path.is_file()}


def litter(root: Path) -> list[str]:
    left = [str(path) for path in root.rglob(".nebula-tmp-*")]
    return left + [str(path) for path in (root / ".nebula/journal/beside").glob("*")]


class TestADiskThatFails:
    def test_nothing_of_the_set_stays_and_it_is_told(self, tmp_path: Path) -> None:
        for calls in range(300):
            root = tmp_path / str(calls)
            write_tree(root, BEFORE)
            with open_workspace(str(root)) as made:
                made.history.changes()
            failing = Failing(calls)
            try:
                apply_all(root, calls=failing).close()
            except WorkspaceError as error:
                assert error.status >= 500, calls
                assert read_tree(root) == BEFORE, calls
                assert journal_objects(root) == set(), calls
                assert litter(root) == [], calls
                with open_workspace(str(root)) as workspace:
                    assert workspace.history.changes("turn-1") == []
                    assert workspace.take_back_half_applied() is None
            else:
                assert failing.left >= 0
                assert read_tree(root) == AFTER
                assert litter(root) == []
                break
        assert calls > 30

    def test_a_plan_that_came_with_the_project_moves_nothing(self, tmp_path: Path) -> None:
        root = tmp_path / "app"
        write_tree(root, {"a.txt": ("file", 0o644, b"mine")})
        slots = root / ".nebula/journal/beside"
        slots.mkdir(parents=True)
        (slots / "0.old").write_bytes(b"#!/bin/sh\n")
        row = [0, ".git-hook", "remove", 0, (slots / "0.old").stat().st_ino, None]
        (slots / "plan.jsonl").write_text(json.dumps({"home": 1}) + "\n" + json.dumps(row) + "\n", "utf-8")
        (slots.parent / "applying.json").write_text('{"start": 0, "group": "x"}', "utf-8")
        with open_workspace(str(root)) as workspace:
            workspace.take_back_half_applied()
        assert read_tree(root) == {"a.txt": ("file", 0o644, b"mine")}
        assert litter(root) == []

    def test_a_repository_that_changed_meanwhile_is_left_as_it_is_whole(self, tmp_path: Path) -> None:
        root = tmp_path / "app"
        write_tree(root, dict(BESIDE_OLD))
        beside = changes_between(dict(BESIDE_OLD), dict(BESIDE_NEW))
        git = [change for change in beside if change.path.startswith(".git")]
        git[0] = replace(git[0], still_there=lambda: False)
        with open_workspace(str(root), Policy(allowed=frozenset({".git"}))).for_turn("turn-1") as workspace:
            done = workspace.apply_changes([], (), git)
        assert [type(error) for _, error in done.left_out] == [Stale]
        assert read_tree(root) == BESIDE_OLD


@pytest.mark.slow
class TestKilledWhileApplying:
    def test_repository_and_ignored_files_are_taken_back_with_the_set(self, memory_path: Path) -> None:
        halves = 0
        for calls in range(0, 400, 3):
            root = memory_path / str(calls)
            write_tree(root, BEFORE)
            with open_workspace(str(root)) as made:
                made.history.changes()
            pid = os.fork()
            if pid == 0:
                apply_all(root, calls=Dying(calls))
                os._exit(0)
            killed = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
            found = read_tree(root)
            with open_workspace(str(root)) as workspace:
                taken = workspace.take_back_half_applied()
                assert read_tree(root) == (AFTER if not killed or (taken is None and found == AFTER) else BEFORE), calls
                if taken is not None:
                    halves += 1
                    assert taken.left == ()
                    assert found[".git/index"] == BEFORE[".git/index"] or ".git" in taken.paths
            assert litter(root) == [], calls
            if not killed:
                break
        assert halves > 20
        assert not killed

    def test_the_next_start_takes_back_what_was_half_applied(self, memory_path: Path) -> None:
        halves = 0
        for calls in range(0, 200, 3):
            root = memory_path / str(calls)
            write_tree(root, dict(OLD))
            with open_workspace(str(root)) as made:
                made.history.changes()  # the journal is there before the clock runs
            pid = os.fork()
            if pid == 0:
                applied(root, changes_between(dict(OLD), dict(NEW)), calls=Dying(calls))
                os._exit(0)
            killed = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
            found = read_tree(root)
            with open_workspace(str(root)) as workspace:
                taken = workspace.take_back_half_applied()
                assert read_tree(root) == (NEW if not killed or (taken is None and found == NEW) else OLD), calls
                assert workspace.take_back_half_applied() is None
                if taken is not None and taken.paths:
                    halves += 1
                    assert taken.left == ()
                    assert [each for each in workspace.history.changes("turn-1") if each.kind == "write"] == []
            if not killed:
                break
        assert halves > 5
        assert not killed

    @pytest.mark.parametrize("way", ["undo", "redo"])
    def test_undo_and_redo_are_whole_as_well(self, memory_path: Path, way: str) -> None:
        start, end = (dict(NEW), dict(OLD)) if way == "undo" else (dict(OLD), dict(NEW))
        halves = 0
        for calls in range(0, 200, 3):
            root = memory_path / str(calls)
            write_tree(root, dict(OLD))
            with applied(root, changes_between(dict(OLD), dict(NEW))) as workspace:
                if way == "redo":
                    undo(workspace.history)
            pid = os.fork()
            if pid == 0:
                (undo if way == "undo" else redo)(open_workspace(str(root), calls=Dying(calls)).history)
                os._exit(0)
            killed = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
            found = read_tree(root)
            with open_workspace(str(root)) as workspace:
                taken = workspace.take_back_half_applied()
                assert read_tree(root) == (end if not killed or (taken is None and found == end) else start), calls
                halves += taken is not None and taken.paths != () and taken.left == ()
                if taken is not None:
                    (undo if way == "undo" else redo)(workspace.history)
                    assert read_tree(root) == end
            if not killed:
                break
        assert halves > 5
        assert not killed
