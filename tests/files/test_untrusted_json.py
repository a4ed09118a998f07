"""JSON of strangers: a value, or a ValueError, whatever it holds."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from nebula.files.reading import UnreadableFile
from nebula.files.untrusted_json import DEEPEST, parse_json, read_json
from rows import each_row


def nested(depth: int) -> str:
    return '[{"a":' * (depth // 2) + ("[" * (depth % 2) + "]" * (depth % 2) or "1") + "}]" * (depth // 2)


@pytest.mark.parametrize("depth", [1, 2, DEEPEST - 1, DEEPEST])
def test_what_may_be_nested_is_a_value(depth: int) -> None:
    assert parse_json(nested(depth)) == json.loads(nested(depth))


@pytest.mark.parametrize("depth", [DEEPEST + 1, DEEPEST + 2, 900, 100_000])
def test_what_is_nested_too_deeply_is_a_value_error(depth: int) -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json(nested(depth))


@each_row("text", ["", "{", "[1,", b"\xff", '{"a": 9' + "9" * 5_000 + "}"])
def test_what_is_no_json_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        parse_json(text)


def test_a_file_has_a_limit_and_is_no_pipe(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": 1}')
    os.mkfifo(tmp_path / "pipe.json")
    assert read_json(str(tmp_path), "a.json", 8) == {"a": 1}
    assert read_json(str(tmp_path), "none.json", 8) is None
    for name in ("a.json", "pipe.json"):
        with pytest.raises(UnreadableFile):
            read_json(str(tmp_path), name, 7)
