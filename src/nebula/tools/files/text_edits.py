"""Replace exact texts in a text: in order, all or nothing; an error shows the nearest match.

A line break in an edit stands for the file's own, LF or CRLF; everything else is compared exactly. A byte order mark is
not part of the text and stays where it is, as does a missing line break at the end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from typing import Any, Final

from nebula.language import Sentence
from nebula.tools.contract import ToolFailure, whole_characters
from nebula.tools.ledger import BOM
from nebula.value import value

LINE_BREAK: Final = re.compile(r"\r\n|(?<!\r)\n")
MAX_QUOTED: Final = 200
MAX_PLACES_NAMED: Final = 5
MOST_COUNTED: Final = 1_000
"""Overlapping matches are found one by one, each in time proportional to the text that is looked for."""
MAX_GROWTH: Final = 4 * 1024 * 1024
"""In characters: many times what may be written at once. Otherwise edits that double what they find could fill the
memory."""

Place = tuple[int, int]
"""The beginning and the end of a match."""


@value
class TextEdit:
    old_text: str
    new_text: str
    all: bool = False


def read_edits(edits: object) -> list[TextEdit]:
    if not isinstance(edits, list) or not edits:
        raise ToolFailure("The argument 'edits' must be a list of {old_text, new_text}, with at least one of them.")
    return [_read_edit(number, edit) for number, edit in enumerate(edits, start=1)]


def _read_edit(number: int, edit: object) -> TextEdit:
    fields: Mapping[str, Any] = edit if isinstance(edit, Mapping) else {}
    old, new, everywhere = fields.get("old_text"), fields.get("new_text"), fields.get("all", False)
    if not isinstance(old, str) or not isinstance(new, str) or not isinstance(everywhere, bool):
        raise ToolFailure(f"Edit {number} must have the strings old_text and new_text, and may have all: true.")
    if not old.removeprefix(BOM):
        raise ToolFailure(f"Edit {number}: old_text is empty; give the text that is to be replaced.")
    whole_characters(new, f"Edit {number}: new_text")
    return TextEdit(old.removeprefix(BOM), new.removeprefix(BOM), everywhere)


def apply_edits(path: str, text: str, edits: Sequence[TextEdit], *, quote: bool = True) -> str:
    """Return the whole new text. Raises ToolFailure, naming the edit (counted from 1), if one does not fit. Without
    `quote` the error shows nothing of the text: it is recorded, and the file may be a secret one."""
    mark = BOM if text.startswith(BOM) else ""
    text = text.removeprefix(BOM)
    longest = len(text) + MAX_GROWTH
    for number, edit in enumerate(edits, start=1):
        old = _with_line_feeds(edit.old_text)
        places = list(islice(_find_matches(text, old, apart=edit.all), 1 if edit.all else MOST_COUNTED + 1))
        if not places:
            where = _nearest(text, edit.old_text) if quote else "Read the file again."
            problem = Sentence("The text to be replaced is not there.")
            raise ToolFailure(f"Edit {number}: old_text is in 0 places of {path}. {where}", problem=problem)
        if len(places) > 1 and not edit.all:
            problem = Sentence("The text to be replaced is there more than once.")
            raise ToolFailure(_too_many(number, path, text, places), problem=problem)
        text = _replace_at(number, text, edit, places, longest)
    return mark + text


def _find_matches(text: str, old: str, *, apart: bool) -> Iterator[Place]:
    """Yield every match of `old`; with `apart` only matches that do not overlap. The search runs in a copy with LF for
    each line break, as `old` has them, in linear time: a pattern that allows both line breaks would be tried again at
    each place of a long text."""
    plain = _with_line_feeds(text)
    wide = [found.start() - number for number, found in enumerate(re.finditer("\r\n", text))]
    before = within = 0
    at = plain.find(old)
    while at >= 0:
        end = at + len(old)
        before, within = _count_below(at, wide, before), _count_below(end, wide, within)
        yield at + before, end + within
        at = plain.find(old, end if apart else at + 1)


def _count_below(limit: int, ascending: Sequence[int], known: int) -> int:
    """Return how many of the numbers are below `limit`; `known` of them are known to be."""
    while known < len(ascending) and ascending[known] < limit:
        known += 1
    return known


def _replace_at(number: int, text: str, edit: TextEdit, places: Iterable[Place], longest: int) -> str:
    """Return the text with the edit made at these places, or at all. Its size is checked on the way."""
    old, new = _with_line_feeds(edit.old_text), _with_line_feeds(edit.new_text)
    if edit.all and "\r" not in text:
        _refuse_endless(number, len(text) + text.count(old) * (len(new) - len(old)), longest)
        return text.replace(old, new)
    written, parts, size, end = _Replacement(text, new), list[str](), 0, 0
    for start, stop in _find_matches(text, old, apart=True) if edit.all else places:
        parts += (text[end:start], written.at(start, stop))
        size, end = size + len(parts[-2]) + len(parts[-1]), stop
        _refuse_endless(number, size, longest)
    return "".join((*parts, text[end:]))


def _refuse_endless(number: int, size: int, longest: int) -> None:
    if size > longest:
        raise ToolFailure(f"Edit {number}: the text would become longer than {longest} characters.", code=413)


class _Replacement:
    """Returns the new text for one match after the other, with the line break used there. The text is searched once,
    however many matches there are."""

    def __init__(self, text: str, new: str) -> None:
        self._text = text
        self._new = new
        self._first = self._next = LINE_BREAK.search(text) if "\n" in self._new else None

    def at(self, start: int, stop: int) -> str:
        if self._first is None:
            return self._new
        while self._next is not None and self._next.start() < stop:
            self._next = LINE_BREAK.search(self._text, max(self._next.end(), stop))
        line_break = LINE_BREAK.search(self._text[start:stop]) or self._next or self._first
        return self._new.replace("\n", line_break[0])


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n") if "\r" in text else text  # one letter is found in a twentieth of the time


def _too_many(number: int, path: str, text: str, places: Sequence[Place]) -> str:
    lines = [str(text.count("\n", 0, start) + 1) for start, _ in places[:MAX_PLACES_NAMED]]
    count = str(len(places)) if len(places) <= MOST_COUNTED else f"more than {MOST_COUNTED}"
    more = ", …" if len(places) > MAX_PLACES_NAMED else ""
    return (
        f"Edit {number}: old_text is in {count} places of {path} (lines {', '.join(lines)}{more}). "
        "Send more of the text around the one you mean, or all: true for every one."
    )


def _nearest(text: str, wanted: str) -> str:
    """Return the lines that match nearly, and the first line that differs."""
    have, want = (
        _with_line_feeds(text).removesuffix("\n").split("\n"),
        _with_line_feeds(wanted).removesuffix("\n").split("\n"),
    )
    start = _best_start(have, want)
    if start is None:
        return "Nothing in the file is like it; read the file again."
    for number, line in enumerate(want, start=start):
        there = have[number] if 0 <= number < len(have) else None
        first_or_last = number in (start, start + len(want) - 1)
        if there is None:
            return f"The nearest place begins at line {start + 1}, but the file ends before line {number + 1}."
        if line != there and not (first_or_last and line in there):
            kind, which = "it differs", ""
            if line.split() == there.split():
                kind, which = "only white space differs", f" ({_first_difference(there, line)})"
            quoted = f"it is {_quoted(there)}, not {_quoted(line)}{which}"
            return f"The nearest place is line {number + 1}, where {kind}: {quoted}."
    return f"The nearest place begins at line {start + 1}; the line breaks or blanks around it differ."


def _first_difference(there: str, line: str) -> str:
    """Return a sentence on the first difference, with white space by name: on a screen, and to many a model, all of it
    looks alike."""
    pairs = zip_longest(there, line)
    column, (found, sent) = next((at, pair) for at, pair in enumerate(pairs, start=1) if pair[0] != pair[1])
    return f"column {column}: {_named(found)}, not {_named(sent)}"


def _named(character: str | None) -> str:
    if character is None:
        return "the line's end"
    if not character.isspace():
        return repr(character)
    import unicodedata  # most edits fit

    return "a tab" if character == "\t" else f"a {unicodedata.name(character, 'control character').lower()}"


def _best_start(have: Sequence[str], want: Sequence[str]) -> int | None:
    """Return the first line of the best match: where most lines are the same except for white space, else the line most
    like the longest one."""
    where: dict[str, list[int]] = {}
    for number, line in enumerate(have):
        if key := "".join(line.split()):
            where.setdefault(key, []).append(number)
    votes: Counter[int] = Counter()
    for number, line in enumerate(want):
        for place in where.get("".join(line.split()), ())[:MAX_QUOTED]:
            votes[place - number] += 1
    if votes:
        return max(votes.most_common(1)[0][0], 0)
    from difflib import get_close_matches  # seldom needed, and slow to load

    longest = max(range(len(want)), key=lambda number: len(want[number]))
    like = get_close_matches(want[longest].strip(), [line.strip()[:MAX_QUOTED] for line in have[:5_000]], 1, 0.6)
    if not like:
        return None
    found = next(number for number, line in enumerate(have) if line.strip()[:MAX_QUOTED] == like[0])
    return max(found - longest, 0)


def _quoted(line: str) -> str:
    return repr(line if len(line) <= MAX_QUOTED else line[:MAX_QUOTED] + "…")
