"""What an editor sends as a prompt is one, or is refused with a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nebula.server.acp.peer import RpcError
from nebula.server.acp.prompts import read_prompt

HALF = "half a surrogate pair"


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ({"type": "text"}, "'text' must be a string"),
        ({"type": "text", "text": None}, "'text' must be a string"),
        ({"type": "text", "text": ["do"]}, "'text' must be a string"),
        ({"type": "text", "text": "do \ud800"}, HALF),
        ({"type": "resource_link", "name": "a"}, "'uri' must be a string"),
        ({"type": "resource_link", "uri": "file:///\ud800"}, HALF),
        ({"type": "resource", "resource": {"uri": 3, "text": "a"}}, "'uri' must be a string"),
        ({"type": "resource", "resource": {"uri": "a", "text": None}}, "'text' must be a string"),
        ({"type": "resource", "resource": {"uri": "\ud800", "text": "a"}}, HALF),
        ({"type": "resource", "resource": {"uri": "a", "text": "\udfff"}}, HALF),
        ({"type": "resource", "resource": {"uri": "a", "blob": "YQ=="}}, "must bring its text along"),
        ({"type": "audio", "data": ""}, "content blocks of type 'audio'"),
        ({"type": "text", "text": " "}, "the prompt is empty"),
    ],
)
def test_what_is_no_prompt_is_refused(tmp_path: Path, block: dict[str, Any], problem: str) -> None:
    with pytest.raises(RpcError, match=problem):
        read_prompt([block], str(tmp_path))


def test_words_and_files_are_joined(tmp_path: Path) -> None:
    inside = (tmp_path / "a.py").as_uri()
    blocks = [
        {"type": "text", "text": "look at"},
        {"type": "resource_link", "uri": inside, "name": "a"},
        {"type": "text", "text": "and"},
        {"type": "resource", "resource": {"uri": inside, "text": "x = 1\n"}},
        {"type": "resource_link", "uri": "file:///etc/hosts", "name": "b"},
    ]
    text, (attached,) = read_prompt(blocks, str(tmp_path))
    assert text == "look at @a.py and a.py file:///etc/hosts" and attached.name == "a.py"
