"""Search terms: identifiers in parts, stems, Japanese, and what of a question counts."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nebula.index import postings
from nebula.index.constants import KANJI_WEIGHT, LEVELS
from nebula.index.terms.loan_words import english_of
from nebula.index.terms.question import question_terms
from nebula.index.terms.word_lists import english_words
from nebula.index.terms.words import path_terms, stem, terms_of, words_of
from rows import each_row


def terms(text: str) -> set[str]:
    return {term for word in words_of(text) for term in terms_of(word)}


@each_row("spelling", ["userName", "user_name", "UserName", "USER_NAME", "user_names"])
def test_a_name_is_found_in_any_spelling(spelling: str) -> None:
    assert terms(spelling) == {"user", "nam", "usernam"}


def test_parts_of_a_long_name_are_found_in_pairs() -> None:
    assert {"sess", "cooki", "sesscooki", "getsess"} <= terms("getSessionCookie")


@each_row(
    "words",
    [
        "cache caches cached caching",
        "validate validates validation validating",
        "run running",
        "query queries",
        "cookie cookies",
    ],
)
def test_forms_of_a_word_are_one_term(words: str) -> None:
    assert len({stem(word) for word in words.split()}) == 1


def test_a_word_weighs_more_than_what_code_writes_instead() -> None:
    weights = question_terms("where is the configuration of the directory")
    assert weights["configurat"] == 1.0 and 0 < weights["config"] < 0.3 and 0 < weights["dir"] < 0.3


def test_japanese_is_cut_into_pairs() -> None:
    assert terms("認証トークン") == {"認証", "証ト", "トー", "ーク", "クン"}


@each_row(
    ("katakana", "english"),
    [
        ("バンドル", "bundle"),
        ("マスター", "master"),
        ("テキスト", "text"),
        ("ウェブ", "web"),
        ("プロキシ", "proxy"),
        ("バリデーション", "validation"),
        ("スレッド", "thread"),
        ("クッキー", "cookie"),
        ("タイムアウト", "timeout"),
        ("ヴァリュー", "value"),
    ],
)
def test_a_loan_word_is_told_by_its_sound(katakana: str, english: str) -> None:
    assert english_of(katakana)[0] == english


def test_what_sounds_like_no_word_of_code_is_left_out() -> None:
    assert english_of("モモンガー") == english_of("ンー") == english_of("ーーー") == ()
    assert english_words("モモンガー") == []


def test_a_compound_is_taken_apart_where_no_list_has_it() -> None:
    weights = dict(english_words("再送"))
    assert weights["send"] == KANJI_WEIGHT and weights["again"] < KANJI_WEIGHT
    assert [word for word, _ in english_words("コマンドライン")] == ["command", "line"]
    assert [word for word, _ in english_words("ウェブソケット")] == ["websocket"], "one word of code"
    assert dict(english_words("ワワワコマンド")) == {"command": 1.0}, "what is known counts behind what is not"


def test_a_japanese_question_reaches_english_code() -> None:
    assert {"authentication", "token"} <= {word for word, _ in english_words("認証トークンの検証")}
    assert {"token", stem("validate")} <= question_terms("認証トークンの検証").keys()


def test_neighbouring_words_of_a_question_find_one_name() -> None:
    assert "sesscooki" in question_terms("where is the session cookie set?")


def test_a_name_in_a_question_weighs_more_than_its_sentence() -> None:
    weights = question_terms("the `flush` of HttpSession fails when closing")
    assert weights["flush"] > weights["clos"]
    assert "the" not in weights


def test_a_pasted_page_stays_a_question_of_bounded_size() -> None:
    page = " ".join(f"word{chr(97 + i % 26)}{chr(97 + i // 26 % 26)} thing{i}x" for i in range(20_000))
    assert len(question_terms(page)) <= 128


def test_what_comes_first_weighs_more() -> None:
    weights = question_terms("lighthouse fails. " + "Some more explanation of it follows here. " * 4 + "harbour")
    assert weights["lighthous"] > weights["harbour"] > 0


def test_the_name_of_a_file_weighs_more_than_its_folder() -> None:
    weights = path_terms("src/session/cookies.py")
    assert weights["cooki"] > weights["sess"] and "src" not in weights


PLACES = st.dictionaries(st.integers(0, 65_535), st.integers(0, LEVELS - 1), min_size=1, max_size=60)


@given(PLACES)
def test_postings_come_back_as_they_were(places: dict[int, int]) -> None:
    data = postings.encode([postings.occurrence(level, place) for place, level in places.items()])
    found = [(level, place) for level, row in postings.by_level(data) for place in row]
    assert {place: level for level, place in found} == places
    assert [level for level, _ in found] == sorted(places.values(), reverse=True)
    assert postings.count(data) == len(places)
    moved = postings.moved(data, {place: place // 2 for place in list(places)[:3]})
    assert len(moved) == len(list(places)[:3])


@pytest.mark.parametrize("run", ["ア", "アイ", "データ", "データア"])
def test_a_long_run_of_katakana_is_looked_through_once(run: str) -> None:
    began = time.process_time()
    question_terms(run * (8_000 // len(run)))
    assert time.process_time() - began < 5
