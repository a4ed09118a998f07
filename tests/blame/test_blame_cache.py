"""Answers kept from before: right in spite of everything that happened since, and no trouble when they are spoilt."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from nebula.blame.fold import Fold
from nebula.blame.kept.cache import FILE
from nebula.blame.project import ProjectBlame
from nebula.files.home import derived_folder
from nebula.workspace.journal.reader import JournalReader
from real_history import BEFORE, YOU, RealHistory


@pytest.fixture
def history(tmp_path: Path) -> Iterator[RealHistory]:
    (tmp_path / "project").mkdir()
    found = RealHistory(tmp_path / "project", Random(1))
    found.by_hand("a.py", [found.line(BEFORE) for _ in range(3)])
    turn = found.new_turn()
    found.write(turn, "a.py", [*found.lines("a.py"), found.line(turn)])
    found.end_turns()
    yield found
    found.close()


def settle(history: RealHistory) -> None:
    """Let what just changed be old enough to be kept: times go back by a minute."""
    history.end_turns()
    for path in [*history.root.rglob("*"), history.root]:
        status = path.lstat()
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns - 60_000_000_000), follow_symlinks=False)


def ask_without_work(history: RealHistory, path: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ask, and let nothing be worked out."""

    def refuse(*_: object) -> None:
        pytest.fail("it was worked out again")

    with monkeypatch.context() as patched:
        patched.setattr(Fold, "authors", refuse)
        patched.setattr(JournalReader, "changes", refuse)
        patched.setattr(ProjectBlame, "nodes", refuse)
        return history.told(path)


def database(history: RealHistory) -> Path:
    return Path(derived_folder(str(history.root)), FILE)


