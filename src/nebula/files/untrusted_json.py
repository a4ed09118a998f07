"""Parsing JSON that somebody else may have written: whatever is wrong with it is a ValueError."""

from __future__ import annotations

import json
from typing import Any, Final

from nebula.files.reading import read_below

DEEPEST: Final = 200
"""Lists and objects in one another. Far below what the interpreter bears, so that whoever walks the value bears it."""


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text. Raises ValueError, also where it is nested too deeply."""
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if len(text) > 2 * DEEPEST and _is_too_deep(found):
        raise ValueError("it is nested too deeply")
    return found


def read_json(folder: str | int, path: str, limit: int) -> Any:
    """Return the value of a JSON file below a folder; None where there is none. Raises UnreadableFile, ValueError."""
    data = read_below(folder, path, limit)
    return None if data is None else parse_json(data)


def _is_too_deep(found: Any) -> bool:
    level = [found]
    for _ in range(DEEPEST):
        containers = (each for each in level if isinstance(each, (dict, list)))
        level = [child for each in containers for child in (each.values() if isinstance(each, dict) else each)]
        if not level:
            return False
    return any(isinstance(each, (dict, list)) for each in level)
