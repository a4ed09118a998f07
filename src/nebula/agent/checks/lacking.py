"""Say what a check lacks before it is offered: its program is nowhere, or lies where commands do not see it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from typing import TYPE_CHECKING

from nebula.language import Sentence

if TYPE_CHECKING:
    from nebula.tools.commands.layers import CommandLayers

_ENVIRONMENTS = (".venv", "venv", "env")
_WRAPPERS = {"./gradlew": "gradle", "./mvnw": "mvn"}
"""Programs of a project that download a program and keep it in the home."""
_NO_WRAPPER = (
    "{program} downloads its program and writes into the home, which commands cannot; install {installed} and name the "
    "check with it in `checks`."
)
_ASSIGNMENT = re.compile(r"\w+=")
_NEXT_COMMAND = frozenset({"&&", "||", ";", "|", "&"})
_BUILT_IN = frozenset({"cd", "echo", "exit", "export", "set", "source", "test", "true", "false", ".", "[", "!", "if"})


def find_lacking(command: str, layers: CommandLayers) -> Sentence | None:
    """Return why the check `command` cannot be started in a layer; None where nothing speaks against it."""
    root = layers.settings.root
    if (wrapper := command.strip().partition(" ")[0]) in _WRAPPERS:
        return Sentence(_NO_WRAPPER, program=wrapper, installed=_WRAPPERS[wrapper])
    own = [os.path.join(root, name, "bin") for name in _ENVIRONMENTS]
    path = os.pathsep.join((*own, os.environ.get("PATH", os.defpath)))
    for program in _programs(command):
        found = shutil.which(program, path=path)
        if found is None:
            return Sentence("{program} is not installed: no folder of PATH has it.", program=program)
        folder = os.path.dirname(found)
        if folder in layers.toolchains.hidden and not _is_readable(folder, layers):
            seen = "{program} lies in {folder}, which commands do not see; `sandbox_read` would show it."
            return Sentence(seen, program=program, folder=folder)
    if command.split()[:1] == ["python"] or command.startswith("pytest"):
        return layers.unseen
    return None


def _is_readable(folder: str, layers: CommandLayers) -> bool:
    return any(f"{folder}/".startswith(f"{each}/") for each in layers.readable)


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
