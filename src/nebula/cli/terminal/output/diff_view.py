"""A difference on the screen: added green, removed red, nothing in it obeyed by the terminal.

On a terminal its lines have their numbers, and in a line that was changed the words that differ are marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from nebula.cli.terminal.output.screen import Screen
from nebula.cli.terminal.output.width import display_width
from nebula.language import translate_count
from nebula.stage import neutralise
from nebula.value import value

MAX_LINES = 2_000
LONGEST_MARKED = 400
"""Characters of a line in which words are compared."""
ALIKE = 0.5
"""Lines that share less than this are shown as one gone and another come."""
_HUNK = re.compile(r"@@ -([0-9]+)(?:,([0-9]+))? \+([0-9]+)(?:,([0-9]+))? @@")
_WORDS = re.compile(r"[A-Za-z0-9_]+|\s+|.")

Pieces = list[tuple[str, str]]
"""A line in parts, each with its style."""


@value
class _Line:
    text: str
    style: str
    number: int | None = None
    """In the file: of a removed line the old one, else the new one; None outside of the hunks."""


def fits_half(screen: Screen, diffs: Iterable[str]) -> bool:
    """Return whether these can be shown beside a question that is then still in sight."""
    return fits(screen, diffs, screen.rows // 2)


def fits(screen: Screen, diffs: Iterable[str], room: int) -> bool:
    """Return whether these take no more than so many rows, and are not nothing."""
    rows, columns = 0, screen.columns
    for diff in diffs:
        lines = _lines(diff)
        beside = _digits(lines) + 1 if screen.capable else 0
        for line in lines:
            width = display_width(line.text.expandtabs()) + (beside if line.number is not None else 0)
            rows += max(1, -(-width // columns))
            if rows > room:
                return False
    return rows > 0


def show_diff(screen: Screen, diff: str) -> None:
    lines = _lines(diff)
    shown = lines[:MAX_LINES]
    if screen.capable:
        digits = _digits(lines)
        for line, pieces in zip(shown, _marked(shown), strict=True):
            number = "" if line.number is None else f"{line.number:>{digits}} "
            screen.pieces([(number, "dim"), *pieces])
    else:
        for line in shown:
            screen.verbatim(line.text, line.style)
    if len(lines) > MAX_LINES:
        more = len(lines) - MAX_LINES
        screen.line(translate_count(more, "… {count} more line", "… {count} more lines"), "dim")


def _digits(lines: Sequence[_Line]) -> int:
    return len(str(max((line.number or 0 for line in lines), default=0)))


def _lines(diff: str) -> list[_Line]:
    """Read a diff: what a line is follows from the counts of its hunk, since a removed `-- x` looks like a head."""
    found: list[_Line] = []
    old = new = old_left = new_left = 0
    for text in diff.rstrip("\n").split("\n"):
        sign = text[:1]
        if sign == "-" and old_left:
            found.append(_Line(text, "red", old))
            old, old_left = old + 1, old_left - 1
        elif sign == "+" and new_left:
            found.append(_Line(text, "green", new))
            new, new_left = new + 1, new_left - 1
        elif sign in (" ", "") and old_left and new_left:
            found.append(_Line(text, "", new))
            old, old_left, new, new_left = old + 1, old_left - 1, new + 1, new_left - 1
        elif head := _HUNK.match(text):
            old, new = int(head[1]), int(head[3])
            old_left, new_left = (1 if count is None else int(count) for count in (head[2], head[4]))
            found.append(_Line(text, "cyan"))
        else:
            found.append(_Line(text, "bold" if text.startswith(("+++", "---")) else ""))
    return found


def _marked(lines: Sequence[_Line]) -> Iterator[Pieces]:
    """Yield each line in pieces; where as many lines came as went, each is compared with its partner."""
    at = 0
    while at < len(lines):
        gone = _run(lines, at, "red")
        come = _run(lines, at + len(gone), "green")
        if gone and len(gone) == len(come):
            pairs = [_compare(old.text, new.text) for old, new in zip(gone, come, strict=True)]
            yield from (old for old, _ in pairs)
            yield from (new for _, new in pairs)
            at += 2 * len(gone)
        else:
            yield [(lines[at].text, lines[at].style)]
            at += 1


def _run(lines: Sequence[_Line], start: int, style: str) -> list[_Line]:
    end = start
    while end < len(lines) and lines[end].style == style:
        end += 1
    return list(lines[start:end])


def _compare(old: str, new: str) -> tuple[Pieces, Pieces]:
    """Return both lines with the words marked that the other has not."""
    whole: tuple[Pieces, Pieces] = [(old, "red")], [(new, "green")]
    if max(len(old), len(new)) > LONGEST_MARKED:
        return whole
    from difflib import SequenceMatcher

    before, after = _WORDS.findall(neutralise(old)[1:]), _WORDS.findall(neutralise(new)[1:])
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < ALIKE:
        return whole
    gone: Pieces = [("-", "red")]
    come: Pieces = [("+", "green")]
    for kind, first, last, start, end in matcher.get_opcodes():
        mark = "" if kind == "equal" else " mark"
        gone.append(("".join(before[first:last]), f"red{mark}"))
        come.append(("".join(after[start:end]), f"green{mark}"))
    return gone, come
