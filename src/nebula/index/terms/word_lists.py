"""Lists of words that carry a question to the code: what code writes instead of a word, and English for Japanese."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from importlib import resources

from nebula.index.constants import SHARED_WEIGHT
from nebula.index.terms.words import stem

_LONGEST = 12


def related_terms(term: str) -> tuple[str, ...]:
    """Terms that may stand for this one: "config" for "configuration", `msg` for "message", `rm` for "remove"."""
    return _groups().get(term, ())


def english_words(question: str) -> list[tuple[str, float]]:
    """English words for what the list knows of the question, the longest match first; each with its weight.

    The words of one entry share its weight, so that a word with many translations does not outweigh the rest.
    """
    entries = _translations()
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


@lru_cache(maxsize=1)
def _groups() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for words in _entries("related.txt"):
        terms = dict.fromkeys(map(stem, words))
        for term in terms:
            found.setdefault(term, {}).update(terms)
    return {term: tuple(other for other in others if other != term) for term, others in found.items()}


@lru_cache(maxsize=1)
def _translations() -> dict[str, tuple[str, ...]]:
    return {japanese: tuple(english) for japanese, *english in _entries("japanese.txt")}


def _entries(name: str) -> Iterator[list[str]]:
    text = resources.files("nebula.index.terms").joinpath(name).read_text(encoding="utf-8")
    return (line.split() for line in text.splitlines() if line.strip() and not line.startswith("#"))
