"""Markdown of an answer as HTML: what answers are made of, and nothing that could run or load.

Everything is escaped first; then headings, lists, quotations, code, emphasis and links to http(s) addresses get their
elements. What is not known stays as the text it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from html import escape

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)")
_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*")
_ITEM = re.compile(r"\s*(?:[-*+]|(\d{1,9})[.)])\s+(.*)")
_RULE = re.compile(r" {0,3}([-*_])(?:\s*\1){2,}\s*")
_CODE = re.compile(r"(`{1,8})([^`].*?)\1(?!`)")
_STRONG = re.compile(r"\*\*(?=\S)([^*]{1,2000}?)\*\*")
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*]{1,2000}?)\*(?![\w*])")
_LINK = re.compile(r"\[([^\[\]]{1,500})\]\((https?://[^\s()<>\"']{1,2000})\)")


def markdown_to_html(text: str) -> str:
    """Return the blocks of a Markdown text as HTML."""
    return "\n".join(_blocks(text.split("\n")))


def _blocks(lines: Sequence[str]) -> Iterator[str]:
    place = 0
    while place < len(lines):
        line = lines[place]
        if not line.strip():
            place += 1
        elif found := _FENCE.match(line):
            stop = next((n for n in range(place + 1, len(lines)) if _ends(lines[n], found[1])), len(lines))
            yield f"<pre><code>{escape(chr(10).join(lines[place + 1 : stop]))}</code></pre>"
            place = stop + 1
        elif found := _HEADING.fullmatch(line):
            level = min(6, len(found[1]) + 2)  # a turn has the first two
            yield f"<h{level}>{_inline(found[2])}</h{level}>"
            place += 1
        elif _RULE.fullmatch(line):
            yield "<hr>"
            place += 1
        elif line.lstrip().startswith(">"):
            stop = _end_of(lines, place, lambda each: each.lstrip().startswith(">"))
            inner = " ".join(each.lstrip()[1:].strip() for each in lines[place:stop])
            yield f"<blockquote><p>{_inline(inner)}</p></blockquote>"
            place = stop
        elif found := _ITEM.fullmatch(line):
            stop = _end_of(lines, place, lambda each: bool(each.strip()) and _FENCE.match(each) is None)
            yield _list(lines[place:stop], "ol" if found[1] else "ul")
            place = stop
        else:
            stop = _end_of(lines, place, _goes_on)
            yield f"<p>{'<br>'.join(_inline(each) for each in lines[place:stop])}</p>"
            place = stop


def _ends(line: str, mark: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(mark) and set(stripped) == {mark[0]}


def _end_of(lines: Sequence[str], start: int, belongs: Callable[[str], bool]) -> int:
    return next((n for n in range(start + 1, len(lines)) if not belongs(lines[n])), len(lines))


def _goes_on(line: str) -> bool:
    starts = _FENCE.match(line) or _HEADING.fullmatch(line) or _ITEM.fullmatch(line) or line.lstrip().startswith(">")
    return bool(line.strip()) and not starts


def _list(lines: Sequence[str], kind: str) -> str:
    items: list[str] = []
    for line in lines:
        found = _ITEM.fullmatch(line)
        if found or not items:
            items.append(found[2] if found else line.strip())
        else:
            items[-1] += f" {line.strip()}"
    return f"<{kind}>{''.join(f'<li>{_inline(each)}</li>' for each in items)}</{kind}>"


def _inline(text: str) -> str:
    """Return one run of text with its code, links and emphasis; inside code nothing else counts."""
    shown, end = [], 0
    for found in _CODE.finditer(text):
        shown += [_emphasise(text[end : found.start()]), f"<code>{escape(found[2].strip())}</code>"]
        end = found.end()
    return "".join([*shown, _emphasise(text[end:])])


def _emphasise(text: str) -> str:
    shown, end = [], 0
    for found in _LINK.finditer(text):
        link = f'<a href="{escape(found[2])}" rel="noreferrer">{_strong(found[1])}</a>'
        shown += [_strong(text[end : found.start()]), link]
        end = found.end()
    return "".join([*shown, _strong(text[end:])])


def _strong(text: str) -> str:
    text = _STRONG.sub(r"<strong>\1</strong>", escape(text))
    return _EMPHASIS.sub(r"<em>\1</em>", text)
