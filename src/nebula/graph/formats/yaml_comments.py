"""Comments that people put into a file the tool writes anew: each stays with the line it belongs to.

For the two files of `metadata/`, whose lines are known: keys, and `- id` below a key. A comment on a line of its own
belongs to the line that follows, one at the end of a line to that line. What lost its line goes to the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_ANY = re.compile(r"^[ \t]*#|[ \t]#", re.MULTILINE)
_SAID = re.compile(r'(?:"(?:[^"\\]|\\.)*"|\S(?<!")|[ \t]+(?!#))+')

_Anchor = tuple[str, str]


def without_comments(text: str) -> str:
    """Return what the file says."""
    if not _ANY.search(text):
        return text
    return "".join(f"{said}\n" for _, said, _ in _lines(text) if said)


def with_comments(new: str, old: str) -> str:
    """Return the new text with the comments of the old."""
    if not _ANY.search(old):
        return new
    above: dict[_Anchor, str] = {}
    behind: dict[_Anchor, str] = {}
    waiting = ""
    for anchor, said, comment in _lines(old):
        if not said:
            waiting += comment + "\n"
            continue
        if waiting:
            above[anchor], waiting = waiting, ""
        if comment:
            behind[anchor] = comment
    pieces = []
    for anchor, said, _ in _lines(new):
        pieces.append(above.pop(anchor, "") + said + behind.pop(anchor, "") + "\n")
    lost = [*above.values(), *(f"{comment.strip()}\n" for comment in behind.values()), waiting]
    return "".join([*pieces, *lost])


def _lines(text: str) -> Iterator[tuple[_Anchor, str, str]]:
    """Each line as what it stands for, what it says, and its comment; a line that is all comment says nothing."""
    key = ""
    for line in text.splitlines():
        if line.lstrip().startswith("#") or not line.strip():
            yield ("", ""), "", line
            continue
        found = _SAID.match(line)
        said = found[0].rstrip() if found else line
        if said.startswith("  ") and not said.startswith("   "):
            key = said
        name = said.partition(":")[0] if not said.startswith(" ") else said
        yield (key if said.startswith("   ") else "", name), said, line[len(said) :].rstrip()
