"""The lenient reader: what it reads, where that ends, whether liberties were taken, and what it refuses at which place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nebula.llm.dialect.lenient_json import MAX_DEPTH, Cut, Fault, Parsed, Reader, parse_value
from rows import each_row

# text, value, what is behind it, whether strict JSON would have refused it
READ: list[tuple[str, Any, str, bool]] = [
    ("1", 1, "", False),
    ("-0", 0, "", False),
    ("-15 ", -15, " ", False),
    (r'"\u00AF"', "¯", "", False),
    (r'"\U0010ffff"', "\U0010ffff", "", True),
    (" \t\r\n12 x", 12, " x", False),
    ("1.5e2,", 150.0, ",", False),
    ("1E+2", 100.0, "", False),
    ("2e-1", 0.2, "", False),
    ("01", 0, "1", False),
    ("true", True, "", False),
    ("null]", None, "]", False),
    ("True", True, "", True),
    ("False", False, "", True),
    ("None", None, "", True),
    ("[]", [], "", False),
    ("{}", {}, "", False),
    ("[ ] ", [], " ", False),
    ("[1, 2 , 3]", [1, 2, 3], "", False),
    ("[1,]", [1], "", True),
    ("[1 , ] x", [1], " x", True),
    ('{"a": 1}', {"a": 1}, "", False),
    ('{"a": 1,}', {"a": 1}, "", True),
    ('{ "a" : [ { } ] , "b":"c" } ', {"a": [{}], "b": "c"}, " ", False),
    ("{'a': 'b'}", {"a": "b"}, "", True),
    ("{'a': \"b'c\"}", {"a": "b'c"}, "", True),
    ('"a\nb\tc"', "a\nb\tc", "", True),
    ('["a\x00"]', ["a\x00"], "", True),
    ("'a\nb'", "a\nb", "", True),
    ('""', "", "", False),
    ("''", "", "", True),
    ('["""a "b" c"""]', ['a "b" c'], "", True),
    ("'''it's \"\"\" x''' ", 'it\'s """ x', " ", True),
    ('["""a\\n\\""""] x', ['a\n"'], " x", True),
    (r'"\b\f\n\r\t\/\\\""', '\b\f\n\r\t/\\"', "", False),
    (r"'\''", "'", "", True),
    (r'"\'"', "'", "", True),
    (r'"\u00e9\u3042"', "éあ", "", False),
    (r'"\x41"', "A", "", True),
    (r'"\U0001f600"', "😀", "", True),
    (r'"\ud83d\ude00"', "😀", "", False),
    (r'["\ud83d\ude00", True]', ["😀", True], "", True),
    ('"あ"', "あ", "", False),
]


@each_row(("text", "value", "rest", "repaired"), READ)
def test_a_value_is_read_to_its_end(text: str, value: Any, rest: str, repaired: bool) -> None:
    end = len(text) - len(rest)
    assert parse_value(text) == Parsed(value, end, repaired)
    assert type(parse_value(text).value) is type(value)
    assert parse_value(f"{{[ {text}", 3) == Parsed(value, end + 3, repaired)
    slow = Reader(text)
    found, at = slow.value(slow.space(0), 0)
    assert (found, at, slow.repaired) == (value, end, repaired)
    assert type(found) is type(value)


REFUSED: list[tuple[str, str]] = [
    ("", "a value is missing at line 1, column 1"),
    (" \n ", "a value is missing at line 2, column 2"),
    ("oops", "expected a value, found 'o' at line 1, column 1"),
    ("[1, oops]", "expected a value, found 'o' at line 1, column 5"),
    ("\n[1,\n\n oops\n]\n", "expected a value, found 'o' at line 4, column 2"),
    ("\noops", "expected a value, found 'o' at line 2, column 1"),
    ("[NaN]", "expected a value, found 'N' at line 1, column 2"),
    ("[-Infinity]", "expected a value, found '-' at line 1, column 2"),
    ("[+1]", "expected a value, found '+' at line 1, column 2"),
    ("[,]", "expected a value, found ',' at line 1, column 2"),
    ("[1 2]", "expected ',' or ']', found '2' at line 1, column 4"),
    ("[1,\n 2}", "expected ',' or ']', found '}' at line 2, column 3"),
    ("{1: 2}", "expected a key in quotes at line 1, column 2"),
    ("{,}", "expected a key in quotes at line 1, column 2"),
    ('{"a" 1}', "expected ':', found '1' at line 1, column 6"),
    ('{"a": 1 "b": 2}', "expected ',' or '}', found '\"' at line 1, column 9"),
    ('{"a": 1,\n "a": 2}', "the key 'a' stands twice at line 2, column 2"),
    ('[{"a": 1, "a": 2}]', "the key 'a' stands twice at line 1, column 11"),
    (r'"\d"', r"unknown escape \d (a backslash is written \\) at line 1, column 2"),
    (r'"\u12g4"', r"unknown escape \u12g4 (a backslash is written \\) at line 1, column 2"),
    (r'"\U00110000"', r"unknown escape \U00110000 (a backslash is written \\) at line 1, column 2"),
    (r'["a", "\xg1"]', r"unknown escape \xg1 (a backslash is written \\) at line 1, column 8"),
    ("[1e999]", "a number that is too large at line 1, column 2"),
    ("[" + "1" * 5000 + "]", "a number that is too large at line 1, column 2"),
    ("[" * (MAX_DEPTH + 2), f"nested too deep at line 1, column {MAX_DEPTH + 2}"),
    ('{"a":' * (MAX_DEPTH + 2), f"nested too deep at line 1, column {5 * (MAX_DEPTH + 1) + 1}"),
]


