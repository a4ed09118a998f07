"""Width, pastes, words: the small things that decide whether a line looks right."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nebula.cli.command_words import ABOUT, ELSEWHERE, KEYS
from nebula.cli.terminal.commands.table import TABLE
from nebula.cli.terminal.input.file_names import best_matches
from nebula.cli.terminal.input.paste import FOLD_LINES, Pastes
from nebula.cli.terminal.input.typed_ahead import TypedAhead
from nebula.cli.terminal.output.width import cut, display_width, pad, tail
from nebula.cli.words import TABLES, Words

WIDE = "星雲はコーディングエージェントです"


@pytest.mark.parametrize(
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


def test_a_short_paste_is_itself():
    assert Pastes(Words("en")).fold("one\r\ntwo") == "one\ntwo"


def test_a_long_paste_is_folded_and_comes_back_whole():
    pastes = Pastes(Words("en"))
    text = "\n".join(f"line {n}" for n in range(40))
    mark = pastes.fold(text)
    assert mark == "[pasted 40 lines]"
    assert pastes.expand(f"look: {mark} thanks") == f"look: {text} thanks"


def test_two_pastes_of_one_length_are_told_apart():
    pastes = Pastes(Words("en"))
    first, second = "a\n" * FOLD_LINES, "b\n" * FOLD_LINES
    marks = pastes.fold(first), pastes.fold(second), pastes.fold(first)
    assert marks == ("[pasted 6 lines]", "[pasted 6 lines #2]", "[pasted 6 lines]")
    assert pastes.expand("|".join(marks)) == f"{first}|{second}|{first}"


def test_a_mark_inside_a_paste_is_only_text():
    pastes = Pastes(Words("en"))
    inner = "x\n" * FOLD_LINES
    inner_mark = pastes.fold(inner)
    outer = f"{inner_mark}\n" * (FOLD_LINES + 1)
    assert pastes.expand(pastes.fold(outer)) == outer


def test_a_long_single_line_is_folded_too():
    assert Pastes(Words("ja")).fold("x" * 2_000) == "[貼り付け 1 行]"


def test_both_languages_say_the_same_things():
    english, japanese = TABLES["en"], TABLES["ja"]
    assert english.keys() == japanese.keys()
    fields = {key: _fields(text) for key, text in english.items()}
    assert {key: _fields(text) for key, text in japanese.items()} == fields
    assert ABOUT["en"].keys() == ABOUT["ja"].keys() == {command.name for command in TABLE}
    assert len(KEYS["en"]) == len(KEYS["ja"])


def _fields(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_words_of_other_agents_are_not_also_ours():
    ours = {f"/{name}" for command in TABLE for name in (command.name, *command.aliases)}
    assert not ours & ELSEWHERE.keys()


def test_an_unknown_language_is_english():
    assert Words("xx")("mode_is", mode="plan") == "Mode: plan"


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
