"""What changed between two texts: counted, shown to people, and in hunks that can be applied one by one."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO

from nebula.value import value
from nebula.workspace.changed_lines import Block, changed_blocks

CONTEXT_LINES = 3
"""Around a change, as git shows it."""


@value
class Hunk:
    """Neighbouring changes: lines of the old text, and what stands there in the new one."""

    old_start: int
    """How many lines stand before it."""
    old: tuple[str, ...]
    new: tuple[str, ...]
    blocks: tuple[Block, ...]
    """Which of these lines really differ, counted from the start of the texts."""
    text: str
    """As a unified diff shows it, with the lines around it."""


@value
class TextDiff:
    text: str
    """Unified; empty where nothing changed."""
    added: int
    removed: int
    hunks: tuple[Hunk, ...] = ()

    @property
    def blocks(self) -> list[Block]:
        return [block for hunk in self.hunks for block in hunk.blocks]


def diff_texts(path: str, old: str | None, new: str | None) -> TextDiff:
    """Return the difference from old to new, None standing for no file."""
    before, after = split_lines(old), split_lines(new)
    blocks = changed_blocks(before, after)
    if not blocks:
        return TextDiff("", 0, 0)
    added = sum(end - start for _, _, start, end in blocks)
    removed = sum(end - start for start, end, _, _ in blocks)
    head = [
        f"--- {'/dev/null' if old is None else 'a/' + path}\n",
        f"+++ {'/dev/null' if new is None else 'b/' + path}\n",
    ]
    hunks = tuple(
        Hunk(a, tuple(before[a:b]), tuple(after[c:d]), tuple(group), "".join(_render(group, before, after)))
        for group in _groups(blocks)
        for a, b, c, d in [(group[0][0], group[-1][1], group[0][2], group[-1][3])]
    )
    return TextDiff("".join([*head, *(hunk.text for hunk in hunks)]), added, removed, hunks)


def apply_hunks(old: str | None, hunks: Iterable[Hunk]) -> str:
    """Return the old text with some of its diff's hunks applied, in their order."""
    lines = split_lines(old)
    kept: list[str] = []
    reached = 0
    for hunk in hunks:
        kept += lines[reached : hunk.old_start]
        kept += hunk.new
        reached = hunk.old_start + len(hunk.old)
    return "".join(kept + lines[reached:])


def split_lines(text: str | None) -> list[str]:
    """Split at line feeds only, each line keeping its own; other separators belong to the line."""
    return StringIO(text or "", newline="\n").readlines()


def _groups(blocks: list[Block]) -> list[list[Block]]:
    groups = [[blocks[0]]]
    for block in blocks[1:]:
        if block[0] - groups[-1][-1][1] > 2 * CONTEXT_LINES:
            groups.append([])
        groups[-1].append(block)
    return groups


def _render(group: list[Block], before: list[str], after: list[str]) -> list[str]:
    lead = min(CONTEXT_LINES, group[0][0])
    old_start, new_start = group[0][0] - lead, group[0][2] - lead
    tail = min(CONTEXT_LINES, len(before) - group[-1][1])
    old_end, new_end = group[-1][1] + tail, group[-1][3] + tail
    lines = [f"@@ -{_span(old_start, old_end)} +{_span(new_start, new_end)} @@\n"]
    here = old_start
    for a, b, c, d in group:
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


def merged(base: str, ours: str, theirs: str) -> str | None:
    """`base` with both changes, line by line; None where they are in each other's way."""
    lines, one, two = split_lines(base), split_lines(ours), split_lines(theirs)
    changes = [(block, one) for block in changed_blocks(lines, one)]
    for block in changed_blocks(lines, two):
        near = [each for each in changes if _meet(each[0], block)]
        if any(each[0][:2] != block[:2] or _new(each) != _new((block, two)) for each in near):
            return None
        if not near:
            changes.append((block, two))
    text: list[str] = []
    reached = 0
    for change in sorted(changes, key=lambda each: each[0]):
        start, end = change[0][:2]
        text += [*lines[reached:start], *_new(change)]
        reached = end
    return "".join(text + lines[reached:])


def _meet(one: Block, other: Block) -> bool:
    """Return whether two changes touch the same lines, or lines beside each other."""
    return one[0] <= other[1] and other[0] <= one[1]


def _new(change: tuple[Block, list[str]]) -> list[str]:
    (_, _, start, end), lines = change
    return lines[start:end]
