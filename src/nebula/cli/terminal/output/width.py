"""How wide text is on a terminal. Japanese takes two columns a character, a joined emoji two in all."""

from __future__ import annotations

ELLIPSIS = "…"


def display_width(text: str) -> int:
    if text.isascii():
        return len(text)
    from wcwidth import width  # large tables; most lines are plain ASCII and need none

    return int(width(text, control_codes="ignore"))


def cut(text: str, columns: int) -> str:
    """The text, or as much of it as fits into `columns` with an ellipsis; never half a character."""
    if columns <= 0:
        return ""
    if display_width(text) <= columns:
        return text
    if text.isascii():
        return text[: columns - 1] + ELLIPSIS
    from wcwidth import iter_graphemes

    kept, used = [], 0
    for grapheme in iter_graphemes(text):
        used += display_width(grapheme)
        if used > columns - 1:
            break
        kept.append(grapheme)
    return "".join(kept) + ELLIPSIS


def pad(text: str, columns: int) -> str:
    return text + " " * max(0, columns - display_width(text))


def tail(text: str, columns: int) -> str:
    """The end of the text: what somebody is typing right now."""
    if display_width(text) <= columns:
        return text
    kept = list(text)
    while kept and display_width("".join(kept)) > columns - 1:
        del kept[0]
    return ELLIPSIS + "".join(kept)
