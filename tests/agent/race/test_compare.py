"""Comparing tries file by file: alike, alone, and line beside line."""

from __future__ import annotations

from pathlib import Path

import pytest

from nebula.agent.race.compare import NOT_TEXT, AlignedRow, align, compare_tries
from nebula.agent.race.outcome import TryOutcome
from nebula.cli.race.comparison import show_comparison
from nebula.cli.terminal.output.width import display_width
from nebula.events import Final
from nebula.files.digest import digest
from nebula.graph.values import FileState
from nebula.workspace import open_workspace
from nebula.workspace.local import LocalWorkspace


def test_lines_stand_beside_the_same_line_of_the_start():
    start = [f"{number}\n" for number in range(1, 13)]
    one = [*start[:4], "one\n", *start[5:]]
    other = [*start[:5], "two\n", "three\n", *start[5:11]]
    rows = align(start, [one, other])
    assert rows[0] is None
    signs = {row.line: [sign for sign, _ in row.cells] for row in rows if row is not None and row.line}
    assert (signs[5], signs[6], signs[12]) == (["-", " "], [" ", " "], [" ", "-"])
    assert [row for row in rows if row is not None and not row.line] == [
        AlignedRow(0, (("+", "one"), ("+", "two"))),
        AlignedRow(0, (("", ""), ("+", "three"))),
    ]
    assert [row.line for row in rows if row is not None and row.line] == list(range(2, 13))
    assert align(start, [start, start]) == [] and align([], [["x"]]) == [AlignedRow(0, (("+", "x"),))]


def test_far_changes_leave_the_lines_between_out():
    start = [f"{number}\n" for number in range(100)]
    rows = align(start, [["new\n", *start], [*start, "end\n"]])
    assert rows.count(None) == 1 and len(rows) == 1 + 3 + 1 + 3 + 1


class Kept:
    """A journal with contents, and the tries that left them."""

    def __init__(self, root: Path) -> None:
        self.workspace = open_workspace(str(root))
        assert isinstance(self.workspace, LocalWorkspace)

    def state(self, content: bytes | None, mode: str = "644") -> str:
        if content is None:
            return ""
        self.workspace.keep_content(content)
        return f"{digest(content)}:{mode}"

    def change(self, path: str, before: bytes | None, after: bytes | None, mode: str = "644") -> FileState:
        return FileState(path, self.state(before), self.state(after, mode))


@pytest.fixture
def kept(tmp_path):
    made = Kept(tmp_path)
    yield made
    made.workspace.close()


def outcome(number: int, *changes: FileState) -> TryOutcome:
    return TryOutcome(number, f"t{number}", "m", Final("x", "ok", 0, node_id=f"n{number}"), changes)


def test_files_are_alike_only_one_or_differ(kept: Kept):
    tries = {
        1: [kept.change("same", b"a\n", b"b\n"), kept.change("most", b"a\n", b"c\n"), kept.change("bin", None, b"\0")],
        2: [kept.change("same", b"a\n", b"b\n"), kept.change("most", b"a\n", None)],
        3: [
            kept.change("same", b"a\n", b"b\n"),
            kept.change("most", b"a\n", b"c\n"),
            kept.change("new", None, b"n\n"),
            FileState("folder", "", "folder:755"),
        ],
    }
    found = {each.path: each for each in compare_tries(tries, kept.workspace.history)}
    assert {path: each.kind for path, each in found.items()} == {
        "same": "alike", "most": "differ", "bin": "only", "new": "only", "folder": "only",
    }  # fmt: skip
    assert [column.numbers for column in found["most"].columns] == [(1, 3), (2,)]
    assert found["most"].rows[-1] == AlignedRow(0, (("+", "c"), ("", "")))
    assert (found["bin"].columns[0].note, found["bin"].rows) == (NOT_TEXT, ())
    assert found["folder"].columns[0].note == "nothing → folder"
    assert found["new"].to_json()["rows"] == [[0, ["+", "n"]]]


def test_two_that_did_the_same_are_not_all(kept: Kept):
    same = kept.change("a", b"a\n", b"b\n")
    [found] = compare_tries({1: [same], 2: [same], 3: []}, kept.workspace.history)
    assert (found.kind, [each.numbers for each in found.columns]) == ("differ", [(1, 2)])


def test_side_by_side_where_there_is_room_and_below_where_not(kept: Kept):
    tries = [
        outcome(1, kept.change("a.txt", b"x\n", "一\t\x1b[31m\n".encode()), kept.change("b.txt", None, b"b\n")),
        outcome(2, kept.change("a.txt", b"x\n", b"two\n", "755")),
    ]
    wide = show_comparison(tries, kept.workspace.history, width=100)
    assert wide[0] == "  a.txt: 1 | 2" and "try 2 (+1 −1) · mode 644 → 755" in wide[1]
    beside = [line for line in wide if line.count("│") == 2]
    assert len({display_width(line[: line.rindex("│")]) for line in beside}) == 1 and len(beside) > 2
    assert "\x1b" not in "".join(wide) and any("+ 一" in line and "+ two" in line for line in wide)
    assert "  b.txt: only 1" in wide and "    +b" in wide
    narrow = show_comparison(tries, kept.workspace.history, width=60)
    assert not any("│" in line for line in narrow) and "    +two" in narrow and "    try 1 (+1 −1)" in narrow
    assert show_comparison(tries, kept.workspace.history, ["./b.txt"], 100)[0] == "  b.txt: only 1"


def test_too_much_is_named_and_shown_when_asked(kept: Kept):
    long = b"".join(b"%d\n" % number for number in range(300))
    tries = [outcome(1, kept.change("a.txt", None, long)), outcome(2, kept.change("b.txt", None, b"b\n"))]
    assert show_comparison(tries, kept.workspace.history, width=100) == [
        "  a.txt: only 1", "  b.txt: only 2", "    @@ -0,0 +1 @@", "    +b",
    ]  # fmt: skip
    assert len(show_comparison(tries, kept.workspace.history, ["a.txt"], 100)) == 302
    for everything in ("", ".", "./"):  # "" is what a bare /compare asks for
        assert len(show_comparison(tries, kept.workspace.history, [everything], 100)) == 305, everything
    assert show_comparison(tries, kept.workspace.history, ["a.tx"], 100) == []
