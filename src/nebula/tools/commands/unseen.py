"""What a command line needs of the user's home and would not find in a layer, and the setting that shows it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence

from nebula.config import Settings
from nebula.language import Sentence
from nebula.sandbox.toolchains import find_toolchains
from nebula.tools.commands.program_name import words_of
from nebula.value import value

_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/lib", "/etc/", "/opt/", "/nix/", "/gnu/")
_ENVIRONMENTS = (".venv", "venv", "env")
_PROGRAMS = ("bin", "shims")
_RUSTUP = "rustup"
_SHARED = ("", ".local")
"""Folders of a home whose `bin` belongs to nobody in particular: only that is shown."""
_BESIDE_KEYS = {".cargo": ("bin", "registry", "git")}
"""A folder of a home that holds keys as well, and what of it programs need."""
_LONGEST_LINE = 512


@value
class Unseen:
    """Folders that a program needs, as they are written in a setting."""

    folders: tuple[str, ...]
    line: str
    """Of the user's config.json."""
    file: str

    def sentence(self, command: str) -> Sentence:
        return Sentence(
            "In a layer '{command}' does not see {folders}. To show it to commands, put this line into {file}: {line}",
            command=command,
            folders=", ".join(self.folders),
            file=self.file,
            line=self.line,
        )


def unseen_by(command: str, settings: Settings) -> Unseen | None:
    """None where its program lies in the system or the project, is shown already, or is nowhere."""
    words = words_of(command)
    if not words:
        return None
    shown = find_toolchains(settings.root, os.environ).folders
    listed = (os.path.expanduser(path) for path in settings.sandbox_read)
    seen = [os.path.realpath(settings.root), *shown, *map(os.path.realpath, listed)]
    hidden = [place for place in _places(words[0], settings.root) if not _is_seen(place, seen)]
    folders = _outermost([folder for place in hidden for folder in _folders_for(place)])
    if not folders:
        return None
    short = tuple(map(_short, folders))
    line = f'"sandbox_read": {json.dumps([*settings.sandbox_read, *short], ensure_ascii=False)}'
    return Unseen(short, line, _short(os.path.join(settings.home, "config.json")))


def unseen_by_environment(settings: Settings) -> Sentence | None:
    """What the project's own virtual environment needs, whatever is run in it."""
    for name in _ENVIRONMENTS:
        program = os.path.join(name, "bin", "python")
        if os.path.islink(os.path.join(settings.root, program)) and (found := unseen_by(program, settings)) is not None:
            return found.sentence(program)
    return None


def _places(word: str, root: str) -> Iterator[str]:
    """The program as it is found, what it is a link to, and the same of the interpreter that its first line names."""
    found = os.path.join(root, word) if "/" in word else shutil.which(word)
    if found is None or not os.path.lexists(found):
        return
    yield from (found, os.path.realpath(found))
    interpreter = _interpreter(found)
    if interpreter:
        yield from (interpreter, os.path.realpath(interpreter))


def _interpreter(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            first = file.readline(_LONGEST_LINE)
    except OSError:
        return None
    words = os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []
    if not words:
        return None
    return shutil.which(words[1]) if words[0].endswith("/env") and len(words) > 1 else words[0]


def _is_seen(place: str, seen: Sequence[str]) -> bool:
    return place.startswith(_SYSTEM) or any(place.startswith(f"{each.rstrip('/')}/") for each in seen)


def _folders_for(place: str) -> list[str]:
    """An installation is the folder around its `bin`."""
    folder = os.path.dirname(place)
    around, name = os.path.split(folder)
    if name not in _PROGRAMS:
        return [folder]
    home = os.path.expanduser("~")
    inside = os.path.relpath(around, home)
    if ("" if inside == "." else inside) in _SHARED:
        return [folder]
    needed = [os.path.join(around, each) for each in _BESIDE_KEYS.get(inside, ())]
    if os.path.basename(os.path.realpath(place)) == _RUSTUP:
        needed.append(os.path.join(home, ".rustup"))
    return [each for each in needed if os.path.isdir(each)] or [around]


def _outermost(folders: Sequence[str]) -> list[str]:
    kept = sorted(set(folders))
    return [each for each in kept if not any(each.startswith(f"{other}/") for other in kept)]


def _short(path: str) -> str:
    home = os.path.expanduser("~").rstrip("/")
    return f"~{path.removeprefix(home)}" if home and path.startswith(f"{home}/") else path
