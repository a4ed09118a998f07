"""What is no plain file in the place of one: other programs open it by name, and wait for a pipe without end."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Container
from typing import Final

RULES: Final = frozenset({".gitignore", ".gitattributes", ".gitmodules", ".mailmap"})
"""What git and ripgrep read in every folder of a work tree, or at its top."""
_NAMED: Final = re.compile(
    r"^[^\S\n]*(?:path|ignoreRevsFile)[^\S\n]*=[^\S\n]*\"?([^\"\n]+)", re.MULTILINE | re.IGNORECASE
)
_MOST_SETTINGS: Final = 20
_LIMIT: Final = 1024 * 1024


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


def find_odd_settings(git_dir: str) -> str | None:
    """Return the path of the first pipe, device, socket or very large file that the settings of a repository have git
    read."""
    waiting = [os.path.join(git_dir, "config")]
    for at in range(_MOST_SETTINGS):
        if at == len(waiting) or is_odd(waiting[at]):
            break
        try:
            with open(waiting[at], encoding="utf-8", errors="surrogateescape") as file:
                named = _NAMED.findall(file.read(_LIMIT))
        except (OSError, ValueError):
            continue
        here = os.path.dirname(waiting[at])
        waiting += [os.path.join(here, os.path.expanduser(each.strip())) for each in named]
    return next((each for each in waiting if is_odd(each) or _is_large(each)), None)


def _is_large(path: str) -> bool:
    try:
        return os.stat(path).st_size > _LIMIT
    except OSError:
        return False


def is_odd(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
