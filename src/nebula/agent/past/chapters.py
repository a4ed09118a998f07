"""Number the turns that are left out of a request, so that the model can find any of them again.

A conversation of any length becomes a handful of ranges; `readNode` opens each into smaller ones, down to single turns
with their ids. Nothing is stored for it: the turns themselves hold all that is needed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nebula.agent.conversation import PastTurn

MOST_RANGES = 20
WORDS_SHOWN = 60
"""Characters of a summary or a prompt that identify a turn."""
MOST_FOUND = 20
TOKENS_A_LINE = 32

_RANGE = r"(?i)(?:turns?\s*)?#?([1-9][0-9]{0,6})(?:\s*(?:-|–|to)\s*#?([1-9][0-9]{0,6}))?"


def outline(turns: Sequence[PastTurn], room: int) -> list[str]:
    """Return the turns as ranges, in about `room` tokens."""
    most = min(MOST_RANGES, room // TOKENS_A_LINE)
    return [_line(turns, first, last, short=True) for first, last in ranges(1, len(turns), most)] if most > 0 else []


def ranges(first: int, last: int, most: int = MOST_RANGES) -> list[tuple[int, int]]:
    """Return the numbers from `first` to `last` as ranges with round limits: the smallest for which `most` ranges are
    enough."""
    size = 1
    while (last - 1) // size - (first - 1) // size + 1 > max(most, 1):
        size *= 10
    starts = range((first - 1) // size * size + 1, last + 1, size)
    return [(max(start, first), min(start + size - 1, last)) for start in starts]


def look_up(turns: Sequence[PastTurn], asked: str) -> list[str]:
    """Return the lines for a model that asks for `turns 1-100` or for some words; empty where there is no such turn."""
    numbers = re.fullmatch(_RANGE, asked.strip())
    if numbers is not None:
        first = int(numbers[1])
        last = min(int(numbers[2] or first), len(turns))
        return [_line(turns, *each) for each in ranges(first, last)] if first <= last else []
    words = asked.lower().split()
    found = [number for number, turn in enumerate(turns, start=1) if words and _has(turn, words)]
    return [_line(turns, number, number) for number in found[:MOST_FOUND]]


def _has(turn: PastTurn, words: Sequence[str]) -> bool:
    text = f"{turn.prompt}\n{turn.answer}".lower()
    return all(word in text for word in words)


def _line(turns: Sequence[PastTurn], first: int, last: int, *, short: bool = False) -> str:
    if first == last:
        turn = turns[first - 1]
        said = _opening(turn) if short or not turn.summary else turn.summary
        return f"turn {first} [{turn.node_id or 'not kept'}]: {said}"
    return f"turns {first}-{last}: from “{_opening(turns[first - 1])}” to “{_opening(turns[last - 1])}”"


def _opening(turn: PastTurn) -> str:
    """Return the first words of the turn's summary, where there is one, else of its prompt."""
    text = " ".join((turn.summary or turn.prompt)[: WORDS_SHOWN * 4].split())
    return text if len(text) <= WORDS_SHOWN else text[:WORDS_SHOWN] + "…"
