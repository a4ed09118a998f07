"""Commands from Markdown files: `/name ARGUMENTS` sends what the file says, with the arguments put in.

Nothing in a file runs by itself; it becomes a prompt like one that was typed, so that `@path` in it means what it means
there. The head of the file is not sent. The user's own files count before a project's, which count once it is trusted.
"""

from __future__ import annotations

import re
import shlex
from typing import Final

from nebula.config import Settings
from nebula.errors import NebulaError
from nebula.extensions.front_matter import MarkdownFile, parse_markdown
from nebula.extensions.places import ExtensionPlace, command_places, read_text, walk_files
from nebula.value import value

MOST_COMMANDS: Final = 500
LONGEST_DESCRIPTION: Final = 200
_NAME: Final = re.compile(r"\w[\w-]{0,63}(?::\w[\w-]{0,63})*")
_PLACEHOLDER: Final = re.compile(r"\$(ARGUMENTS\b|[1-9]\d?(?!\d))")
_WORD: Final = re.compile(r"/(\?|\w[\w:-]*)?$")
_TYPED: Final = re.compile(r"/(\w[\w:-]*)(?:\s+(.*))?", re.DOTALL)


@value
class FileCommand:
    """A command as its file has it; a file in a subfolder is `folder:name`."""

    name: str
    place: ExtensionPlace
    path: str

    @property
    def description(self) -> str:
        """The head says what it is for, else its first line that is not empty; it is empty where the file cannot be
        read."""
        try:
            held = self._read()
        except NebulaError:
            return ""
        first = next((line.strip("# \t") for line in held.body.splitlines() if line.strip()), "")
        return " ".join((held.fields.get("description") or first).split())[:LONGEST_DESCRIPTION]

    def expand(self, arguments: str) -> str:
        """Return the prompt that the file makes of the arguments. Raises UnreadableFile."""
        body = self._read().body.strip()
        if _PLACEHOLDER.search(body) is None:
            return f"{body}\n\n{arguments}" if arguments else body
        words = split_arguments(arguments)

        def put_in(found: re.Match[str]) -> str:
            if found[1] == "ARGUMENTS":
                return arguments
            return words[int(found[1]) - 1] if int(found[1]) <= len(words) else ""

        return _PLACEHOLDER.sub(put_in, body).strip()

    def _read(self) -> MarkdownFile:
        return parse_markdown(read_text(self.place, self.path) or "")


def find_commands(settings: Settings) -> dict[str, FileCommand]:
    """Return the commands that count now, by name; of two with one name the first counts."""
    found: dict[str, FileCommand] = {}
    for place in command_places(settings):
        for path in sorted(walk_files(place, "", MOST_COMMANDS)):
            name = path.removesuffix(".md").replace("/", ":")
            if path.endswith(".md") and _NAME.fullmatch(name):
                found.setdefault(name, FileCommand(name, place, path))
    return found


def expand_typed(settings: Settings, text: str) -> str | None:
    """Return the prompt that a typed line stands for; None where it names no file's command. Raises UnreadableFile."""
    typed = _TYPED.fullmatch(text.strip()) if text.startswith("/") else None
    if typed is None:
        return None
    command = find_commands(settings).get(typed[1])
    return None if command is None else command.expand((typed[2] or "").strip())


def is_command_word(text: str) -> bool:
    """Return whether a line begins like a command; a path does not."""
    return text.startswith("/") and _WORD.match(text.split(None, 1)[0]) is not None


def split_arguments(arguments: str) -> list[str]:
    """Return the words of the arguments; quotes keep several together, and one that never ends is a letter like any."""
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()
