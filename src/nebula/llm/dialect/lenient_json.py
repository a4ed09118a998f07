"""A JSON reader for what models write, that repairs only what has one reading.

Beyond JSON it takes: raw control characters inside strings, a comma before a closing bracket, Python's single and
triple quotes, and True, False, None. It never guesses: a quote that is not escaped, an unknown escape, a key that
stands twice, a value that is cut off are faults, each with its place. Whether liberties were taken is reported, so
that the caller can tell a clean reply from a repaired one. Clean JSON is read by the standard library, at its speed.
"""

from __future__ import annotations

import json
import math
import re
import sys
from typing import Any, NoReturn

from nebula.llm.wire import well_formed
from nebula.value import value

MAX_DEPTH = 100

_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORD = re.compile(r"[A-Za-z_]+")
_PLAIN = {quote: re.compile(rf"[^{quote}\\]+") for quote in ("'", '"')}
_CONTROL = re.compile(r"[\x00-\x1f]")
_SURROGATE = re.compile(r"\\u[dD]")
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "/": "/", "\\": "\\", '"': '"', "'": "'"}


class Fault(ValueError):
    """The text is not JSON, even leniently."""

    def __init__(self, problem: str, text: str, place: int) -> None:
        super().__init__(problem)
        self.place = place
        self._text = text

    def __str__(self) -> str:
        # Counted only for a reader: most faults are braces in prose, and are passed over.
        line = self._text.count("\n", 0, self.place) + 1
        column = self.place - self._text.rfind("\n", 0, self.place)
        return f"{self.args[0]} at line {line}, column {column}"


class Cut(Fault):
    """The text ends before the value does. `closers`: the brackets that would complete it, where only those are
    missing; None where something else is missing as well, and completing it would be a guess."""

    def __init__(self, problem: str, text: str, closers: str | None = None) -> None:
        super().__init__(problem, text, len(text))
        self.closers = closers


@value
class Parsed:
    value: Any
    end: int
    repaired: bool
    """Strict JSON would have refused it."""


def parse_value(text: str, start: int = 0) -> Parsed:
    """Return the JSON value that begins at `start` (after white space). Raises `Cut` or `Fault`."""
    reader = Reader(text)
    at = reader.space(start)
    quick = _quick(_STRICT, text, at) or _quick(_LOOSE, text, at)
    if quick is not None:
        return quick
    value, end = reader.value(at, 0)
    return Parsed(value, end, reader.repaired)


def _quick(decoder: json.JSONDecoder, text: str, at: int) -> Parsed | None:
    """Return the value as the standard library reads it; None where only a closer look can tell."""
    try:
        value, end = decoder.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None
    openers = text.count("{", at, end) + text.count("[", at, end)
    if _SURROGATE.search(text, at, end) or (openers > MAX_DEPTH and _is_deep(value)):
        return None
    return Parsed(value, end, decoder is not _STRICT)


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        inner = [each for each in level if isinstance(each, dict | list)]
        level = [child for each in inner for child in (each.values() if isinstance(each, dict) else each)]
        if not level:
            return False
    return True


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits} is too large")
    return number


def _decoder(*, strict: bool) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_without_doubles, parse_float=_finite, parse_constant=_no_number, strict=strict
    )


_STRICT = _decoder(strict=True)
_LOOSE = _decoder(strict=False)
"""Takes raw control characters in strings."""


