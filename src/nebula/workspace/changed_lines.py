"""Compare two texts line by line, in nearly linear time.

Lines that occur once in each text are anchors for the rest (patience diff). Between two anchors the shortest edit is
searched for (Myers), up to MAX_STEPS lines; beyond that the whole range counts as replaced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

MAX_STEPS: Final = 600
"""Time grows with its square: about a tenth of a second where nothing is found."""
LINES_AT_ONCE: Final = 128
"""Equal parts at the ends are mostly long, and many lines are compared nearly as fast as one."""

Block = tuple[int, int, int, int]
"""Lines [a, b) of the old text became lines [c, d) of the new one; counted from 0."""


def changed_blocks(before: Sequence[str], after: Sequence[str]) -> list[Block]:
    """Return the blocks that differ, in order; no two of them touch."""
    found: list[Block] = []
    waiting: list[Block] = [(0, len(before), 0, len(after))]
    while waiting:
        a, b, c, d = _trim_equal_ends(before, after, waiting.pop())
        if a == b or c == d:
            found.append((a, b, c, d))
            continue
        anchors = _find_anchors(before[a:b], after[c:d])
        if anchors:
            places = [(a, c), *((a + old, c + new) for old, new in anchors), (b, d)]
            waiting += [(old, next_old, new, next_new) for (old, new), (next_old, next_new) in pairwise(places)]
            continue
        shortest = _find_shortest(before[a:b], after[c:d])
        found += [(a, b, c, d)] if shortest is None else [(a + w, a + x, c + y, c + z) for w, x, y, z in shortest]
    return _join_blocks(found)


def _trim_equal_ends(before: Sequence[str], after: Sequence[str], block: Block) -> Block:
    a, b, c, d = block
    for many in (LINES_AT_ONCE, 1):
        while a + many <= b and c + many <= d and before[a : a + many] == after[c : c + many]:
            a, c = a + many, c + many
    for many in (LINES_AT_ONCE, 1):
        while a + many <= b and c + many <= d and before[b - many : b] == after[d - many : d]:
            b, d = b - many, d - many
    return a, b, c, d


def _find_anchors(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions of lines that occur once in each text, as many as are in the same order."""
    once_before = {line for line, count in Counter(before).items() if count == 1}
    once_after = {line for line, count in Counter(after).items() if count == 1}
    shared = once_before & once_after
    if not shared:
        return []
    where = {line: place for place, line in enumerate(after) if line in shared}
    return _longest_rising([(place, where[line]) for place, line in enumerate(before) if line in shared])


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest sequence in which the second numbers rise as the first do."""
    from bisect import bisect_left  # loaded only when needed

    tops: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        pile = bisect_left(tops, place)
        before.append(last[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [place]
        last[pile : pile + 1] = [number]
    run = []
    number = last[-1] if last else -1
    while number >= 0:
        run.append(pairs[number])
        number = before[number]
    return run[::-1]


def _find_shortest(before: Sequence[str], after: Sequence[str]) -> list[Block] | None:
    """Return the fewest single lines to remove and to insert; None where that would be more than MAX_STEPS."""
    old, new = len(before), len(after)
    middle = MAX_STEPS + 1
    reached = [0] * (2 * middle + 1)
    trace: list[list[int]] = []
    for step in range(MAX_STEPS + 1):
        trace.append(reached[middle - step - 1 : middle + step + 2])
        for diagonal in range(-step, step + 1, 2):
            x = _position_before(reached, middle + diagonal, diagonal, step)
            y = x - diagonal
            while x < old and y < new and before[x] == after[y]:
                x, y = x + 1, y + 1
            reached[middle + diagonal] = x
            if x >= old and y >= new:
                return _trace_back(trace, old, new)
    return None


def _position_before(reached: Sequence[int], place: int, diagonal: int, step: int) -> int:
    """Return the position in the old text after inserting one more line (from the diagonal above) or removing one (from
    below)."""
    if _is_insertion(reached, place, diagonal, step):
        return reached[place + 1]
    return reached[place - 1] + 1


def _is_insertion(reached: Sequence[int], place: int, diagonal: int, step: int) -> bool:
    return diagonal == -step or (diagonal != step and reached[place - 1] < reached[place + 1])


def _trace_back(trace: Sequence[list[int]], x: int, y: int) -> list[Block]:
    found: list[Block] = []
    for step in range(len(trace) - 1, 0, -1):
        reached, diagonal = trace[step], x - y
        place = diagonal + step + 1
        put_in = _is_insertion(reached, place, diagonal, step)
        x = reached[place + 1] if put_in else reached[place - 1]
        y = x - diagonal - (1 if put_in else -1)
        found.append((x, x, y, y + 1) if put_in else (x, x + 1, y, y))
    return found


def _join_blocks(blocks: Iterable[Block]) -> list[Block]:
    joined: list[Block] = []
    for block in sorted(blocks):
        if block[0] == block[1] and block[2] == block[3]:
            continue
        if joined and joined[-1][1] == block[0] and joined[-1][3] == block[2]:
            joined[-1] = (joined[-1][0], block[1], joined[-1][2], block[3])
        else:
            joined.append(block)
    return joined
