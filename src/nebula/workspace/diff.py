"""What changed between two texts, for people."""

from __future__ import annotations

from typing import Final

from nebula.value import value

COMPARED_LINES: Final = 4_000
"""Beyond so many differing lines on one side, the middle is shown as replaced rather than compared line by line."""


@value
class TextDiff:
    text: str
    """Unified; empty where nothing changed."""
    added: int
    removed: int


def diff_texts(path: str, old: str | None, new: str | None, *, context: int = 3) -> TextDiff:
    """From old to new, None standing for no file."""
    before, after = _lines(old), _lines(new)
    blocks = _blocks(before, after)
    added = sum(end - start for _, _, start, end in blocks)
    removed = sum(end - start for start, end, _, _ in blocks)
    if not blocks:
        return TextDiff("", 0, 0)
    head = [
        f"--- {'/dev/null' if old is None else 'a/' + path}\n",
        f"+++ {'/dev/null' if new is None else 'b/' + path}\n",
    ]
    body = [line for hunk in _hunks(blocks, context) for line in _render(hunk, before, after, context)]
    return TextDiff("".join(head + body), added, removed)


Block = tuple[int, int, int, int]
"""Lines [a, b) of the old text became lines [c, d) of the new one."""


def _lines(text: str | None) -> list[str]:
    """Split at line feeds only, each line keeping its own; other separators belong to the line."""
    lines = (text or "").split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def _blocks(before: list[str], after: list[str]) -> list[Block]:
    start, shorter = 0, min(len(before), len(after))
    while start < shorter and before[start] == after[start]:
        start += 1
    end = 0
    while end < shorter - start and before[-1 - end] == after[-1 - end]:
        end += 1
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if not old and not new:
        return []
    if not old or not new or max(len(old), len(new)) > COMPARED_LINES:
        return [(start, start + len(old), start, start + len(new))]
    from difflib import SequenceMatcher  # seldom needed, and slow to load

    codes = SequenceMatcher(None, old, new, autojunk=len(old) + len(new) > 2_000).get_opcodes()
    return [(a + start, b + start, c + start, d + start) for tag, a, b, c, d in codes if tag != "equal"]


def _hunks(blocks: list[Block], context: int) -> list[list[Block]]:
    hunks = [[blocks[0]]]
    for block in blocks[1:]:
        if block[0] - hunks[-1][-1][1] > 2 * context:
            hunks.append([])
        hunks[-1].append(block)
    return hunks


def _render(hunk: list[Block], before: list[str], after: list[str], context: int) -> list[str]:
    lead = min(context, hunk[0][0])
    old_start, new_start = hunk[0][0] - lead, hunk[0][2] - lead
    tail = min(context, len(before) - hunk[-1][1])
    old_end, new_end = hunk[-1][1] + tail, hunk[-1][3] + tail
    lines = [f"@@ -{_span(old_start, old_end)} +{_span(new_start, new_end)} @@\n"]
    here = old_start
    for a, b, c, d in hunk:
        lines += [_line(" ", text) for text in before[here:a]]
        lines += [_line("-", text) for text in before[a:b]]
        lines += [_line("+", text) for text in after[c:d]]
        here = b
    return lines + [_line(" ", text) for text in before[here:old_end]]


def _line(mark: str, text: str) -> str:
    return mark + text if text.endswith("\n") else f"{mark}{text}\n\\ No newline at end of file\n"


def _span(start: int, end: int) -> str:
    length = end - start
    first = start + 1 if length else start
    return str(first) if length == 1 else f"{first},{length}"
