"""Calls that some models write in a notation of their own: as in Python, or with bare keys as Gemma does.

    [read_file(path="a.py"), list_files()]
    call:read_file{path:<|"|>a.py<|"|>,start_line:3}

Only what has one reading is read: arguments by name, literals for values. All else is a `Fault`, and what is not
there to its last bracket a `Cut`.
"""

from __future__ import annotations

import re
from typing import Any

from nebula.llm.dialect.lenient_json import Cut, Fault, Reader

NAME = r"[A-Za-z_][\w.:-]{0,99}"

_CALL = re.compile(rf"\s*({NAME})\(\s*")
_BARE_CALL = re.compile(rf"\s*call:({NAME}?)(?::{NAME})?\s*([{{(])\s*")
_KEYWORD = re.compile(r"([A-Za-z_]\w{0,99})\s*=\s*")
_BARE_KEY = re.compile(r"""([A-Za-z_][\w.-]{0,99})\s*(?=:)""")
_QUOTES = ('<|"|>', "<escape>")

Calls = list[tuple[str, dict[str, Any]]]


def read_pythonic(text: str, at: int) -> tuple[Calls, int]:
    """The call, or the list of calls, that begins at `at`; and where it ends."""
    reader = Reader(text)
    at = reader.space(at)
    if not text.startswith("[", at):
        call, at = _one_call(reader, at)
        return [call], at
    calls: Calls = []
    at, more = reader.enter("]", at + 1)
    while more:
        call, at = _one_call(reader, at)
        calls.append(call)
        at, more = reader.next_member("]", at)
    return calls, at


def _one_call(reader: Reader, at: int) -> tuple[tuple[str, dict[str, Any]], int]:
    opened = _CALL.match(reader.text, at)
    if opened is None:
        raise Fault("expected a call", reader.text, at)
    if reader.text.startswith("{", opened.end()):
        args, at = reader.value(opened.end(), 0)
        return (opened[1], args), reader.expect(")", reader.space(at))
    args = {}
    at, more = reader.enter(")", opened.end())
    while more:
        keyword = _KEYWORD.match(reader.text, at)
        if keyword is None:
            raise Fault("expected an argument by name", reader.text, at)
        if keyword[1] in args:
            raise Fault(f"the argument {keyword[1]} stands twice", reader.text, at)
        args[keyword[1]], at = reader.value(keyword.end(), 0)
        at, more = reader.next_member(")", at)
    return (opened[1], args), at


def read_bare_keys(text: str, at: int) -> tuple[Calls, int]:
    """A call as Gemma writes it: `call:NAME{key:value}`, strings between tokens of their own."""
    opened = _BARE_CALL.match(text, at)
    if opened is None:
        raise Fault("expected a call", text, at)
    reader = _BareKeys(text)
    args, end = reader.members("}" if opened[2] == "{" else ")", opened.end(), 0)
    if reader.quote:
        loose, following = text.find(reader.quote, end), text.find("call:", end)
        if loose >= 0 and not 0 <= following < loose:
            raise Fault("a string holds the sign that ends it; send this call as JSON", text, loose)
    return [(opened[1], args)], end


class _BareKeys(Reader):
    quote = ""
    """The sign around strings, once one was met. Nothing can escape it."""

    def key(self, at: int) -> tuple[str, int]:
        bare = _BARE_KEY.match(self.text, at)
        return (bare[1], bare.end()) if bare else super().key(at)

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        for quote in _QUOTES:
            if self.text.startswith(quote, at):
                self.quote, start = quote, at + len(quote)
                end = self.text.find(quote, start)
                if end < 0:
                    raise Cut("the reply is cut off inside a string", self.text)
                return self.text[start:end], end + len(quote)
        return super().value(at, depth)
