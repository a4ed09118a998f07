"""What is no plain file in the place of one: other programs open it by name, and wait for a pipe without end."""

from __future__ import annotations

import os
import stat
from collections.abc import Container
from typing import Final

RULES: Final = frozenset({".gitignore", ".gitattributes", ".gitmodules"})
"""What git and ripgrep read in every folder of a work tree."""


def find_odd_file(start: str, names: Container[str] | None = None, skip: Container[str] = ()) -> str | None:
    """Return the path of the first pipe, device or socket below a folder, also behind a link; of all files, or of those
    with one of these names."""
    waiting = [start]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in skip:
                            waiting.append(entry.path)
                    elif (names is None or entry.name in names) and is_odd(entry.path):
                        return entry.path
        except OSError:
            continue  # unreadable, or gone: nobody else reads it either
    return None


def is_odd(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
