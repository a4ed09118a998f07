"""Where skills and commands lie: the user's own folders, and those of a project that is trusted.

Everything is opened from the descriptor of a folder, limited and without blocking. In a project no link is followed
that leaves it, and a file is read only as it was when the project's were trusted; a link in the user's own folders is
the user's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, Literal

from nebula.config import Settings
from nebula.config.brought_along import PROJECT_COMMANDS, PROJECT_SKILLS
from nebula.files.descriptors import closed_after
from nebula.files.digest import digest
from nebula.files.reading import UnreadableFile, open_below, read_below
from nebula.language import Sentence
from nebula.value import value

Owner = Literal["user", "project"]

MOST_ENTRIES: Final = 500
LARGEST_FILE: Final = 256 * 1024


@value
class ExtensionPlace:
    """A folder that may hold skills or commands: `path` below `base`."""

    base: str
    path: str
    owner: Owner
    trusted: Mapping[str, str] = MappingProxyType({})
    """Of a project: its files that the user trusted, by path, each with a digest of what it held."""

    def is_trusted(self, path: str, data: bytes) -> bool:
        """Return whether these bytes are what the user trusted at this path, or where a link at it leads."""
        whole = os.path.normpath(os.path.join(self.folder, path))
        real = os.path.relpath(os.path.realpath(whole), os.path.realpath(self.base))
        return digest(data) in (self.trusted.get(os.path.relpath(whole, self.base)), self.trusted.get(real))

    @property
    def folder(self) -> str:
        return os.path.join(self.base, self.path) if self.path else self.base


def skill_places(settings: Settings) -> list[ExtensionPlace]:
    """Return the folders of skills that count now, the user's first; those of a project only where it is trusted."""
    own = [
        ExtensionPlace(os.path.join(settings.home, "skills"), "", "user"),
        ExtensionPlace(os.path.expanduser("~/.agents/skills"), "", "user"),
    ]
    return _existing([*own, *_of_project(settings, PROJECT_SKILLS)])


def command_places(settings: Settings) -> list[ExtensionPlace]:
    """Return the folders of commands that count now, in the same order."""
    own = [ExtensionPlace(os.path.join(settings.home, "commands"), "", "user")]
    return _existing([*own, *_of_project(settings, PROJECT_COMMANDS)])


def _of_project(settings: Settings, paths: tuple[str, ...]) -> list[ExtensionPlace]:
    if not settings.trust_extensions:
        return []
    return [ExtensionPlace(settings.root, path, "project", settings.brought_along) for path in paths]


def _existing(places: list[ExtensionPlace]) -> list[ExtensionPlace]:
    seen: set[str] = set()
    found = []
    for place in places:
        real = os.path.realpath(place.folder)
        if os.path.isdir(place.folder) and real not in seen:  # the project may be the home itself
            seen.add(real)
            found.append(place)
    return found


def list_names(place: ExtensionPlace, below: str = "") -> list[str]:
    """Return the names in a folder, in order; none where it cannot be opened."""
    try:
        with closed_after(open_below(place.base, _parts(place, below), follow=True)) as handle:
            return sorted(os.listdir(handle))[:MOST_ENTRIES]
    except OSError:
        return []


def read_text(place: ExtensionPlace, path: str) -> str | None:
    """Return a file of the folder as text, None where there is none. Raises UnreadableFile."""
    if place.owner == "user":  # wherever the user's links lead
        whole = os.path.realpath(os.path.join(place.folder, path))
        data = read_below(os.path.dirname(whole) or "/", os.path.basename(whole), LARGEST_FILE)
    else:
        data = read_below(place.base, os.path.join(place.path, path), LARGEST_FILE)
        if data is not None and not place.is_trusted(path, data):
            raise UnreadableFile(path, Sentence("it is not what you trusted; the next start asks about it"))
    if data is None:
        return None
    if b"\0" in data:
        raise UnreadableFile(path, "it is not a text")
    return data.decode("utf-8", "replace")


def walk_files(place: ExtensionPlace, below: str, most: int) -> Iterator[str]:
    """Yield the files below a folder of the place, by their paths in it, at most so many; links to folders are left
    out, and in a project all."""
    waiting = [below]
    while waiting and most > 0:
        here = waiting.pop()
        for name in list_names(place, here):
            path = f"{here}/{name}" if here else name
            whole = os.path.join(place.folder, path)
            if os.path.islink(whole) and (place.owner == "project" or os.path.isdir(whole)):
                continue
            if os.path.isdir(whole):
                waiting.append(path)
            elif most > 0:
                most -= 1
                yield path


def _parts(place: ExtensionPlace, below: str) -> list[str]:
    return [name for name in f"{place.path}/{below}".split("/") if name not in ("", ".")]
