"""Calls in a notation of their own: what is read, where it ends, and what is wrong, with its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nebula.llm.dialect.lenient_json import Cut, Fault
from nebula.llm.dialect.notations import read_bare_keys, read_pythonic

Notation = Callable[[str, int], tuple[list[tuple[str, dict[str, Any]]], int]]


@pytest.mark.parametrize(
    ("read", "text", "calls", "rest"),
    [
        (read_pythonic, "f()", [("f", {})], ""),
        (read_pythonic, "[]", [], ""),
        (read_pythonic, '  f({"a": 1}) tail', [("f", {"a": 1})], " tail"),
        (read_pythonic, "[f(), g(b=[1])]  tail", [("f", {}), ("g", {"b": [1]})], "  tail"),
        (read_bare_keys, 'call:f{a:1,b:<|"|>x<|"|>}.', [("f", {"a": 1, "b": "x"})], "."),
        (read_bare_keys, "call:f(a:<escape>y<escape>)", [("f", {"a": "y"})], ""),
        (read_bare_keys, "call:f{'k':1} call:g{}", [("f", {"k": 1})], " call:g{}"),
        (read_bare_keys, 'call:f{a:<|"|>x<|"|>} call:g{b:<|"|>z<|"|>}', [("f", {"a": "x"})], ' call:g{b:<|"|>z<|"|>}'),
    ],
)
def test_a_call_is_read_to_its_end(read: Notation, text: str, calls: list[Any], rest: str) -> None:
    found, end = read(text, 0)
    assert (found, text[end:]) == (calls, rest)
    assert read(f"## {text}", 3) == (calls, end + 3)


@pytest.mark.parametrize(
    ("read", "text", "kind", "problem"),
    [
        (read_pythonic, "x y", Fault, "expected a call at line 1, column 1"),
        (read_pythonic, "\n  f(1)", Fault, "expected an argument by name at line 2, column 5"),
        (read_pythonic, "f(a=1,\n\n  a=2)", Fault, "the argument a stands twice at line 3, column 3"),
        (read_pythonic, "f(a=1\n, b)", Fault, "expected an argument by name at line 2, column 3"),
        (read_pythonic, "[f(a=1), 3]", Fault, "expected a call at line 1, column 10"),
        (read_pythonic, 'f({"a": 1}', Cut, "the reply is cut off at line 1, column 11"),
        (read_pythonic, "f(a='x", Cut, "the reply is cut off inside a string at line 1, column 7"),
        (read_pythonic, "f(a=1", Cut, "closing brackets are missing at line 1, column 6"),
        (read_bare_keys, "x", Fault, "expected a call at line 1, column 1"),
        (read_bare_keys, 'call:f{a:<|"|>x', Cut, "the reply is cut off inside a string at line 1, column 16"),
        (read_bare_keys, 'call:f{a:<|"|>x<|"|>y<|"|>}', Fault, "expected ',' or '}', found 'y' at line 1, column 21"),
        (
            read_bare_keys,
            'call:f{a:<|"|>x<|"|>}\n<|"|>}',
            Fault,
            "a string holds the sign that ends it; send this call as JSON at line 2, column 1",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(read: Notation, text: str, kind: type[Fault], problem: str) -> None:
    with pytest.raises(Fault) as caught:
        read(text, 0)
    assert (type(caught.value), str(caught.value)) == (kind, problem)
