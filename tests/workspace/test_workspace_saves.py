"""Somebody saves a file in the very moment in which we replace or remove it: the save wins, and nothing is lost."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from file_history_rig import redo, undo
from nebula.files.digest import digest
from nebula.files.syscalls import Syscalls
from nebula.workspace import LocalWorkspace
from nebula.workspace.errors import Stale

Open = Callable[..., LocalWorkspace]
Litter = Callable[[], list[str]]
Save = Callable[[Path, str], None]


def in_place(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def by_rename(path: Path, text: str) -> None:
    beside = path.with_name(path.name + ".new")
    beside.write_text(text)
    beside.rename(path)


class SavedJustBefore(Syscalls):
    """Somebody is faster by a hair: something happens right before the names are exchanged, or a file taken away."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def exchange(self, name: str, dir_fd: int, other: str, other_dir_fd: int) -> None:
        if self.waiting:
            self.waiting.pop(0)()
        super().exchange(name, dir_fd, other, other_dir_fd)

    def rename(self, name: str, dir_fd: int, new_name: str, new_dir_fd: int) -> None:
        if self.waiting and not name.startswith("."):
            self.waiting.pop(0)()
        super().rename(name, dir_fd, new_name, new_dir_fd)


class AnotherStarts(Syscalls):
    """Another program starts, and sweeps, in the very moment in which a file has come into our hands."""

    def __init__(self, start: Callable[[], object]) -> None:
        self.start = start

    def exchange(self, name: str, dir_fd: int, other: str, other_dir_fd: int) -> None:
        super().exchange(name, dir_fd, other, other_dir_fd)
        self.start()

    def rename(self, name: str, dir_fd: int, new_name: str, new_dir_fd: int) -> None:
        super().rename(name, dir_fd, new_name, new_dir_fd)
        self.start()


@pytest.fixture
def calls() -> SavedJustBefore:
    return SavedJustBefore()


@pytest.fixture
def workspace(open_at: Open, calls: SavedJustBefore, root: Path) -> LocalWorkspace:
    (root / "a.txt").write_text("seen\n")
    return open_at(calls=calls).for_turn("turn")


@pytest.mark.parametrize("save", [in_place, by_rename])
def test_a_save_before_the_exchange_stays(
    save: Save, workspace: LocalWorkspace, calls: SavedJustBefore, root: Path, litter: Litter
) -> None:
    calls.waiting = [lambda: save(root / "a.txt", "saved\n")]
    with pytest.raises(Stale):
        workspace.write_file("a.txt", "ours\n", "overwrite", expected=digest(b"seen\n"))
    assert (root / "a.txt").read_text() == "saved\n"
    assert workspace.history.content(digest(b"saved\n")) == b"saved\n"
    assert workspace.history.changes("turn") == []
    assert litter() == []


@pytest.mark.parametrize("first", [in_place, by_rename])
@pytest.mark.parametrize("second", [in_place, by_rename])
def test_a_second_save_while_the_first_is_put_back_stays(
    first: Save, second: Save, workspace: LocalWorkspace, calls: SavedJustBefore, root: Path
) -> None:
    calls.waiting = [lambda: first(root / "a.txt", "first\n"), lambda: second(root / "a.txt", "second\n")]
    with pytest.raises(Stale):
        workspace.write_file("a.txt", "ours\n", "overwrite", expected=digest(b"seen\n"))
    assert (root / "a.txt").read_text() == "second\n"
    assert workspace.history.content(digest(b"first\n")) == b"first\n"


@pytest.mark.parametrize("save", [in_place, by_rename])
def test_who_did_not_look_replaces_the_save_and_can_take_it_back(
    save: Save, workspace: LocalWorkspace, calls: SavedJustBefore, root: Path
) -> None:
    calls.waiting = [lambda: save(root / "a.txt", "saved\n")]
    assert workspace.write_file("a.txt", "ours\n", "overwrite").before == digest(b"saved\n")
    assert (root / "a.txt").read_text() == "ours\n"
    undo(workspace.history)
    assert (root / "a.txt").read_text() == "saved\n"


def test_an_append_adds_to_the_save(workspace: LocalWorkspace, calls: SavedJustBefore, root: Path) -> None:
    calls.waiting = [lambda: by_rename(root / "a.txt", "saved\n")]
    workspace.write_file("a.txt", "more\n", "append")
    assert (root / "a.txt").read_text() == "saved\nmore\n"


def test_a_program_that_starts_meanwhile_takes_no_file_in_our_hands_for_litter(
    open_at: Open, root: Path, litter: Litter
) -> None:
    workspace = open_at(calls=AnotherStarts(lambda: open_at().check_write("b.txt", "create"))).for_turn("turn")
    workspace.write_file("a.txt", "one\n")
    workspace.write_file("a.txt", "two\n", "append")
    assert (root / "a.txt").read_text() == "one\ntwo\n"
    undo(workspace.history)
    assert not (root / "a.txt").exists()
    assert litter() == []


