"""The head of a Markdown file: `key: value` lines between two lines of dashes. Its words are content, never permission.

Only what heads of skills and commands hold is read: plain, quoted and folded texts at the first level. Lists and
whatever stands deeper belong to keys that nobody here asks for.
"""

from __future__ import annotations

import re
from typing import Final

from nebula.value import value

_KEY: Final = re.compile(r"([A-Za-z][\w-]*)\s*:(?:\s+(.*)|\s*)")
_BLOCK: Final = re.compile(r"[>|][+-]?\d?\s*(?:#.*)?")
_ESCAPES: Final = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "/": "/"}


@value
class MarkdownFile:
    """A Markdown text and the fields of its head; `has_head` is False where there was none."""

    fields: dict[str, str]
    body: str
    has_head: bool = False


def parse_markdown(text: str) -> MarkdownFile:
    """Return the fields of the head and the text behind it; a head that never ends is text like any other."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return MarkdownFile({}, text)
    end = next((n for n in range(1, len(lines)) if lines[n].rstrip() in ("---", "...")), None)
    if end is None:
        return MarkdownFile({}, text)
    return MarkdownFile(_fields(lines[1:end]), "\n".join(lines[end + 1 :]).lstrip("\n"), has_head=True)


def _fields(lines: list[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    name, held = "", list[str]()
    for line in [*lines, "end:"]:
        found = _KEY.fullmatch(line.rstrip())
        if found is None:
            held.append(line)
            continue
        if name:
            fields.setdefault(name, _text(held))
        name, held = found[1], [found[2] or ""]
    return fields


def _text(lines: list[str]) -> str:
    first, rest = lines[0].strip(), [line.strip() for line in lines[1:]]
    if _BLOCK.fullmatch(first):
        return ("\n" if first[0] == "|" else " ").join(rest).strip()
    whole = " ".join(filter(None, (first, *rest)))
    if len(whole) > 1 and whole[0] == whole[-1] == '"':
        return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), whole[1:-1])
    if len(whole) > 1 and whole[0] == whole[-1] == "'":
        return whole[1:-1].replace("''", "'")
    return re.sub(r"\s#.*$", "", whole).strip()
