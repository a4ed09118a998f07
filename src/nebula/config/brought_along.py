"""The skills and commands that a project brings along, and whether the user has trusted these very ones.

They are words for the model and nothing runs by itself, but a stranger may have written them: they count once the user
has said so for this folder, and a changed one is asked about again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from nebula.config.settings import Settings
from nebula.files.digest import digest
from nebula.files.reading import UnreadableFile, read_below

PROJECT_SKILLS: Final = (".nebula/skills", ".agents/skills", ".claude/skills")
PROJECT_COMMANDS: Final = (".nebula/commands", ".claude/commands")
MOST_FILES: Final = 2000
_LARGEST: Final = 256 * 1024


def brought_along(root: str) -> dict[str, str]:
    """Return the files of a project's skills and commands, each with a digest of what it holds.

    A link is told by where it leads, a large file by its size."""
    found: dict[str, str] = {}
    for folder in PROJECT_SKILLS + PROJECT_COMMANDS:
        if os.path.isdir(os.path.join(root, folder)):  # in most projects five looks are all
            for path in _walk(root, folder):
                found[path] = _tell(os.path.join(root, path))
                if len(found) >= MOST_FILES:
                    return found
    return found


def extensions_fingerprint(settings: Settings) -> str:
    import json

    return "sha256:" + digest(json.dumps(sorted(settings.brought_along.items())).encode())


def are_extensions_trusted(settings: Settings) -> bool:
    """Return whether the user trusted these very skills and commands of this very folder."""
    if not settings.brought_along or not settings.trusted_extensions:
        return False
    known = settings.trusted_extensions.get(os.path.realpath(settings.root))
    return known is not None and known == extensions_fingerprint(settings)


def _walk(root: str, folder: str) -> Iterator[str]:
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            names = sorted(os.listdir(os.path.join(root, here)))
        except OSError:
            continue
        for name in names:
            path = f"{here}/{name}"
            if os.path.isdir(os.path.join(root, path)) and not os.path.islink(os.path.join(root, path)):
                waiting.append(path)
            else:
                yield path


def _tell(path: str) -> str:
    try:
        if os.path.islink(path):
            return f"link:{os.readlink(path)}"
        folder, name = os.path.split(path)
        found = read_below(folder, name, _LARGEST, follow=False)
        return digest(found) if found is not None else ""
    except UnreadableFile as problem:
        return f"{problem.reason} {os.lstat(path).st_size}" if os.path.lexists(path) else ""
    except OSError:
        return ""