def test_a_file_that_is_open_for_writing_is_left_to_its_writer(
    workspace: LocalWorkspace, root: Path, litter: Litter
) -> None:
    """It would write into a file that nobody can reach any more."""
    with (root / "a.txt").open("r+") as writer:
        with pytest.raises(Stale, match="writing"):
            workspace.write_file("a.txt", "ours\n", "overwrite", expected=digest(b"seen\n"))
        writer.write("late\n")
    assert (root / "a.txt").read_text() == "late\n"
    assert litter() == []
    with (root / "a.txt").open():  # a reader is in nobody's way
        workspace.write_file("a.txt", "ours\n", "overwrite", expected=digest(b"late\n"))


def test_what_took_the_place_of_the_file_stays(
    workspace: LocalWorkspace, calls: SavedJustBefore, root: Path, litter: Litter
) -> None:
    def a_folder() -> None:
        (root / "a.txt").rename(root / "b.txt")
        (root / "a.txt").mkdir()
        (root / "a.txt/precious").write_text("x")

    def a_link() -> None:
        (root / "a.txt/precious").unlink()
        (root / "a.txt").rmdir()
        (root / "a.txt").symlink_to("b.txt")

    for change in (a_folder, a_link):
        if change is a_link:
            change()
            change_now: list[Callable[[], None]] = []
        else:
            change_now = [change]
        calls.waiting = change_now
        with pytest.raises(Exception, match=r"a\.txt"):
            workspace.write_file("a.txt", "ours\n", "overwrite", expected=digest(b"seen\n"))
        assert litter() == []
        assert (root / "b.txt").read_text() == "seen\n"
        if change is a_folder:
            assert (root / "a.txt/precious").read_text() == "x"
    assert os.readlink(root / "a.txt") == "b.txt"


def test_a_removal_meanwhile(workspace: LocalWorkspace, calls: SavedJustBefore, root: Path) -> None:
    calls.waiting = [(root / "a.txt").unlink]
    with pytest.raises(Stale):
        workspace.write_file("a.txt", "ours\n", "overwrite", expected=digest(b"seen\n"))
    assert not (root / "a.txt").exists()


@pytest.mark.parametrize("save", [in_place, by_rename])
def test_undo_of_a_new_file_leaves_a_save_alone(
    save: Save, workspace: LocalWorkspace, calls: SavedJustBefore, root: Path, litter: Litter
) -> None:
    workspace.write_file("new.txt", "ours\n")
    calls.waiting = [lambda: save(root / "new.txt", "saved\n")]
    with pytest.raises(Stale):
        undo(workspace.history)
    assert (root / "new.txt").read_text() == "saved\n"
    assert litter() == []


def test_a_mode_changed_meanwhile_is_kept(workspace: LocalWorkspace, calls: SavedJustBefore, root: Path) -> None:
    calls.waiting = [lambda: (root / "a.txt").chmod(0o755)]
    workspace.write_file("a.txt", "ours\n", "overwrite", expected=digest(b"seen\n"))
    assert (root / "a.txt").stat().st_mode & 0o777 == 0o755


@pytest.mark.slow
@pytest.mark.parametrize("save", [in_place, by_rename])
def test_no_save_is_lost_at_any_moment(save: Save, open_at: Open, root: Path) -> None:
    """A person who saves once, at some moment of our write, finds the save in the file or in the journal."""
    workspace = open_at()
    chance = random.Random(7)
    path = root / "a.txt"
    lost = []
    for number in range(120):
        path.write_text("seen\n")
        saved = f"saved {number}\n"
        begin = threading.Event()
        delay = chance.random() * 0.008

        def person(begin: threading.Event = begin, delay: float = delay, saved: str = saved) -> None:
            begin.wait()
            end = time.perf_counter() + delay
            while time.perf_counter() < end:
                pass
            save(path, saved)

        thread = threading.Thread(target=person)
        thread.start()
        begin.set()
        with suppress(Stale):
            workspace.write_file("a.txt", f"ours {number}\n", "overwrite", expected=digest(b"seen\n"))
        thread.join()
        if path.read_text() != saved and workspace.history.content(digest(saved.encode())) is None:
            lost.append(number)
    assert lost == []


def test_undo_and_redo_keep_a_mode(workspace: LocalWorkspace, root: Path) -> None:
    workspace.write_file("bin/run.sh", "#!/bin/sh\n")
    (root / "bin/run.sh").chmod(0o755)
    undo(workspace.history)
    assert not (root / "bin").exists()
    redo(workspace.history)
    assert (root / "bin/run.sh").stat().st_mode & 0o777 == 0o755


def test_a_file_that_a_dead_writer_had_in_its_hands_is_kept(open_at: Open, root: Path, litter: Litter) -> None:
    open_at().write_file("a.txt", "x")
    (root / ".nebula/journal/staging/.nebula-tmp-dead").write_text("somebody's save\n")
    workspace = open_at()
    workspace.write_file("b.txt", "y")
    assert litter() == []
    assert workspace.history.content(digest(b"somebody's save\n")) == b"somebody's save\n"
