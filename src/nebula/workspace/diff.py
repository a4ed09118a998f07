"""The difference between two texts: counted, shown to people, and in hunks that can be applied one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from io import StringIO

from nebula.value import value
from nebula.workspace.changed_lines import Block, changed_blocks

CONTEXT_LINES = 3
"""Lines shown around a change, as in git."""


@value
class Hunk:
    """Changes near each other: lines of the old text, and the lines of the new one that replace them."""

    old_start: int
    """How many lines come before it."""
    old: tuple[str, ...]
    new: tuple[str, ...]
    blocks: tuple[Block, ...]
    """Which of these lines really differ, counted from the beginning of the texts."""
    text: str
    """The hunk as in a unified diff, with the lines around it."""


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
    """Return the difference between two texts; None stands for a missing file."""
    old_text, new_text = old or "", new or ""
    start, end = _same_ends(old_text, new_text)
    skipped = old_text.count("\n", 0, start)
    before = split_lines(old_text[start : len(old_text) - end])
    after = split_lines(new_text[start : len(new_text) - end])
    blocks = changed_blocks(before, after)
    if not blocks:
        return TextDiff("", 0, 0)
    added = sum(end - start for _, _, start, end in blocks)
    removed = sum(end - start for start, end, _, _ in blocks)
    head = [
        f"--- {'/dev/null' if old is None else 'a/' + path}\n",
        f"+++ {'/dev/null' if new is None else 'b/' + path}\n",
    ]
    hunks = tuple(_hunk(group, before, after, skipped) for group in _groups(blocks))
    return TextDiff("".join([*head, *(hunk.text for hunk in hunks)]), added, removed, hunks)


def apply_hunks(old: str | None, hunks: Iterable[Hunk]) -> str:
    """Return the old text with some of the hunks of its difference applied, in their order."""
    lines = split_lines(old)
    kept: list[str] = []
    reached = 0
    for hunk in hunks:
        kept += lines[reached : hunk.old_start]
        kept += hunk.new
        reached = hunk.old_start + len(hunk.old)
    return "".join(kept + lines[reached:])


def split_lines(text: str | None) -> list[str]:
    """Split a text at line feeds only; each line keeps its own, and other separators belong to the line."""
    return StringIO(text or "", newline="\n").readlines()


def _same_ends(old: str, new: str) -> tuple[int, int]:
    """Return how many characters are the same at the beginning and at the end, in whole lines and without those that
    are shown around a change. Of a long text a few lines differ mostly, and splitting it took most of a diff's time."""
    alike = _longest(min(len(old), len(new)), lambda a, b: old[a:b] == new[a:b])
    left = min(len(old), len(new)) - alike
    backward = _longest(left, lambda a, b: old[len(old) - b : len(old) - a] == new[len(new) - b : len(new) - a])
    start, end = alike + 1, len(old) - backward
    for _ in range(CONTEXT_LINES + 1):
        start = old.rfind("\n", 0, max(start - 1, 0)) + 1
        end = old.find("\n", end) + 1 or len(old)
    return start, len(old) - end


def _longest(most: int, is_same: Callable[[int, int], bool]) -> int:
    """Return how far two texts are the same, by halving what is left: a comparison of many characters costs little."""
    known = 0
    while known < most:
        middle = (known + most + 1) // 2
        if is_same(known, middle):
            known = middle
        else:
            most = middle - 1
    return known


def _groups(blocks: list[Block]) -> list[list[Block]]:
    groups = [[blocks[0]]]
    for block in blocks[1:]:
        if block[0] - groups[-1][-1][1] > 2 * CONTEXT_LINES:
            groups.append([])
        groups[-1].append(block)
    return groups


def _hunk(group: list[Block], before: list[str], after: list[str], skipped: int) -> Hunk:
    a, b, c, d = group[0][0], group[-1][1], group[0][2], group[-1][3]
    blocks = tuple((w + skipped, x + skipped, y + skipped, z + skipped) for w, x, y, z in group)
    text = "".join(_render(group, before, after, skipped))
    return Hunk(a + skipped, tuple(before[a:b]), tuple(after[c:d]), blocks, text)


def _render(group: list[Block], before: list[str], after: list[str], skipped: int) -> list[str]:
    lead = min(CONTEXT_LINES, group[0][0])
    old_start, new_start = group[0][0] - lead, group[0][2] - lead
    tail = min(CONTEXT_LINES, len(before) - group[-1][1])
    old_end, new_end = group[-1][1] + tail, group[-1][3] + tail
    spans = _span(old_start + skipped, old_end + skipped), _span(new_start + skipped, new_end + skipped)
    lines = [f"@@ -{spans[0]} +{spans[1]} @@\n"]
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
    """Return `base` with both changes merged, line by line; None where they conflict."""
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
    """Return whether two changes touch the same or adjacent lines."""
    return one[0] <= other[1] and other[0] <= one[1]


def _new(change: tuple[Block, list[str]]) -> list[str]:
    (_, _, start, end), lines = change
    return lines[start:end]