@each_row(("text", "problem"), REFUSED, ids=lambda text: text[:30])
def test_what_is_wrong_is_named_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(Fault) as fault:
        parse_value(text)
    assert str(fault.value) == problem


INSIDE_A_STRING = "the reply is cut off inside a string"
BRACKETS = "closing brackets are missing"
CUT: list[tuple[str, str, str | None]] = [
    ("[", "the reply is cut off", None),
    ("[1,", "the reply is cut off", None),
    ("{", "the reply is cut off", None),
    ('{"a"', "the reply is cut off", None),
    ('{"a":', "a value is missing", None),
    ('{"a": "b', INSIDE_A_STRING, None),
    ("'b", INSIDE_A_STRING, None),
    ('["""b""', INSIDE_A_STRING, None),
    ('"b\\', INSIDE_A_STRING, None),
    ('"b\\u12', INSIDE_A_STRING, None),
    ("tru", "the reply is cut off", None),
    ("[Non", "the reply is cut off", None),
    ('["a"', BRACKETS, "]"),
    ('{"a": [{"b": "c"', BRACKETS, "}]}"),
    ('{"a": [{"b": "c"}', BRACKETS, "]}"),
    ('[[], {"a": {}} ', BRACKETS, "]"),
    ("[1", BRACKETS, None),
    ("[true", BRACKETS, "]"),
    ('["a" ', BRACKETS, "]"),
]


@each_row(("text", "problem", "closers"), CUT)
def test_what_is_cut_off_says_whether_brackets_alone_are_missing(text: str, problem: str, closers: str | None) -> None:
    with pytest.raises(Cut) as cut:
        parse_value(text)
    assert (str(cut.value), cut.value.closers) == (f"{problem} at line 1, column {len(text) + 1}", closers)
    assert cut.value.place == len(text)


@each_row("opened", ["[", '{"a":', '[{"a":[', "[1,", '[{},"{[",'])
@each_row("quote", ['"', "'"])
def test_the_depth_is_the_same_for_both_readers(opened: str, quote: str) -> None:
    levels = (opened.count("[") + opened.count("{")) - (3 if "{[" in opened else 0)
    closed = "".join({"[": "]", "{": "}"}[char] for char in reversed(opened.replace('{},"{[",', "")) if char in "[{")
    for depth in (MAX_DEPTH // levels, MAX_DEPTH // levels + 1):
        text = f"{opened * depth}{quote}x{quote}{closed * depth}"
        if depth * levels <= MAX_DEPTH:
            assert parse_value(text).end == len(text)
        else:
            with pytest.raises(Fault, match="nested too deep"):
                parse_value(text)


def test_many_brackets_side_by_side_are_not_deep() -> None:
    for text in ("[" + "[]," * 500 + "{}]", '{"a": [' + "{}," * 500 + "1]}", '["' + "[" * 500 + '"]'):
        assert parse_value(text) == Parsed(json.loads(text), len(text), False)


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.sampled_from([None, 1]), st.booleans(), st.text(max_size=4))
@example("\ud83d", None, True, "")
def test_both_readers_agree(value: Any, indent: int | None, ascii_only: bool, before: str) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    quick, slow = parse_value(before + text, len(before)), Reader(before + text)
    assert (*slow.value(len(before), 0), slow.repaired) == (quick.value, quick.end, quick.repaired)
    assert quick.end == len(before + text) and not quick.repaired
    if "\\ud" not in text:
        assert quick.value == value


@given(VALUES.filter(lambda value: isinstance(value, list | dict)), st.data())
def test_what_was_cut_is_never_read_as_something_else(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    with pytest.raises(Fault) as missing:
        parse_value(cut)
    closers = missing.value.closers if isinstance(missing.value, Cut) else None
    if closers is not None:
        assert parse_value(cut + closers).value == json.loads(cut + closers)
