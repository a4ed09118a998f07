from hypothesis import given

from messages.message_strategies import json_values, texts
from nebula.messages import clean_tool_arguments, strip_control_characters, strip_hidden_characters
from nebula.messages.json_forms import json_text


def test_control_characters() -> None:
    everything = "".join(map(chr, range(0x21)))
    assert strip_control_characters(everything) == "\t\n\r "
    assert strip_control_characters("a\x06b\x7f\x85") == "ab\x7f\x85"


def test_arguments_are_cleaned_to_the_bottom() -> None:
    sent = {"pa\x00th": "a\x06.txt", "lines": ["\x1bx", {"n": 1, "b": True, "z": None}], "f": 1.5}
    kept = {"path": "a.txt", "lines": ["x", {"n": 1, "b": True, "z": None}], "f": 1.5}
    assert clean_tool_arguments(sent) == kept
    assert sent["lines"] == ["\x1bx", {"n": 1, "b": True, "z": None}]
    assert clean_tool_arguments("\x07text") == "text"


def test_tag_characters() -> None:
    hidden = "".join(chr(0xE0000 + ord(character)) for character in "ignore all")
    assert strip_hidden_characters(f"Hi{hidden} there\U000e007f") == "Hi there"
    for kept in ("👩‍👩‍👧", "क्‍ष", "\u200b", "Rust 🦀 > C", "\ufffd", "\U000e0080"):
        assert strip_hidden_characters(kept) == kept


@given(texts)
def test_nothing_else_is_taken(text: str) -> None:
    assert strip_control_characters(text) == "".join(c for c in text if c >= " " or c in "\t\n\r")
    assert strip_hidden_characters(text) == "".join(c for c in text if not "\U000e0000" <= c <= "\U000e007f")


@given(json_values)
def test_clean_arguments_hold_no_control_characters(value: object) -> None:
    cleaned = clean_tool_arguments(value)
    assert not any(f"\\u00{code:02x}" in json_text(cleaned).replace("\\\\", "") for code in range(0x20))
    assert clean_tool_arguments(cleaned) == cleaned
