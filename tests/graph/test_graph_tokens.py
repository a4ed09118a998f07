"""Token counts: an estimate that is near what a tokenizer counts."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import splintr
from hypothesis import given
from hypothesis import strategies as st

from nebula.graph.tokens import estimate_tokens

ROOT = Path(__file__).parents[2]
ENGLISH = """The reader accepts what local models really send: native tool calls, code fences, think blocks and
prose around the object. Repairs are lossless only, and it never guesses at the content of a write. Which rung of
that ladder read the reply is in the trace, so that we can measure how often each of them was needed in practice."""
CODE = (ROOT / "src/nebula/graph/flows/topology.py").read_text(encoding="utf-8")
JAPANESE = """チャット履歴をフローとして管理するノードベースのインターフェースです。再試行やプロンプト修正により生じる
分岐を視覚化し、履歴を動的につなぎなおすことができる点が特徴です。テキストファイルは人間が直接読み書きしやすく、
特別なツールなしに内容を確認・編集できます。これにより、デバッグや手動でのデータ修正が容易になります。"""


@cache
def tokenizer() -> Any:
    return splintr.Tokenizer.from_pretrained("o200k_base")


@pytest.mark.parametrize("text", [ENGLISH, CODE, JAPANESE], ids=["English", "code", "Japanese"])
def test_the_estimate_is_near_the_count(text: str) -> None:
    counted = len(tokenizer().encode_ordinary(text))
    assert abs(estimate_tokens(text) / counted - 1) < 0.15


def test_no_text_is_no_token_and_any_text_at_least_one() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens(" ") == 1


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=80))
def test_any_text_can_be_counted(text: str) -> None:
    assert estimate_tokens(text) >= bool(text)
