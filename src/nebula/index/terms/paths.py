"""The terms of a path: what a file is called says what it is about."""

from __future__ import annotations

import os

from nebula.index.constants import PATH_FOLDER_WEIGHT, PATH_NAME_WEIGHT
from nebula.index.terms.words import terms_of, words_of

_SAYS_NOTHING = frozenset({"src", "lib", "init", "index", "main", "mod", "__init__"})
"""Names that every project has everywhere."""


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
