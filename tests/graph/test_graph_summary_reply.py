"""What models really send when asked in the form of seed §7.2."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nebula.graph.summaries.reply import MAX_TAGS, SummaryReply, UnreadableReply, read_reply, read_tags
from rows import each_row

SAME = SummaryReply("非同期処理の説明。", ["Python", "asyncio", "非同期"])


@each_row(
    "reply",
    [
        "要約: 非同期処理の説明。\nタグ: Python, asyncio, 非同期",
        "要約：非同期処理の説明。\nタグ：Python、asyncio、非同期",
        "**要約**: 非同期処理の説明。\n**タグ**: Python, asyncio, 非同期",
        "**要約:** 非同期処理の説明。\n**タグ:** Python, asyncio, 非同期",
        "Summary: 非同期処理の説明。\nTags: Python, asyncio, 非同期",
        "SUMMARY - 非同期処理の説明。\nKeywords: Python; asyncio; 非同期",
        "- 要約: 非同期処理の説明。\n- タグ: Python, asyncio, 非同期",
        "1. 要約: 非同期処理の説明。\n2. タグ: Python, asyncio, 非同期",
        "### 要約\n非同期処理の説明。\n\n### タグ\n- Python\n- asyncio\n- 非同期",
        "【要約】非同期処理の説明。\n【タグ】Python, asyncio, 非同期",
        "[要約]: 非同期処理の説明。\n[タグ]: [Python, asyncio, 非同期]",
        "要約: [非同期処理の説明。]\nタグ: [Python], [asyncio], [非同期]",
        "要約: 「非同期処理の説明。」\nタグ: 「Python」「asyncio」「非同期」".replace("」「", "」、「"),
        "要約: 非同期処理の説明。\nタグ: #Python #asyncio #非同期",
        "要約: 非同期処理の説明。\nタグ: #Python, #asyncio, #非同期。",
        "要約: 非同期処理の説明。\nタグ: Python・asyncio・非同期",
        "要約: 非同期処理の説明。\nタグ:\n* Python\n* asyncio\n* 非同期",
        "要約: 非同期処理の説明。\nタグ:\n1. Python\n2. asyncio\n3. 非同期\n\nほかにご質問はありますか？",
        "要約: 非同期処理の説明。 タグ: Python, asyncio, 非同期",
        "要約: 非同期処理の説明。タグ: Python, asyncio, 非同期",
        "要約:\n非同期処理の説明。\n\nタグ:\nPython, asyncio, 非同期",
        "```\n要約: 非同期処理の説明。\nタグ: Python, asyncio, 非同期\n```",
        "はい、分析しました。\n\n要約: 非同期処理の説明。\nタグ: Python, asyncio, 非同期\n\n以上です。",
        "タグ: Python, asyncio, 非同期\n要約: 非同期処理の説明。\n\n以上です。",
        "<think>要約: 違う\nタグ: 違う</think>\n要約: 非同期処理の説明。\nタグ: Python, asyncio, 非同期",
        '```json\n{"summary": "非同期処理の説明。", "tags": ["Python", "asyncio", "非同期"]}\n```',
        '{"要約": "非同期処理の説明。", "タグ": "Python, asyncio, 非同期"}',
        "> 要約: 非同期処理の説明。\n> タグ: Python, asyncio, 非同期",
        "要約: [30-50単語程度の簡潔な説明]\nタグ: [3-7個の重要キーワードをカンマ区切り]\n\n"
        "要約: 非同期処理の説明。\nタグ: Python, asyncio, 非同期",
        "要約: 非同期処理の説明。\r\nタグ: Python, asyncio, 非同期\r\n",
    ],
)
def test_many_forms_say_the_same(reply: str) -> None:
    assert read_reply(reply) == SAME


def test_a_summary_may_have_several_lines() -> None:
    reply = "Summary: It explains async.\nThen it shows an example.\n\nTags: a, b"
    assert read_reply(reply) == SummaryReply("It explains async. Then it shows an example.", ["a", "b"])


def test_without_tags_the_summary_is_enough_and_small_talk_is_dropped() -> None:
    assert read_reply("要約: 説明。\n\nご不明な点があればどうぞ。") == SummaryReply("説明。", [])


def test_a_sentence_that_begins_with_the_word_is_no_label() -> None:
    reply = "Summary of what I did follows.\nSummary: It works.\nTags: x\nTags of interest were many"
    assert read_reply(reply) == SummaryReply("It works.", ["x"])


def test_a_colon_inside_the_summary_stays() -> None:
    assert read_reply("要約: 手順: まず読む。\nタグ: a").summary == "手順: まず読む。"


@each_row("reply", ["", "Sorry, I cannot do that.", "タグ: a, b", "<think>要約: x", "{}", "要約:\n"])
def test_a_reply_without_a_summary_is_refused(reply: str) -> None:
    with pytest.raises(UnreadableReply, match="要約"):
        read_reply(reply)


def test_the_form_itself_repeated_is_no_summary() -> None:
    with pytest.raises(UnreadableReply):
        read_reply("要約: [30-50単語程度の簡潔な説明]\nタグ: [3-7個の重要キーワードをカンマ区切り]")


@each_row(
    ("text", "tags"),
    [
        ("C#, C++, F#", ["C#", "C++", "F#"]),
        ("クリーン・アーキテクチャ, Go", ["クリーン・アーキテクチャ", "Go"]),
        ("machine learning", ["machine learning"]),
        ("a / b / c", ["a", "b", "c"]),
        ("Go, go, GO", ["Go"]),
        ("`x`, **y**, 'z'", ["x", "y", "z"]),
        (", ".join("abcdefghij"), list("abcdefg")),
        ("x" * 61, []),
        ("", []),
    ],
)
def test_tags_are_taken_apart_with_care(text: str, tags: list[str]) -> None:
    assert read_tags(text) == tags


@given(st.text(max_size=200))
def test_nothing_a_model_says_breaks_the_reader(text: str) -> None:
    for reply in (text, f"要約: {text}", f"要約: x\nタグ: {text}", f'{{"summary": "{text}"}}'):
        try:
            found = read_reply(reply)
        except UnreadableReply:
            continue
        assert found.summary and "\n" not in found.summary
        assert len(found.tags) <= MAX_TAGS and all(tag == " ".join(tag.split()) for tag in found.tags)


def test_a_summary_is_asked_for_in_the_language_of_the_prompt() -> None:
    from nebula.graph.summaries.build import IN_ITS_LANGUAGE, summary_prompt

    assert summary_prompt("What is a tree?", "…").endswith(IN_ITS_LANGUAGE)
    assert summary_prompt("木とは？", "a tree").endswith("タグ: [3-7個の重要キーワードをカンマ区切り]")


@pytest.mark.parametrize(
    "reply",
    [
        "#" * 29,
        "Summary" + " " * 900 + "x\n{}",
        "Summary: a\n" + "*" * 40_000,
        "Summary: a\nTags: b" + " " * 40_000 + "c",
    ],
    ids=["marks", "blanks and JSON", "stars", "blanks among tags"],
)
def test_a_reply_of_nothing_but_marks_is_read_at_once(reply: str) -> None:
    """The first of them took twice as long with each further mark: forty would have been a day."""
    began = time.process_time()
    with suppress(UnreadableReply):
        read_reply(reply)
    assert time.process_time() - began < 2
