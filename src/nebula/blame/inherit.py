"""Which lines of a text were lines of another one before, and whose they are.

A line is inherited where the diff keeps it, where only its blanks and tabs changed, and where it was taken out here and
put in there. A line that still stands where it stood was copied, so its second place is nobody's. The diff is the one
that people are shown (`workspace.changed_lines`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from nebula.blame import text
from nebula.value import record, value
from nebula.workspace.changed_lines import changed_blocks

Owner = TypeVar("Owner")


@value
class Lost(Generic[Owner]):
    """A line that a change took out."""

    number: int
    """Its place in the old text, so that lines which stood together can be told."""
    key: bytes
    owner: Owner
    old: bytes
    """The whole text that it was taken out of, where that is asked about (`_needs_text`): a turn may make many."""


@record
class Inheritance(Generic[Owner]):
    """The lines between what two texts have in common at both ends."""

    head: int
    """Lines that both texts begin with."""
    tail: int
    """Lines that both texts end with."""
    lines: list[bytes]
    """The new text's lines between them."""
    owners: list[Owner | None]
    """Of these lines; None: the change put it there."""
    lost: list[Lost[Owner]]
    new: bytes
    """The whole new text."""

    @property
    def is_settled(self) -> bool:
        """True when every line has an owner."""
        return None not in self.owners

    def find_open(self) -> list[bytes]:
        """Return the lines that have no owner."""
        return [line for line, owner in zip(self.lines, self.owners, strict=True) if owner is None]

    def claim_moved(self, lost: Iterable[Lost[Owner]]) -> list[Lost[Owner]]:
        """Give lines without an owner the owner of the same line among those that were taken out elsewhere; return the
        others of these."""
        return _claim_moved(self.lines, self.owners, list(lost), self.new)

    def settle(self, owner: Owner) -> None:
        """Give every line that still has no owner to `owner`."""
        self.owners = [owner if each is None else each for each in self.owners]


def inherit(old: bytes, owners: Sequence[Owner], new: bytes) -> Inheritance[Owner]:
    """Return what the lines of `new` inherit from `old`, whose lines have these owners."""
    start, end = text.common_ends(old, new)
    before, after = text.split(old[start : len(old) - end]), text.split(new[start : len(new) - end])
    head, tail = _count_ends(old, start, end, len(owners) - len(before))
    given = owners[head : len(owners) - tail]
    kept = _keep(before, after)
    found: list[Owner | None] = [None if number is None else given[number] for number in kept]
    stayed = {number for number in kept if number is not None}
    gone = [number for number in range(len(before)) if number not in stayed]
    keys = [text.key(before[number]) for number in gone]
    lost = [
        Lost(number, key, given[number], old if _needs_text(key) else b"")
        for number, key in zip(gone, keys, strict=True)
    ]
    rest = _claim_moved(after, found, lost, new)
    return Inheritance(head, tail, after, found, rest, new)


def _count_ends(content: bytes, start: int, end: int, lines: int) -> tuple[int, int]:
    """Return how many of so many lines stand in the first `start` bytes, and how many in the last `end` ones.

    The shorter end is counted: most of the time of a long history goes into this."""
    if start <= end:
        head = content.count(b"\n", 0, start)
        return head, lines - head
    tail = content.count(b"\n", len(content) - end) + (end > 0 and not content.endswith(b"\n"))
    return lines - tail, tail


def _keep(before: Sequence[bytes], after: Sequence[bytes]) -> list[int | None]:
    """Return for each line of `after` the line of `before` that it is, by its bytes or, failing that, by its key."""
    kept: list[int | None] = [None] * len(after)
    blocks = _fill_between(kept, before, after, (0, len(before), 0, len(after)))
    for a, b, c, d in blocks:
        if a < b and c < d:
            keys = [text.key(line) for line in before[a:b]], [text.key(line) for line in after[c:d]]
            _fill_between(kept, *keys, (a, b, c, d))
    return kept


def _fill_between(
    kept: list[int | None], before: Sequence[bytes], after: Sequence[bytes], block: tuple[int, int, int, int]
) -> list[tuple[int, int, int, int]]:
    """Note in `kept` what a diff of two runs of lines leaves in place; return what it does not."""
    a, b, c, d = block
    changed = changed_blocks(before, after)  # type: ignore[arg-type]
    old, new = 0, 0
    for w, x, y, z in [*changed, (b - a, b - a, d - c, d - c)]:
        kept[c + new : c + y] = range(a + old, a + w)
        old, new = x, z
    return [(a + w, a + x, c + y, c + z) for w, x, y, z in changed]


def _claim_moved(
    lines: Sequence[bytes], owners: list[Owner | None], lost: list[Lost[Owner]], new: bytes
) -> list[Lost[Owner]]:
    """Pair lines without an owner with lost ones of the same key; return the lost ones that are left.

    A telling line finds its like anywhere, and so does a short one that is the only one of its kind where it was and
    where it is. A line such as `}` goes only with the neighbour it stood beside before.
    """
    if not lost or None not in owners:
        return lost
    open_keys = {text.key(line) for line, owner in zip(lines, owners, strict=True) if owner is None}
    known = _find_telling(open_keys, lost, new)
    free = [True] * len(lost)
    by_key: dict[bytes, deque[int]] = {}
    for number, each in enumerate(lost):
        if each.key in open_keys:
            by_key.setdefault(each.key, deque()).append(number)
    taken: list[int | None] = [None] * len(lines)

    def take(number: int, place: int | None) -> None:
        if place is not None:
            free[place], taken[number], owners[number] = False, place, lost[place].owner

    for number, line in enumerate(lines):
        if owners[number] is not None:
            continue
        wanted = text.key(line)
        before = taken[number - 1] if number else None
        found = _beside(lost, free, before, 1, wanted)
        if found is None and wanted in known:
            same = by_key.get(wanted, deque())
            while same and not free[same[0]]:
                same.popleft()
            found = same[0] if same else None
        take(number, found)
    for number in range(len(lines) - 2, -1, -1):
        if owners[number] is None:
            take(number, _beside(lost, free, taken[number + 1], -1, text.key(lines[number])))
    return [each for place, each in enumerate(lost) if free[place]]


def _find_telling(keys: set[bytes], lost: Sequence[Lost[Owner]], new: bytes) -> set[bytes]:
    """Return which of these keys of a new text's lines say by themselves where they came from."""
    known = {key for key in keys if text.is_telling(key)}
    short: dict[bytes, list[Lost[Owner]]] = {key: [] for key in keys if _needs_text(key)}
    for each in lost:
        if each.key in short:
            short[each.key].append(each)
    only = (own[0] for own in short.values() if len(own) == 1)
    return known | {each.key for each in only if text.is_only(each.key, each.old) and text.is_only(each.key, new)}


def _needs_text(key: bytes) -> bool:
    """Return whether only the whole text tells if a short line is the one that stands elsewhere now."""
    return not text.is_telling(key) and text.says_anything(key)


def _beside(
    lost: Sequence[Lost[Owner]], free: Sequence[bool], place: int | None, step: int, wanted: bytes
) -> int | None:
    """Return the place of the lost line right behind (step 1) or before (-1) another one, if it is the one wanted."""
    if place is None or not 0 <= place + step < len(lost) or not free[place + step]:
        return None
    there = lost[place + step]
    return place + step if there.key == wanted and there.number == lost[place].number + step else None
