"""Diffs on a terminal: numbers of lines, and marks on the words that differ."""

from __future__ import annotations

import io
import re

import pytest

from nebula.cli.terminal.output.diff_view import MAX_LINES, fits_half, show_diff
from nebula.cli.terminal.output.screen import Screen
from nebula.workspace.diff import diff_texts

OLD = "".join(f"line {n}\n" for n in range(1, 12))
NEW = OLD.replace("line 9\n", "line nine\n").replace("line 2\n", "") + "-- end\n"


def shown(diff: str, *, capable: bool = True, colour: bool = True) -> str:
    out = io.StringIO()
    show_diff(Screen(out, capable, colour), diff)
    return out.getvalue()


def plain(text: str) -> list[str]:
    return re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()


def test_each_line_has_its_number_in_the_file() -> None:
    assert plain(shown(diff_texts("a", OLD, NEW).text)) == [
        "--- a/a",
        "+++ b/a",
        "@@ -1,11 +1,11 @@",
        " 1  line 1",
        " 2 -line 2",
        " 2  line 3",
        " 3  line 4",
        " 4  line 5",
        " 5  line 6",
        " 6  line 7",
        " 7  line 8",
        " 9 -line 9",
        " 8 +line nine",
        " 9  line 10",
        "10  line 11",
        "11 +-- end",
    ]


def test_a_removed_line_that_looks_like_a_head_is_a_line() -> None:
    lines = shown(diff_texts("a", "-- x\n++ y\n", "++ y\n").text).splitlines()
    assert lines[3] == "\x1b[2m1 \x1b[0m\x1b[31m--- x\x1b[0m"


def test_the_words_that_differ_are_marked() -> None:
    text = shown(diff_texts("a", "return a / b\n", "return a // c\n").text)
    assert "\x1b[31mreturn a /\x1b[0m" in text
    assert "\x1b[31;4mb\x1b[0m" in text and "\x1b[32;4mc\x1b[0m" in text
    without = shown(diff_texts("a", "return a / b\n", "return a / c\n").text, colour=False)
    assert "return a / \x1b[4mc\x1b[0m" in without and "\x1b[3" not in without


@pytest.mark.parametrize(
    ("old", "new"), [("one two\n", "completely other words\n"), ("x" * 500 + "\n", "x" * 501 + "\n")]
)
def test_lines_that_have_little_in_common_or_are_long_are_not_marked(old: str, new: str) -> None:
    assert ";4m" not in shown(diff_texts("a", old, new).text)


def test_a_pipe_gets_the_diff_as_it_is() -> None:
    diff = diff_texts("a", OLD, NEW).text
    assert shown(diff, capable=False, colour=False) == diff.rstrip("\n") + "\n"


def test_nothing_in_it_is_obeyed_and_a_long_one_is_cut() -> None:
    diff = diff_texts("a", "", "\x1b[2Jx\n" * (MAX_LINES + 50)).text
    text = shown(diff)
    assert "\x1b[2J" not in text and "␛[2Jx" in text and "… 53 more lines" in text


def test_the_numbers_count_where_it_must_fit_half_of_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("LINES", "20")
    diff = diff_texts("a", "", ("x" * 38 + "\n") * 6).text
    assert fits_half(Screen(io.StringIO()), [diff])
    assert not fits_half(Screen(io.StringIO(), capable=True), [diff])
