"""Width, pastes, words: the small things that decide whether a line looks right."""

import io
import string
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nebula.agent.context.tokens import TOKENS_PER_IMAGE
from nebula.cli import nebula as umbrella
from nebula.cli.terminal.commands.elsewhere import ELSEWHERE
from nebula.cli.terminal.commands.table import TABLE
from nebula.cli.terminal.dialogs.change_set import CallDialog
from nebula.cli.terminal.input.paste import FOLD_LINES, Pastes
from nebula.cli.terminal.input.typed_ahead import TypedAhead
from nebula.cli.terminal.output.live_line import LiveLine
from nebula.cli.terminal.output.screen import Screen
from nebula.cli.terminal.output.width import cut, display_width, first_parts, pad, tail, wrap, wrap_parts
from nebula.events import Approval, QuestionKind, Retry
from nebula.graph.tokens import estimate_tokens
from nebula.language import Sentence, use_language
from nebula.tools.approval import ASKED_AGAIN
from nebula.workspace.search.file_names import best_matches
from rows import each_row

WIDE = "星雲はコーディングエージェントです"


@each_row(
    ("text", "columns", "expected"),
    [
        ("plain", 5, "plain"),
        ("plain text", 6, "plain…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("👩‍👩‍👧👩‍👩‍👧", 3, "👩‍👩‍👧…"),
        ("ｶﾅ", 2, "ｶﾅ"),
        ("anything", 0, ""),
    ],
)
def test_cutting_by_columns_never_splits_a_character(text, columns, expected):
    assert cut(text, columns) == expected


@given(st.text(alphabet=WIDE + string.ascii_letters + "👩‍🚀é"), st.integers(1, 40))
def test_a_cut_line_always_fits(text, columns):
    assert display_width(cut(text, columns)) <= columns
    assert display_width(tail(text, columns)) <= columns


def test_padding_counts_columns():
    assert pad("終了", 6) == "終了  "
    assert display_width(pad("終了", 9)) == 9


def test_a_paste_is_estimated_as_when_it_is_sent():
    pastes, text = Pastes(), "".join(f"{number}: é(x) -> [y];\n" for number in range(400))
    assert pastes.tokens(pastes.fold(text)) == [estimate_tokens(text)]


def test_a_short_paste_is_itself():
    assert Pastes().fold("one\r\ntwo") == "one\ntwo"


def test_a_long_paste_is_folded_and_comes_back_whole():
    pastes = Pastes()
    text = "\n".join(f"line {n}" for n in range(40))
    mark = pastes.fold(text)
    assert mark == "[pasted 40 lines]"
    assert pastes.expand(f"look: {mark} thanks") == f"look: {text} thanks"


def test_two_pastes_of_one_length_are_told_apart():
    pastes = Pastes()
    first, second = "a\n" * FOLD_LINES, "b\n" * FOLD_LINES
    marks = pastes.fold(first), pastes.fold(second), pastes.fold(first)
    assert marks == ("[pasted 6 lines]", "[pasted 6 lines #2]", "[pasted 6 lines]")
    assert pastes.expand("|".join(marks)) == f"{first}|{second}|{first}"


def test_a_mark_inside_a_paste_is_only_text():
    pastes = Pastes()
    inner = "x\n" * FOLD_LINES
    inner_mark = pastes.fold(inner)
    outer = f"{inner_mark}\n" * (FOLD_LINES + 1)
    assert pastes.expand(pastes.fold(outer)) == outer


def test_a_long_single_line_is_folded_too():
    pastes = Pastes()
    assert [pastes.fold(each * 2_000) for each in "xy"] == ["[pasted 1 line]", "[pasted 1 line #2]"]
    use_language("ja")
    assert Pastes().fold("x" * 2_000) == "[貼り付け 1 行]"


def test_words_of_other_agents_are_not_also_ours():
    ours = {f"/{name}" for command in TABLE for name in (command.name, *command.aliases)}
    assert not ours & ELSEWHERE.keys()


def test_the_advice_for_a_word_of_other_agents_names_what_is_there():
    assert "`nebula config`" in ELSEWHERE["/config"] and "config" in umbrella.COMMANDS


def test_file_names_are_matched_loosely_and_the_nearest_comes_first():
    names = ["src/domain/todo.py", "src/main.py", "docs/domain.md", "tests/test_main.py", "Makefile"]
    assert best_matches("main", names, 10) == [
        "src/main.py",
        "tests/test_main.py",
        "docs/domain.md",
        "src/domain/todo.py",
    ]
    assert best_matches("sdt", names, 10) == ["src/domain/todo.py"]
    assert best_matches("MAKE", names, 10) == ["Makefile"]
    assert best_matches("", names, 2) == ["Makefile", "src/main.py"]
    assert best_matches("zzz", names, 10) == []


def test_lines_typed_ahead_wait_in_order_and_the_rest_can_be_edited():
    typed = TypedAhead()
    for character in "first":
        typed.typed(character)
    typed.entered()
    typed.typed("次はx")
    typed.erased()
    assert (typed.next_line(), typed.next_line(), typed.take_text()) == ("first", None, "次は")


def test_after_an_interruption_nothing_is_sent_by_itself():
    typed = TypedAhead()
    typed.typed("one")
    typed.entered()
    typed.typed("two")
    typed.hold()
    assert (typed.next_line(), typed.take_text()) == (None, "one\ntwo")


def test_a_question_waits_until_the_typing_stops():
    typed = TypedAhead()
    assert typed.quiet_in() == 0
    typed.typed("x")
    assert 0 < typed.quiet_in() <= 0.6


def test_a_long_sentence_is_broken_between_words():
    assert wrap("one two three four", 9) == ["one two", "three", "four"]
    assert wrap("  /name   what it does here", 24, hang=10) == ["  /name   what it does", "          here"]


def test_japanese_is_broken_anywhere_but_before_a_stop_or_behind_a_bracket():
    assert wrap("これは長い文章です。次の文", 18) == ["これは長い文章で", "す。次の文"]
    assert wrap("あいう「えお」", 8) == ["あいう", "「えお」"]
    assert wrap("このファイルを戻す", 10) == ["この", "ファイルを", "戻す"], "a word in katakana is not broken"
    assert wrap("コーディングエージェント", 10) == ["コーディン", "グエージェ", "ント"]


def test_a_word_longer_than_the_line_is_cut():
    assert wrap("see /a/very/long/path", 8) == ["see", "/a/very/", "long/pat", "h"]


def test_a_word_as_long_as_a_book_is_broken_in_a_time_that_its_length_explains() -> None:
    word = "カ" * 300_000
    started = time.process_time()
    lines = wrap(word, 80)
    assert time.process_time() - started < 3 and "".join(lines) == word and set(map(len, lines)) == {40}


def test_a_letter_that_is_wider_than_the_line_is_left_as_it_is() -> None:
    assert wrap("ああ", 1) == ["あ", "あ"]


@given(st.text(alphabet=WIDE + string.ascii_letters + " 、。「」"), st.integers(4, 40))
def test_wrapped_lines_fit_and_lose_nothing_but_blanks(text, columns):
    lines = wrap(text, columns)
    assert all(display_width(line) <= columns for line in lines) or display_width(text) <= columns
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_short_parts_stay_whole():
    parts = ["y はい · n いいえ", "h 変更箇所ごとに選ぶ", "a すべて許可"]
    assert wrap_parts(parts, 80) == [" · ".join(parts)]
    assert wrap_parts(parts, 42) == [" · ".join(parts[:2]), parts[2]]
    assert wrap_parts(parts, 5) == parts
    assert first_parts(["添付 1 件", "agent", "120 トークン"], 20) == "添付 1 件 · agent"
    assert first_parts([], 20) == ""


def test_that_something_goes_into_the_turn_is_seen_however_long_it_is(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    typed = TypedAhead(text="mind the tests and the documents " * 9)
    typed.steer()
    shown = LiveLine(Screen(io.StringIO()), typed.shown).text(0)
    assert "› ↪ …" in shown and "and the documents " in shown and display_width(shown) < 80


@pytest.mark.parametrize(
    ("columns", "end"),
    [(140, "› mind the tests ⏎ · Enter: next, Tab: now"), (70, "› mind the tests ⏎ · Tab: now"), (60, "tests ⏎")],
)
def test_the_keys_stand_beside_what_is_typed_where_there_is_room(monkeypatch, columns, end):
    monkeypatch.setenv("COLUMNS", str(columns))
    live = LiveLine(Screen(io.StringIO()), TypedAhead(lines=["mind the tests"]).shown)
    live.raise_(doing="waiting for the model")
    assert live.text(0).endswith(end) and display_width(live.text(0)) < columns


def test_the_live_line_says_what_it_waits_for_after_a_retry():
    live = LiveLine(Screen(io.StringIO()), str)
    live.raise_(doing="waiting for the model")
    live.wait(Retry(Sentence("slow down"), 2, 60.0, attempts=4, kind="limit"))
    assert "rate limited" in live.text(0) and "waiting for the model" not in live.text(0)
    live.wait(Retry(Sentence("The reply could not be read."), 2, 0.0, attempts=2, kind="bad_reply"))
    assert "waiting for the model" in live.text(0)


def test_the_clock_is_that_of_what_goes_on(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    live = LiveLine(Screen(io.StringIO()), str)
    live.raise_(doing="thinking")
    clock[0] += 8
    assert live.text(0) == "⠋ thinking · 8 s · Esc interrupts"
    live.raise_(doing="answering", amount="2 words")
    clock[0] += 12
    live.raise_(doing="answering", amount="340 words")
    assert live.text(0) == "⠋ answering · 340 words · 12 s (20 s) · Esc interrupts"


def test_an_image_that_was_pasted_counts_as_an_attachment(tmp_path):
    shot = tmp_path / "a.png"
    shot.write_bytes(b"\x89PNG")
    pastes = Pastes()
    mark = pastes.fold(str(shot))
    assert mark == "[image a.png]" and pastes.tokens(f"see {mark}") == [TOKENS_PER_IMAGE]
    assert pastes.tokens("see it") == []


@each_row("kind", ["network", "fetch", "folders", "secrets", "read", "call"])
def test_a_question_about_a_call_shows_what_there_is_to_know_before_the_answer(kind: QuestionKind) -> None:
    out = io.StringIO()
    question = Approval("a1", kind, "notes__add", text="what it names", remarks=(ASKED_AGAIN,))
    CallDialog(SimpleNamespace(screen=Screen(out)), question).introduce()  # type: ignore[arg-type]
    assert str(ASKED_AGAIN) in " ".join(out.getvalue().split())