class Reader:
    """Reads values from one text, character by character: what the standard library refuses."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.repaired = False
        self._open: list[str] = []

    def space(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        text = self.text
        if at >= len(text):
            raise Cut("a value is missing", text)
        if depth > MAX_DEPTH:
            raise Fault("nested too deep", text, at)
        first = text[at]
        if first == "{":
            return self._object(at + 1, depth)
        if first == "[":
            return self._array(at + 1, depth)
        if first in "\"'":
            return self._string(at)
        return self._scalar(at)

    def _object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        result: dict[str, Any] = {}
        at, more = self._enter("}", at)
        while more:
            start = at
            if self.text[at] not in "\"'":
                raise Fault("expected a key in quotes", self.text, at)
            key, at = self._string(at)
            at = self._expect(":", self.space(at))
            if key in result:
                raise Fault(f"the key {key!r} stands twice", self.text, start)
            result[key], at = self.value(self.space(at), depth + 1)
            at, more = self._next_member("}", at)
        return result, at

    def _array(self, at: int, depth: int) -> tuple[list[Any], int]:
        result: list[Any] = []
        at, more = self._enter("]", at)
        while more:
            item, at = self.value(at, depth + 1)
            result.append(item)
            at, more = self._next_member("]", at)
        return result, at

    def _enter(self, closer: str, at: int) -> tuple[int, bool]:
        """Step past the opening bracket: where the first member begins, or where the empty value ends."""
        self._open.append(closer)
        return self._at_member(closer, self.space(at))

    def _next_member(self, closer: str, at: int) -> tuple[int, bool]:
        """Step past a member: where the next one begins, or where the value ends."""
        at = self.space(at)
        if at >= len(self.text):
            raise Cut("closing brackets are missing", self.text, self._closers(at))
        if self.text[at] == closer:
            return self._at_member(closer, at)
        at, more = self._at_member(closer, self.space(self._expect(",", at, closer)))
        self.repaired = self.repaired or not more  # a comma before the closing bracket
        return at, more

    def _at_member(self, closer: str, at: int) -> tuple[int, bool]:
        if at >= len(self.text):
            raise Cut("the reply is cut off", self.text)
        if self.text[at] != closer:
            return at, True
        self._open.pop()
        return at + 1, False

    def _closers(self, at: int) -> str | None:
        # A number at the very end may have lost digits; all else that is complete shows that it is.
        last = self.text[:at].rstrip()[-1:]
        return None if last.isdigit() else "".join(reversed(self._open))

    def _expect(self, char: str, at: int, other: str = "") -> int:
        if at >= len(self.text):
            raise Cut("the reply is cut off", self.text)
        if self.text[at] != char:
            wanted = f"'{char}' or '{other}'" if other else f"'{char}'"
            raise Fault(f"expected {wanted}, found {self.text[at]!r}", self.text, at)
        return at + 1

    def _string(self, at: int) -> tuple[str, int]:
        text, quote = self.text, self.text[at]
        start = at
        fence = quote * 3 if text.startswith(quote * 3, at) else quote
        self.repaired = self.repaired or fence != '"'
        at += len(fence)
        parts: list[str] = []
        plain = _PLAIN[quote]
        while True:
            if found := plain.match(text, at):
                parts.append(found.group())
                at = found.end()
            if at >= len(text):
                raise Cut("the reply is cut off inside a string", text)
            if text.startswith(fence, at):
                break
            if text[at] == "\\":
                char, at = self._escape(at + 1)
                parts.append(char)
            else:  # a single quote sign inside triple quotes
                parts.append(text[at])
                at += 1
        value = "".join(parts)
        if not self.repaired and _CONTROL.search(text, start, at):
            self.repaired = True
        return well_formed(value), at + len(fence)

    def _escape(self, at: int) -> tuple[str, int]:
        text = self.text
        if at >= len(text):
            raise Cut("the reply is cut off inside a string", text)
        char = text[at]
        if char in _ESCAPES:
            self.repaired = self.repaired or char == "'"
            return _ESCAPES[char], at + 1
        digits = {"u": 4, "x": 2, "U": 8}.get(char)
        if digits is None:
            raise Fault(f"unknown escape \\{char} (a backslash is written \\\\)", text, at - 1)
        code = text[at + 1 : at + 1 + digits]
        if len(code) < digits:
            raise Cut("the reply is cut off inside a string", text)
        if not re.fullmatch(r"[0-9a-fA-F]+", code) or int(code, 16) > sys.maxunicode:
            raise Fault(f"unknown escape \\{char}{code} (a backslash is written \\\\)", text, at - 1)
        self.repaired = self.repaired or char != "u"
        return chr(int(code, 16)), at + 1 + digits

    def _scalar(self, at: int) -> tuple[Any, int]:
        text = self.text
        if found := _NUMBER.match(text, at):
            return self._number(found), found.end()
        word = _WORD.match(text, at)
        if word is None:
            self._refuse(at)
        name = word.group()
        if name not in _WORDS:
            if word.end() == len(text) and any(known.startswith(name) for known in _WORDS):
                raise Cut("the reply is cut off", text)
            self._refuse(at)
        self.repaired = self.repaired or name[0].isupper()
        return _WORDS[name], word.end()

    def _number(self, found: re.Match[str]) -> int | float:
        digits = found.group()
        try:
            return int(digits) if digits.lstrip("-").isdigit() else _finite(digits)
        except ValueError:
            raise Fault("a number that is too large", self.text, found.start()) from None

    def _refuse(self, at: int) -> NoReturn:
        raise Fault(f"expected a value, found {self.text[at]!r}", self.text, at)
