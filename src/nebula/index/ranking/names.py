"""How much of a question is in the names that a chunk defines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

from nebula.index.terms.words import parts_of

_REMEMBERED = 20_000


def name_score(symbol: str, rarities: Mapping[str, float]) -> float:
    """Of the best of its names: how much the parts weigh that were asked for, and how large a share they are."""
    best = 0.0
    for parts in _names(symbol):
        asked = [rarities[part] for part in parts if part in rarities]
        if asked:
            best = max(best, sum(asked) * math.sqrt(len(asked) / len(parts)))
    return best


@lru_cache(_REMEMBERED)
def _names(symbol: str) -> tuple[frozenset[str], ...]:
    """The parts of each name; of `Session.save` that of the method."""
    return tuple(frozenset(parts_of(name.rpartition(".")[2])) for name in symbol.split())
