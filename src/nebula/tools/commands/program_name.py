"""Find the name of the program that a shell line runs: enough to show what takes so long."""

from __future__ import annotations

import re

_PREPARES = frozenset({"cd", "export", "set", "source", ".", "env", "time", "exec", "nice", "sudo"})
_ASSIGNMENT = r"\w+=\S*"
_PLAIN = r"[\w.+/~-]+"
_NAME = r"[\w.+-]{1,30}"


def _first_command(line: str) -> list[str]:
    """Return the words of the first command of a shell line that is not mere preparation, such as `cd`."""
    for part in re.split(r"&&|\|\||[;|\n]", line):
        words = [word for word in part.split() if not re.fullmatch(_ASSIGNMENT, word)]
        if words and words[0] not in _PREPARES:
            return words
    return []


def program_of(line: str) -> str | None:
    """Return the program that a shell line runs; None where it has no plain name."""
    words = _first_command(line)
    if not words:
        return None
    name = words[0].rsplit("/", 1)[-1]
    if name.startswith("python") and words[1:2] == ["-m"] and len(words) > 2:
        name = words[2]
    return name if re.fullmatch(_NAME, name) and re.fullmatch(_PLAIN, words[0]) else None
