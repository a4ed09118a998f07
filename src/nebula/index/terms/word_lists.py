"""Lists of words that carry a question to the code: what code writes instead of a word, and English for Japanese."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from nebula.index.constants import KANJI_WEIGHT, LOAN_WEIGHT, SHARED_WEIGHT
from nebula.index.terms.loan_words import KATAKANA, english_of, read_list
from nebula.index.terms.words import stem

_LONGEST = 12
"""Letters of a word in the list; no run of letters is looked through further than that."""


def related_terms(term: str) -> tuple[str, ...]:
    """Return terms that may stand for this one: "config" for "configuration", `msg` for "message", `rm` for
    "remove"."""
    return _groups().get(term, ())


def english_words(question: str) -> list[tuple[str, float]]:
    """English words for the Japanese ones of a question, each with its weight.

    A list knows some words, the longest match first. What it does not know is told by rule: a word in katakana by its
    sound, a compound by the meaning of its letters, which is a guess and weighs less. The words of one entry share its
    weight, so that a word with many translations does not outweigh the rest.
    """
    found: list[tuple[str, float]] = []
    for piece in _pieces(question):
        words, weight = _translations().get(piece, ()), 1.0
        if not words and KATAKANA.fullmatch(piece):
            words, weight = english_of(piece), LOAN_WEIGHT
        elif not words:
            words, weight = _meanings().get(piece, ()), KANJI_WEIGHT
        found += [(word, weight * len(words) ** -SHARED_WEIGHT) for word in words]
    return found


def _pieces(question: str) -> Iterator[str]:
    """Cut a question into the words that the list knows, and what lies between them: letters one by one, katakana as a
    whole."""
    entries = _translations()
    at = 0
    while at < len(question):
        run = KATAKANA.match(question, at)
        end = run.end() if run else len(question)
        if run and run[0] not in entries and english_of(run[0]):
            known = end
        else:
            furthest = min(end, at + _LONGEST)
            known = next((past for past in range(furthest, at, -1) if question[at:past] in entries), 0)
        past = known or (_end_of_unknown(question, at, end) if run else at + 1)
        yield question[at:past]
        at = past


def _end_of_unknown(question: str, at: int, end: int) -> int:
    """Return where the list knows something again in a run of katakana, or its end."""
    entries = _translations()
    for start in range(at + 1, end):
        if any(question[start:past] in entries for past in range(start + 2, min(end, start + _LONGEST) + 1)):
            return start
    return end


@lru_cache(maxsize=1)
def _groups() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for words in _entries("related.txt"):
        terms = dict.fromkeys(map(stem, words))
        for term in terms:
            found.setdefault(term, {}).update(terms)
    return {term: tuple(other for other in others if other != term) for term, others in found.items()}


@lru_cache(maxsize=1)
def _meanings() -> dict[str, tuple[str, ...]]:
    return {letter: tuple(english) for letter, *english in _entries("kanji.txt")}


@lru_cache(maxsize=1)
def _translations() -> dict[str, tuple[str, ...]]:
    return {japanese: tuple(english) for japanese, *english in _entries("japanese.txt")}


def _entries(name: str) -> Iterator[list[str]]:
    text = read_list(name)
    return (line.split() for line in text.splitlines() if line.strip() and not line.startswith("#"))
