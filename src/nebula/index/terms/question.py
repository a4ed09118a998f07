"""From a question to weighted search terms."""

from __future__ import annotations

import re
from itertools import islice

from nebula.index.constants import (
    CODE_WORD_WEIGHT,
    FAINT_WORD_WEIGHT,
    LEAD_WORDS,
    MAX_QUERY_LETTERS,
    MAX_QUERY_TERMS,
    PAIR_WEIGHT,
    PIECE_WEIGHT,
    RELATED_WEIGHT,
    REST_WEIGHT,
)
from nebula.index.terms.word_lists import english_words, related_terms
from nebula.index.terms.words import terms_of, words_of

_STOP = frozenset(
    """
    a about am an and any are as at be because been being but by can cannot could did do does doing don for
    from had has have having he her here him his how however i if in into is isn it its itself just ll may
    me might must my neither no nor not of off on only onto or our own please quite rather re shall she
    should since so some still such than that the their them then there therefore these they this those
    though thus to too toward up upon us usually ve very via was way we were what when where whether which
    while who whom whose why will with would yet you your yours thanks thank
    """.split()  # noqa: SIM905
)
"""Words of any English sentence; they say nothing about where."""
_FAINT = frozenset(
    """
    add added adding adds after all allow allows also before bug case change changed changes code correctly
    currently each ensure ensures error even every feature file files fix fixed fixes fixing function get
    gets give given handle handled handling happen happens implement implementation implemented improve
    improved instead issue like made make makes merge method more most need needs new now object one other
    over per previously properly pull regression remove removed removes replace report request result return
    returns review reviews same see set show support supported update updated use used useful uses using
    value want wants when without work working works wrong find following first instance
    """.split()  # noqa: SIM905
)
"""Words of any request, commit message or docstring; they say little."""
_LOOKS_LIKE_CODE = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|^_+\w|^[A-Z0-9_]*_[A-Z0-9_]*$|[A-Z]{2,}[a-z]")
_JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_QUOTED = re.compile(r"`([^`\n]{1,80})`")


def says_something(word: str) -> bool:
    """Return whether a word is more than one of any English sentence."""
    return word.lower() not in _STOP


def question_terms(question: str) -> dict[str, float]:
    """Return term → weight. An identifier weighs more than a word of the sentence around it."""
    question = question[:MAX_QUERY_LETTERS]
    weights: dict[str, float] = {}
    pairs: dict[str, float] = {}
    plain: dict[str, float] = {}
    before = ""
    quoted = {word for part in _QUOTED.findall(question) for word in words_of(part)}
    for position, word in enumerate(words_of(question)):
        if not says_something(word):
            before = ""
            continue
        if word in quoted or _LOOKS_LIKE_CODE.search(word):
            weight = CODE_WORD_WEIGHT
        else:
            weight = FAINT_WORD_WEIGHT if word.lower() in _FAINT else 1.0
        if position >= LEAD_WORDS:
            weight *= REST_WEIGHT
        terms = terms_of(word)
        for term in terms:
            weights[term] = max(weights.get(term, 0.0), weight)
        if len(terms) == 1:
            plain[terms[0]] = weight
            if before:
                pairs[before + terms[0]] = PAIR_WEIGHT
            before = terms[0]
        else:
            before = ""
    for term, weight in plain.items():
        others = related_terms(term)
        for other in others:
            weights.setdefault(other, weight * RELATED_WEIGHT * len(others) ** -0.5)
    if _JAPANESE.search(question):
        weights = {term: weight if term.isascii() else PIECE_WEIGHT for term, weight in weights.items()}
        for word, weight in english_words(question):
            faint = FAINT_WORD_WEIGHT if word in _FAINT else 1.0
            for term in terms_of(word):
                weights[term] = max(weights.get(term, 0.0), weight * faint)
    return dict(islice(pairs.items(), MAX_QUERY_TERMS)) | dict(islice(weights.items(), MAX_QUERY_TERMS))
