"""One change taken out of a text, or put into it, while others have changed it elsewhere."""

from __future__ import annotations

from nebula.workspace.changed_lines import Block, changed_blocks
from nebula.workspace.diff import split_lines


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