def test_the_second_answer_needs_no_work(history: RealHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(history)
    assert history.told("a.py") == history.expected("a.py")
    assert ask_without_work(history, "a.py", monkeypatch) == history.expected("a.py")


def test_answers_of_another_version_make_room(history: RealHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(history)
    history.told("a.py")
    with closing(sqlite3.connect(database(history))) as db, db:
        db.execute("PRAGMA user_version = 1")
    for _ in range(2):  # the first throws them away, the second starts anew
        assert history.told("a.py") == history.expected("a.py")
    assert ask_without_work(history, "a.py", monkeypatch) == history.expected("a.py")


def test_a_turn_elsewhere_lets_the_fold_stand(history: RealHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(history)
    history.told("a.py")
    history.write(history.new_turn(), "elsewhere.py", ["something else"])
    monkeypatch.setattr(Fold, "authors", lambda *_: pytest.fail("the file was folded again"))
    assert history.told("a.py") == history.expected("a.py")


def test_a_turn_here_is_seen(history: RealHistory) -> None:
    settle(history)
    history.told("a.py")
    turn = history.new_turn()
    history.write(turn, "a.py", [history.line(turn), *history.lines("a.py")])
    assert history.told("a.py") == history.expected("a.py")


def test_the_same_content_by_another_turn_is_another_answer(history: RealHistory) -> None:
    """The content alone does not tell: it is taken out and written once more."""
    lines = history.lines("a.py")
    turn = history.new_turn()
    history.write(turn, "b.py", ["of a new file"])
    settle(history)
    assert history.told("b.py") == [turn]
    history.run_command(history.new_turn(), {"b.py": None})
    again = history.new_turn()
    history.write(again, "b.py", ["of a new file", "and more of it"])
    history.by_hand("b.py", ["of a new file"])
    assert history.told("b.py") == [turn], "a state that comes back brings its authors"
    assert history.lines("a.py") == lines


def test_a_hand_edit_is_seen(history: RealHistory) -> None:
    settle(history)
    history.told("a.py")
    history.by_hand("a.py", [*history.lines("a.py"), history.line(YOU)])
    assert history.told("a.py") == history.expected("a.py")


def test_a_line_that_was_copied_and_then_taken_out_where_it_stood_has_moved(history: RealHistory) -> None:
    """An answer in the middle of a move by hand says that it was copied; the next one must know better."""
    turn = history.new_turn()
    history.write(turn, "b.py", [history.line(turn)])
    lines = history.lines("a.py")
    history.by_hand("b.py", [*history.lines("b.py"), lines[0]])
    settle(history)
    assert history.told("b.py") == [turn, YOU]
    history.by_hand("a.py", lines[1:])
    assert history.told("b.py") == [turn, BEFORE] == history.expected("b.py")


def test_a_node_that_is_gone_or_edited_is_seen(history: RealHistory) -> None:
    settle(history)
    history.told("a.py")
    history.graph.update_node(history.turns[0], prompt="asked otherwise")
    with ProjectBlame(str(history.root)) as blame:
        runs = blame.runs("a.py", (history.root / "a.py").read_bytes())
    assert runs[-1].prompt == "asked otherwise"
    settle(history)
    history.told("a.py")
    history.graph.delete_node(history.turns[0])
    assert history.told("a.py") == [BEFORE, BEFORE, BEFORE, YOU]


def test_a_commit_is_seen(history: RealHistory) -> None:
    settle(history)
    history.told("a.py")
    history.make_repository()
    history.commit()
    with ProjectBlame(str(history.root)) as blame:
        runs = blame.runs("a.py", (history.root / "a.py").read_bytes())
    assert runs[0].author == "Me" and runs[0].commit


def test_another_journal_in_its_place_is_seen(history: RealHistory) -> None:
    settle(history)
    history.told("a.py")
    changes = history.root / ".nebula/journal/changes.jsonl"
    content = changes.read_bytes()
    changes.unlink()
    changes.write_bytes(content.replace(history.turns[0].encode(), b"x" * len(history.turns[0])))
    assert history.told("a.py") == [BEFORE, BEFORE, BEFORE, YOU], "its turn left no node"


@pytest.mark.parametrize("damage", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_done_without_and_made_anew(
    history: RealHistory, damage: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(history)
    database(history).write_bytes(damage)
    assert history.told("a.py") == history.expected("a.py")
    assert history.told("a.py") == history.expected("a.py")
    assert ask_without_work(history, "a.py", monkeypatch) == history.expected("a.py")


@pytest.mark.parametrize("answer", ["{", "[1]", '[["who","",2]]', '{"a":1}', "null", "[[]]"])
def test_an_answer_that_makes_no_sense_is_worked_out_anew(history: RealHistory, answer: str) -> None:
    settle(history)
    history.told("a.py")
    with closing(sqlite3.connect(database(history))) as db, db:
        db.execute("UPDATE answers SET answer = ?", (answer,))
    assert history.told("a.py") == history.expected("a.py")


def test_a_database_of_another_program_is_left_alone(history: RealHistory) -> None:
    with closing(sqlite3.connect(database(history))) as db, db:
        db.execute("CREATE TABLE theirs (x)")
    before = database(history).read_bytes()
    assert history.told("a.py") == history.expected("a.py")
    assert database(history).read_bytes() == before


@pytest.mark.slow
def test_a_file_that_another_process_holds_is_done_without(history: RealHistory) -> None:
    settle(history)
    history.told("a.py")
    history.by_hand("a.py", [*history.lines("a.py"), history.line(YOU)])
    with closing(sqlite3.connect(database(history), isolation_level=None)) as db, db:
        db.execute("BEGIN EXCLUSIVE")
        assert history.told("a.py") == history.expected("a.py")
        db.execute("ROLLBACK")


@pytest.mark.slow
def test_processes_that_ask_and_are_killed_leave_right_answers(history: RealHistory) -> None:
    program = (
        "import sys; from nebula.blame.project import ProjectBlame\n"
        "while True:\n"
        "    with ProjectBlame(sys.argv[1]) as blame: blame.runs(*blame.read('a.py'))"
    )
    for _ in range(4):
        askers = [subprocess.Popen([sys.executable, "-c", program, str(history.root)]) for _ in range(2)]
        try:
            for _ in range(10):
                turn = history.new_turn()
                history.write(turn, "a.py", history.edited("a.py", turn))
                assert history.told("a.py") == history.expected("a.py")
        finally:
            for asker in askers:
                asker.kill()
                asker.wait()
    settle(history)
    for _ in range(2):
        assert history.told("a.py") == history.expected("a.py")


def test_nothing_that_a_file_says_is_kept(history: RealHistory) -> None:
    turn = history.new_turn()
    history.write(turn, "a.py", ["a line of great renown", *history.lines("a.py")])
    settle(history)
    history.told("a.py")
    kept = b"".join(each.read_bytes() for each in database(history).parent.glob(f"{FILE}*"))
    assert turn.encode() in kept and b"great renown" not in kept
    assert database(history).stat().st_mode & 0o077 == 0 or database(history).parent.stat().st_mode & 0o077 == 0
