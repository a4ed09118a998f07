"""What is no plain file in the place of one, or so large that it is none of its kind: other programs open it by name,
wait for a pipe without end, and read whatever there is."""

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
MOST_OF_SETTINGS: Final = 1024 * 1024
"""Bytes of a file that the settings name, or that nobody needs to be large."""


_SMALL: Final = RULES | {
    "HEAD",
    "alternates",
    "attributes",
    "commondir",
    "config",
    "config.worktree",
    "exclude",
    "gitdir",
    "grafts",
    "sparse-checkout",
}
"""Files for git that are read whole, most of them by every git command, and that nobody needs to be large."""
_LARGE: Final = {"index": 1 << 30, "packed-refs": 1 << 30, "shallow": 1 << 28}
"""How many bytes the others may have that git reads whole."""


def find_odd_file(start: str, names: Container[str] | None = None, skip: Container[str] = ()) -> str | None:
    """Return the path of the first pipe, device or socket below a folder, also behind a link, or of the first file too
    large for its name; of all files, or of those with one of these names."""
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
                named = _NAMED.findall(file.read(MOST_OF_SETTINGS))
        except (OSError, ValueError):
            continue
        here = os.path.dirname(waiting[at])
        waiting += [os.path.join(here, os.path.expanduser(each.strip())) for each in named]
    return next((each for each in waiting if is_odd(each, most=MOST_OF_SETTINGS)), None)


def is_odd(path: str, most: int | None = None) -> bool:
    """Return whether something is neither a folder nor a plain file, or has more bytes than `most`; without that, than
    a file of its name may have."""
    try:
        found = os.stat(path)
    except OSError:
        return False
    if not stat.S_ISREG(found.st_mode):
        return not stat.S_ISDIR(found.st_mode)
    name = os.path.basename(path)
    limit = MOST_OF_SETTINGS if name in _SMALL else _LARGE.get(name)
    return found.st_size > (most or limit or found.st_size)
