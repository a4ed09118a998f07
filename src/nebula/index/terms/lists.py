"""The lists of words that lie beside these modules."""

from __future__ import annotations

import os

_HERE = os.path.dirname(__file__)


def read_list(name: str) -> str:
    """Return the text of a list, opened as a plain file: `importlib.resources` would be a sixth of a new search."""
    with open(os.path.join(_HERE, name), encoding="utf-8") as file:
        return file.read()
