"""Say what a check lacks before it is offered: its program is nowhere, or lies where commands do not see it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from glob import escape, glob
from typing import TYPE_CHECKING

from nebula.files.reading import UnreadableFile, read_below
from nebula.language import Sentence
from nebula.sandbox.environment import ENVIRONMENTS, home_folder

if TYPE_CHECKING:
    from nebula.tools.commands.layers import CommandLayers

_WRAPPERS = {
    "./gradlew": ("gradle", "gradle/wrapper/gradle-wrapper.properties", ".gradle/wrapper/dists"),
    "./mvnw": ("mvn", ".mvn/wrapper/maven-wrapper.properties", ".m2/wrapper/dists"),
}
"""Programs of a project that download a program: its name, the file that says which, and where it is kept."""
_NO_WRAPPER = (
    "{program} has not downloaded its program yet, and commands have no network: start it once yourself, or name the "
    "check with an installed {installed} in `checks`."
)
_DISTRIBUTION = re.compile(r"^[^\S\n]*distributionUrl\s*=\s*\S*/([\w.+-]+)\.zip\s*$", re.MULTILINE)
_MOST_BYTES = 1 << 16
_ASSIGNMENT = re.compile(r"\w+=")
_NEXT_COMMAND = frozenset({"&&", "||", ";", "|", "&"})
_BUILT_IN = frozenset({"cd", "echo", "exit", "export", "set", "source", "test", "true", "false", ".", "[", "!", "if"})


def find_lacking(command: str, layers: CommandLayers) -> Sentence | None:
    """Return why the check `command` cannot be started in a layer; None where nothing speaks against it."""
    root = layers.settings.root
    if (wrapper := command.strip().partition(" ")[0]) in _WRAPPERS:
        installed, properties, place = _WRAPPERS[wrapper]
        if not _is_downloaded(root, properties, os.path.join(home_folder(os.environ), place)):
            return Sentence(_NO_WRAPPER, program=wrapper, installed=installed)
        return None
    own = [os.path.join(root, name, "bin") for name in ENVIRONMENTS]
    path = os.pathsep.join((*own, os.environ.get("PATH", os.defpath)))
    for program in _programs(command):
        found = shutil.which(program, path=path)
        if found is None:
            return Sentence("{program} is not installed: no folder of PATH has it.", program=program)
        folder = os.path.dirname(found)
        readable = any(f"{folder}/".startswith(f"{each}/") for each in layers.readable)
        if folder in layers.toolchains.hidden and not readable:
            seen = "{program} is in {folder}, which commands cannot see; add that folder to `sandbox_read`."
            return Sentence(seen, program=program, folder=folder)
    if command.startswith(("python", "pytest")):
        return layers.unseen
    return None


def _is_downloaded(root: str, properties: str, place: str) -> bool:
    """Return whether the program that a wrapper wants is in the home; it lies below a folder with its name."""
    try:
        said = _DISTRIBUTION.search((read_below(root, properties, _MOST_BYTES) or b"").decode("utf-8", "replace"))
    except UnreadableFile:
        return False
    if said is None:
        return False
    named = (said[1], said[1].removesuffix("-bin"))  # Maven's newer wrapper leaves out the kind
    folders = [os.path.join(escape(place), escape(name), "*") for name in named]
    return any(glob(os.path.join(each, *more, "bin")) for each in folders for more in ((), ("*",)))


def _programs(command: str) -> list[str]:
    """Return the programs that a line starts by name; those of the shell itself, and paths, are left out."""
    try:
        words = _split(command)
    except ValueError:
        return []
    found, is_first = [], True
    for word in words:
        if word in _NEXT_COMMAND:
            is_first = True
        elif is_first and not _ASSIGNMENT.match(word):
            is_first = False
            if re.fullmatch(r"[\w.+-]+", word) and word not in _BUILT_IN:
                found.append(word)
    return found


def _split(command: str) -> list[str]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(lexer)
