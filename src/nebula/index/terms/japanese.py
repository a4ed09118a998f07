"""Carries a Japanese question to English code, by a list of words that programmers use."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

from nebula.index.constants import SHARED_WEIGHT

_LONGEST = 12


@lru_cache(maxsize=1)
def _list() -> dict[str, tuple[str, ...]]:
    text = resources.files("nebula.index.terms").joinpath("japanese.txt").read_text(encoding="utf-8")
    entries = {}
    for line in text.splitlines():
        words = line.split()
        if words and not line.startswith("#"):
            entries[words[0]] = tuple(words[1:])
    return entries


def english_words(question: str) -> list[tuple[str, float]]:
    """English words for what the list knows of the question, the longest match first; each with its weight.

    The words of one entry share its weight, so that a word with many translations does not outweigh the rest.
    """
    entries = _list()
    found: list[tuple[str, float]] = []
    at = 0
    while at < len(question):
        for length in range(min(_LONGEST, len(question) - at), 0, -1):
            words = entries.get(question[at : at + length])
            if words is not None:
                found += [(word, len(words) ** -SHARED_WEIGHT) for word in words]
                at += length - 1
                break
        at += 1
    return found
