"""Markdown on the terminal: nothing lost, nothing obeyed."""

import io
import re

import pytest

from nebula.cli.terminal.output.markdown import rendered
from nebula.cli.terminal.output.screen import Screen
from nebula.cli.terminal.output.width import display_width
from rows import each_row


def plain(text, columns=80):
    return re.sub(r"\x1b\[[\d;]*m", "", rendered(text, columns))


@each_row(
    ("text", "kept"),
    [
        ("use <div>tags</div> here", "<div>tags</div>"),
        ("<script>\nalert()\n</script>", "<script>"),
        ("one\ntwo", "one\ntwo"),
        ("see ![alt](http://x.example/i.png) now", "see ![alt](http://x.example/i.png) now"),
        ("[word](http://x.example)", "http://x.example"),
        ("[red]not markup[/red] :smile:", "[red]not markup[/red] :smile:"),
        ("```\n<x>  y\n```", "<x>  y"),
        ("# 見出し", "見出し"),
    ],
)
def test_what_the_model_wrote_is_shown(text, kept):
    assert kept in plain(text)


def test_wide_text_is_wrapped_by_columns():
    lines = plain("星雲" * 60, 40).split("\n")
    assert len(lines) > 1
    assert all(display_width(line) <= 40 for line in lines)
    assert "".join(lines) == "星雲" * 60


def test_japanese_is_broken_by_its_own_rules():
    sentence = "1: このターンではキャッシュについて説明しました。**太字**の`code`もあります。"
    for columns in range(20, 60):
        lines = plain(sentence * 3 + "\n- " + sentence * 2, columns).split("\n")
        assert all(display_width(line) <= columns for line in lines)
        assert not [line for line in lines if line.strip(" •")[:1] in "、。ーャッュ" and line.strip(" •")]
        assert "".join(lines).replace(" ", "").count("キャッシュ") == 5
        assert display_width(lines[0]) > columns - 12  # not only "1:", with the sentence as one word behind it


def test_no_line_ends_in_blanks():
    text = rendered("# Title\n\npara\n\n- a\n- b\n\n```python\nx = 1\n```", 80)
    assert not [line for line in text.split("\n") if re.search(r" (\x1b\[0m)*$", line)]


def test_a_screen_without_styles_shows_the_words_as_they_were_written():
    out = io.StringIO()
    screen = Screen(out)
    screen.say("# Title\n**bold** \x1b[31mred\x9b0m")
    screen.line("a\rb\x07", "red")
    screen.live("never")
    assert out.getvalue() == "# Title\n**bold** ␛[31mred<U+009B>0m\n\na␍b␇\n"


def test_too_many_words_are_shown_as_they_were_written() -> None:
    """Setting one paragraph of 5 MB took ten seconds."""
    out = io.StringIO()
    text = "**bold** " + "word " * 1_000_000 + "end"
    Screen(out, capable=True).say(text)
    assert out.getvalue() == f"{text}\n\n"


def test_the_live_line_never_wraps_and_leaves_nothing_behind():
    out = io.StringIO()
    screen = Screen(out, capable=True)
    screen.live("星雲" * 200 + "\n\x1b[2J")
    screen.line("next")
    drawn, _, rest = re.sub(r"\x1b\[[0-9]*m", "", out.getvalue()).partition("\x1b[K")
    assert drawn.startswith("\r") and display_width(drawn[1:]) < screen.columns
    assert rest == "\r\r\x1b[Knext\n"


def test_a_window_that_got_narrower_is_cleared_below_the_live_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal has broken the line in two by then; the cursor waits at its beginning."""
    out = io.StringIO()
    screen = Screen(out, capable=True)
    monkeypatch.setenv("COLUMNS", "100")
    screen.live("x" * 90)
    assert out.getvalue().endswith("\x1b[K\r")
    monkeypatch.setenv("COLUMNS", "40")
    screen.live("x" * 90)
    assert out.getvalue().endswith("\x1b[J\r") and out.getvalue().count("\x1b[J") == 1
    screen.live("x" * 90)
    monkeypatch.setenv("COLUMNS", "30")
    screen.end_live()
    assert out.getvalue().endswith("\x1b[K\r\r\x1b[J")


@pytest.mark.parametrize("columns", [30, 48, 80])
def test_nothing_of_a_table_is_cut_off(columns):
    rows = [
        ("足し算", "二つの数を足して返します。長い説明が続くときも、**太字**も、どの文字も残ります。" * 2),
        ("address", "https://example.org/" + "a/very/long/path/" * 5),
        ("words", "each of these words stands whole where there is room for it"),
    ]
    text = "| 名前 | とても長い見出しのある列とその説明 |\n|---|---|\n" + "".join(f"| {a} | {b} |\n" for a, b in rows)
    lines = plain(text, columns).split("\n")
    assert all(display_width(line) <= columns for line in lines)
    assert not [line for line in lines if line.strip()[:1] in ("、", "。", "ー")]
    shown = re.sub(r"\s", "", "".join(lines))
    for first, second in rows:
        assert first in shown and re.sub(r"\s|\*\*", "", second) in shown.replace(first, "", 1)
