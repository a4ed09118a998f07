"""Files that git left with conflict markers in them, taken apart into the two versions."""

from __future__ import annotations

import re

from nebula.language import Sentence

OWN_SIZE = 32
"""Length of the markers our `.gitattributes` asks for: no conversation holds that by chance."""

_BEGIN = re.compile(r"(<{7,})(?: [^\n]*)?\n?")


def sides(text: str) -> tuple[str, str] | None:
    """Return ours and theirs; None when the text holds no whole conflict."""
    versions: tuple[list[str], list[str]] = ([], [])
    side = "both"
    size = 0
    found = False
    for line in text.splitlines(keepends=True):
        begin = _BEGIN.fullmatch(line)
        if side == "both" and begin:
            side, size = "ours", len(begin[1])
        elif side in ("ours", "base") and line.rstrip("\r\n") == "=" * size:
            side = "theirs"
        elif side == "ours" and _is_mark(line, "|", size):
            side = "base"
        elif side == "theirs" and _is_mark(line, ">", size):
            side, found = "both", True
        elif side != "base":
            for name, version in zip(("ours", "theirs"), versions, strict=True):
                if side in ("both", name):
                    version.append(line)
    if not found or side != "both":
        return None
    return "".join(versions[0]), "".join(versions[1])


def explain_conflict(text: str, reason: Sentence) -> Sentence:
    """Return why a file cannot be read: a merge conflict, where it holds one, else the reason that a reader found."""
    return Sentence("holds a merge conflict: run vizprompt check --repair") if sides(text) else reason


def _is_mark(line: str, sign: str, size: int) -> bool:
    mark = sign * size
    return line.startswith(mark + " ") or line.rstrip("\r\n") == mark


def has_own_markers(data: bytes) -> bool:
    return b"<" * OWN_SIZE + b" " in data
