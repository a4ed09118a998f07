"""Token counts: exact where the vocabulary is known, else an estimate that says so and is near the truth."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nebula.graph.tokens import TokenCount, count_tokens, counter, estimate_tokens, vocabulary_of

ROOT = Path(__file__).parents[2]
ENGLISH = """The reader accepts what local models really send: native tool calls, code fences, think blocks and
prose around the object. Repairs are lossless only, and it never guesses at the content of a write. Which rung of
that ladder read the reply is in the trace, so that we can measure how often each of them was needed in practice."""
CODE = (ROOT / "src/nebula/graph/flows/topology.py").read_text(encoding="utf-8")
JAPANESE = """チャット履歴をフローとして管理するノードベースのインターフェースです。再試行やプロンプト修正により生じる
分岐を視覚化し、履歴を動的につなぎなおすことができる点が特徴です。テキストファイルは人間が直接読み書きしやすく、
特別なツールなしに内容を確認・編集できます。これにより、デバッグや手動でのデータ修正が容易になります。"""

# What o200k_base makes of these, by OpenAI's own tiktoken.
KNOWN = {"Hello, world!": 4, "要約とタグによる効率的なコンテンツ参照": 15}


@pytest.mark.parametrize(
    ("model", "vocabulary"),
    [
        ("gpt-4.1-nano", "o200k_base"),
        ("openai/gpt-4o-mini", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("qwen3:8b", "qwen3"),
        ("phi4", "phi4"),
        ("phi4:14b", "phi4"),
        ("phi4-mini", None),
        ("deepseek-r1:8b", None),
        ("gemini-2.5-flash", None),
        ("", None),
    ],
)
def test_the_vocabulary_follows_the_family_of_the_model(model: str, vocabulary: str | None) -> None:
    assert vocabulary_of(model) == vocabulary


@pytest.mark.slow
def test_a_known_vocabulary_counts_exactly() -> None:
    pytest.importorskip("splintr", reason="exact counts come with the extra 'tokens'")
    for text, count in KNOWN.items():
        assert count_tokens(text, "gpt-4.1-nano") == TokenCount(count, exact=True)


def test_words_of_the_vocabulary_spelled_out_are_plain_text() -> None:
    pytest.importorskip("splintr")
    assert count_tokens("<|endoftext|>", "gpt-4.1").count > 1


@pytest.mark.parametrize("text", [ENGLISH, CODE, JAPANESE], ids=["English", "code", "Japanese"])
def test_the_estimate_is_near_the_count(text: str) -> None:
    pytest.importorskip("splintr")
    counted = count_tokens(text, "gpt-4.1").count
    assert abs(estimate_tokens(text) / counted - 1) < 0.15


def test_an_unknown_model_gets_an_estimate_that_says_so() -> None:
    assert count_tokens(ENGLISH, "gemini-2.5-flash") == TokenCount(estimate_tokens(ENGLISH), exact=False)
    assert counter("gemini-2.5-flash")(ENGLISH) == estimate_tokens(ENGLISH)


def test_no_text_is_no_token_and_any_text_at_least_one() -> None:
    assert count_tokens("", "x") == TokenCount(0, exact=False)
    assert estimate_tokens(" ") == 1


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=80))
def test_any_text_can_be_counted(text: str) -> None:
    assert estimate_tokens(text) >= bool(text)
    assert count_tokens(text, "gpt-4.1").count >= bool(text)


def test_importing_and_estimating_load_no_vocabulary() -> None:
    code = (
        "import sys; from nebula.graph import tokens; tokens.count_tokens('x', 'gemini-2.5-pro');"
        "print('splintr' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
