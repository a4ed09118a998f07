"""What code writes instead of a word: "config" for "configuration", `msg` for "message", `rm` for "remove"."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

from nebula.index.terms.words import stem


@lru_cache(maxsize=1)
def _groups() -> dict[str, tuple[str, ...]]:
    text = resources.files("nebula.index.terms").joinpath("related.txt").read_text(encoding="utf-8")
    found: dict[str, dict[str, None]] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            terms = dict.fromkeys(map(stem, line.split()))
            for term in terms:
                found.setdefault(term, {}).update(terms)
    return {term: tuple(other for other in others if other != term) for term, others in found.items()}


def related_terms(term: str) -> tuple[str, ...]:
    """Terms that may stand for this one, by a list that programmers would write."""
    return _groups().get(term, ())
