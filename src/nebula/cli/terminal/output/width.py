"""How wide text is on a terminal, and where a line may end.

Japanese takes two columns a character, a joined emoji two in all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

ELLIPSIS = "…"
BETWEEN = " · "

_NEVER_FIRST = "、。，．・：；？！）］｝」』】〉》〕ー々ゝゞヽヾぁぃぅぇぉっゃゅょァィゥェォッャュョ,.:;?!)]}…"
_NEVER_LAST = "（［｛「『【〈《〔([{"
_WIDE = "\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff60\U00020000-\U0003ffff"
_KATAKANA = "\u30a1-\u30fa\u30fc"
_WORD = rf"[{_KATAKANA}]+|[{_WIDE}]|[^\s{_WIDE}]+"
_PIECES = re.compile(rf"\s+|[{re.escape(_NEVER_LAST)}]*(?:{_WORD})[{re.escape(_NEVER_FIRST)}]*")
"""White space, one wide character, or a word (in katakana, too); with what may not be parted from it.

Between any two a line may end.
"""
_LOOK_AHEAD = 8
"""Characters for each column that are looked at for one line: more than that many marks on one letter are no text."""


def display_width(text: str) -> int:
    if text.isascii():
        return len(text)
    from wcwidth import width  # large tables; most lines are plain ASCII and need none

    return int(width(text, control_codes="ignore"))


def cut(text: str, columns: int) -> str:
    """Return the text, or as much of it as fits into `columns` with an ellipsis; never half a character."""
    if columns <= 0:
        return ""
    if display_width(text) <= columns:
        return text
    return _beginning(text, columns - 1) + ELLIPSIS


def _beginning(text: str, columns: int) -> str:
    if text.isascii():
        return text[:columns]
    from wcwidth import iter_graphemes

    kept, used = [], 0
    for grapheme in iter_graphemes(text):
        used += display_width(grapheme)
        if used > columns:
            break
        kept.append(grapheme)
    return "".join(kept)


def pad(text: str, columns: int) -> str:
    return text + " " * max(0, columns - display_width(text))


def tail(text: str, columns: int) -> str:
    """Return the end of the text: what somebody is typing right now."""
    if display_width(text) <= columns:
        return text
    kept = list(text[-columns * _LOOK_AHEAD :])
    while kept and display_width("".join(kept)) > columns - 1:
        del kept[0]
    return ELLIPSIS + "".join(kept)


def wrap_parts(parts: Sequence[str], columns: int) -> list[str]:
    """Short parts, as many on a line as fit; none of them is broken."""
    lines: list[str] = []
    for part in parts:
        if lines and display_width(f"{lines[-1]}{BETWEEN}{part}") <= columns:
            lines[-1] += BETWEEN + part
        else:
            lines.append(part)
    return lines


def first_parts(parts: Sequence[str], columns: int) -> str:
    """Return as many parts as fit on one line, the first in any case."""
    return wrap_parts(parts, columns)[0] if parts else ""


def places_to_break(line: str, columns: int) -> list[int]:
    """Find where a line is broken so that its pieces fit, by the rules of `wrap`; a word too long is left."""
    places: list[int] = []
    at = used = 0
    for piece in _PIECES.findall(line):
        if used and used + display_width(piece.rstrip()) > columns:
            places.append(at)
            used = 0
        at += len(piece)
        used += display_width(piece)
    return places


def wrap(line: str, columns: int, hang: int = 0) -> list[str]:
    """Return the line in pieces that fit, broken between words, or between Japanese characters where their rules
    allow."""
    if display_width(line) <= columns:
        return [line]
    indent = " " * min(hang, columns // 2)
    lines, now = [], ""
    for piece in _PIECES.findall(line):
        if display_width(now + piece.rstrip()) <= columns:
            now += piece
            continue
        if now.strip():
            lines.append(now.rstrip())
            now = indent
        word, at, ahead = piece.lstrip(), 0, columns * _LOOK_AHEAD
        while display_width(now + word[at : at + ahead]) > columns:  # longer than a line, such as a path
            part = _beginning(now + word[at : at + ahead], columns)
            if len(part) <= len(now):  # not even one letter fits
                break
            lines.append(part)
            at, now = at + len(part) - len(now), indent
        now += word[at:]
    return [*lines, now.rstrip()] if now.strip() else lines
