"""Files that git left with conflict markers in them, taken apart into their versions."""

from __future__ import annotations

import re

from nebula.language import Sentence

OWN_SIZE = 32
"""Length of the markers our `.gitattributes` asks for: no conversation holds that by chance."""
OWN_MARK = "<" * OWN_SIZE + " "
_OURS, _THEIRS = b" ours\n", b" theirs\n"
_KEPT = re.compile(b"<{%d,}%s.*>{%d,}%s" % (OWN_SIZE, _OURS, OWN_SIZE, _THEIRS), re.DOTALL)

_USUAL_SIZE = 7
_BEGIN = re.compile(r"(<{7,})(?: [^\n]*)?\n?")


def versions(text: str) -> list[str]:
    """Return the versions in a text, ours first, or the text alone. There are more than two where what git took for a
    renamed file met another one: then one side of the conflict holds another conflict."""
    found, pending = [], [text]
    while pending:
        each = pending.pop(0)
        both = sides(each) if each is text or OWN_MARK in each else None
        if both is None:
            found.append(each)
        else:
            pending = [*both, *pending]
    return found


def sides(text: str) -> tuple[str, str] | None:
    """Return ours and theirs; None when the text holds no whole conflict. Beside markers as long as ours those of the
    usual size are what somebody wrote."""
    least = OWN_SIZE if OWN_MARK in text else _USUAL_SIZE
    held: tuple[list[str], list[str]] = ([], [])
    side = "both"
    size = 0
    found = False
    for line in text.splitlines(keepends=True):
        begin = _BEGIN.fullmatch(line)
        if side == "both" and begin and len(begin[1]) >= least:
            side, size = "ours", len(begin[1])
        elif side in ("ours", "base") and line.rstrip("\r\n") == "=" * size:
            side = "theirs"
        elif side == "ours" and _is_mark(line, "|", size):
            side = "base"
        elif side == "theirs" and _is_mark(line, ">", size):
            side, found = "both", True
        elif side != "base":
            for name, lines in zip(("ours", "theirs"), held, strict=True):
                if side in ("both", name):
                    lines.append(line)
    if not found or side != "both":
        return None
    return "".join(held[0]), "".join(held[1])


def explain_conflict(text: str, reason: Sentence) -> Sentence:
    """Return why a file cannot be read: a merge conflict, where it holds one, else the reason that a reader found."""
    return Sentence("holds a merge conflict: run vizprompt check --repair") if sides(text) else reason


def _is_mark(line: str, sign: str, size: int) -> bool:
    mark = sign * size
    return line.startswith(mark + " ") or line.rstrip("\r\n") == mark


def keep_both(ours: bytes, theirs: bytes) -> bytes:
    """Return a file that holds both versions, between markers longer than any in them."""
    size = OWN_SIZE
    while b"<" * size + b" " in ours + theirs:
        size += 1
    begin, middle, end = (mark * size for mark in (b"<", b"=", b">"))
    return b"".join((begin, _OURS, _whole(ours), middle, b"\n", _whole(theirs), end, _THEIRS))


def _whole(text: bytes) -> bytes:
    return text if text.endswith(b"\n") else text + b"\n"


def holds_both(data: bytes) -> bool:
    """Return whether a file is one that `keep_both` wrote."""
    return _KEPT.fullmatch(data) is not None
