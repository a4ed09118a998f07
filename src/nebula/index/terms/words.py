"""From text to search terms: identifiers whole and in parts, stems, Japanese in pairs of letters.

`userName`, `user_name` and "user names" share the terms `user` and `name`; the identifiers also share `username`, so
that an exact name weighs more than its parts.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache

from nebula.index.constants import MAX_NUMBER_LETTERS, MAX_TERM_LETTERS, PATH_FOLDER_WEIGHT, PATH_NAME_WEIGHT

_BETWEEN_WORDS = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}
WORD = re.compile(r"\w+")
_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_UNSPACED = re.compile(r"[\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uff66-\uff9f]+")
"""Scripts written without spaces between words (and Korean, whose particles stick to its words)."""
_OTHER_LETTERS = re.compile(r"[^\W\d_]+")

_MEMO_WORDS = 200_000
_SAYS_NOTHING = frozenset({"src", "lib", "init", "index", "main", "mod", "__init__"})
"""Names that every project has everywhere."""


class _Terms(dict[str, tuple[str, ...]]):
    """Word → its terms, worked out when a word is first asked for: words repeat."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        if len(self) > _MEMO_WORDS:
            self.clear()
        terms = self[word] = tuple(_ascii_terms(word) if word.isascii() else _other_terms(word))
        return terms


TERMS = _Terms()


def words_of(text: str) -> list[str]:
    """Return the runs of letters, digits and underscores. ASCII, as nearly all code is, is cut faster."""
    return text.translate(_BETWEEN_WORDS).split() if text.isascii() else WORD.findall(text)


def terms_of(word: str) -> tuple[str, ...]:
    """Return the terms of one word."""
    return TERMS[word]


def parts_of(word: str) -> list[str]:
    """Return the terms of an identifier's parts, without their pairs and the whole."""
    return [stem(part) for part in map(str.lower, _PARTS.findall(word)) if _is_worth_a_term(part)]


def _ascii_terms(word: str) -> list[str]:
    parts = parts_of(word)
    if len(parts) < 2:
        return parts
    whole = "".join(parts)
    if len(parts) == 2:
        return [*parts, whole]
    return [*parts, *map(str.__add__, parts, parts[1:]), whole[:MAX_TERM_LETTERS]]


def _is_worth_a_term(part: str) -> bool:
    return 1 < len(part) <= (MAX_NUMBER_LETTERS if part.isdigit() else MAX_TERM_LETTERS)


def _other_terms(word: str) -> list[str]:
    terms = []
    for run in _UNSPACED.findall(word):
        terms += [run[i : i + 2] for i in range(max(1, len(run) - 1))]
    for rest in _UNSPACED.sub(" ", word).split():
        if rest.isascii():
            terms += _ascii_terms(rest)
        else:
            terms += [each.lower() for each in _OTHER_LETTERS.findall(rest) if 1 < len(each) <= MAX_TERM_LETTERS]
    return terms


_SUFFIXES = {
    "s": (
        ("izations", "iz"),
        ("ations", "at"),
        ("ions", ""),
        ("ings", ""),
        ("ies", "i"),
        ("ers", ""),
        ("ors", ""),
        ("es", ""),
        ("s", ""),
    ),
    "n": (("ization", "iz"), ("ation", "at"), ("ion", "")),
    "g": (("ing", ""),),
    "d": (("ied", "i"), ("ed", "")),
    "r": (("er", ""), ("or", "")),
    "y": (("ly", ""), ("y", "i")),
    "e": (("e", ""),),
}
"""By their last letter: (suffix, what stands instead), the longest first."""


@lru_cache(16_384)
def stem(word: str) -> str:
    """Return the stem of a word: `cache`, `caches`, `cached`, `caching` are one term; so are `validate` and
    `validation`."""
    if len(word) < 4:
        return word
    for suffix, instead in _SUFFIXES.get(word[-1], ()):
        if word.endswith(suffix) and len(word) - len(suffix) + len(instead) >= 3:
            if suffix == "s" and word.endswith("ss"):
                return word
            short = word[: len(word) - len(suffix)] + instead
            if len(short) > 3 and short[-1] == short[-2] and short[-1] not in "aeiouls" and suffix != "s":
                short = short[:-1]  # running, stopped
            return short
    return word


def path_terms(path: str) -> dict[str, int]:
    """Return each term with its weight; the file's own name weighs more than the folders above it."""
    folder, name = os.path.split(path)
    weights: dict[str, int] = {}
    for text, weight in ((folder, PATH_FOLDER_WEIGHT), (os.path.splitext(name)[0], PATH_NAME_WEIGHT)):
        for word in words_of(text):
            for term in terms_of(word):
                if term not in _SAYS_NOTHING:
                    weights[term] = max(weights.get(term, 0), weight)
    return weights
