"""Instructions for a whole session: the user's own, then the project's, from the root of its repository down.

They are in `AGENTS.md`, or in a similar file where a folder has none. All share a limit in bytes; the user's own and
those of the root are taken first. What does not fit is named, so that nobody believes that the model has read it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from nebula.files.reading import UnreadableFile, read_below
from nebula.git import find_repository
from nebula.language import Sentence, sentence_of
from nebula.messages import strip_hidden_characters, truncate_safe
from nebula.value import field, record, value

MAX_BYTES = 32_768
"""Of all instructions together."""
MAX_FILE = 1 << 20
"""A larger file is not read at all: it cannot be instructions."""
NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
"""In each folder the first of these files that is not empty counts."""


@value
class Instruction:
    """The instructions of one file."""

    name: str
    """The path of the file: below the repository, or for the user's own the absolute path."""
    text: str
    is_users_own: bool = False


@record
class Instructions:
    """All instructions that the model gets, in order, and those that it does not get."""

    told: list[Instruction] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """Files that did not fit, or not completely."""
    unreadable: list[UnreadableFile] = field(default_factory=list)
    room: int = MAX_BYTES

    def add(self, found: Instruction) -> Instruction | None:
        """Add `found` as far as there is room, and return the part that the model gets; the same text is sent once."""
        if any(each.text == found.text for each in self.told):
            return None
        size = len(found.text.encode("utf-8", "replace"))
        if size > self.room:
            self.left_out.append(found.name)
            if self.room <= 0:
                return None
            cut = truncate_safe(found.text, self.room) + f"\n[cut: instructions have {MAX_BYTES} bytes together]"
            found, size = Instruction(found.name, cut, found.is_users_own), self.room
        self.room -= size
        self.told.append(found)
        return found

    def remarks(self) -> list[Sentence]:
        """Return remarks for the user on files that are ignored, or used only in part."""
        found = list(map(sentence_of, self.unreadable))
        return found + ([no_room(self.left_out)] if self.left_out else [])


def no_room(names: list[str]) -> Sentence:
    said = "Instructions may have {limit} bytes together; left out or cut: {paths}"
    return Sentence(said, limit=f"{MAX_BYTES:,}", paths=", ".join(names))


def gather_instructions(root: str, home: str = "") -> Instructions:
    """Return the user's own instructions in the directory `home`, then the project's, down to the directory `root`."""
    found = Instructions()
    if home and (own := _read_own(home, found.unreadable)) is not None:
        found.add(own)
    top, folders = _folders(root)
    for folder in folders:
        if (each := read_folder(top, folder, found.unreadable)) is not None:
            found.add(each)
    return found


def _read_own(home: str, unreadable: list[UnreadableFile]) -> Instruction | None:
    """Return the user's own instructions, which may be a link to wherever they keep such files."""
    name = os.path.join(home, NAMES[0])
    folder, file = os.path.split(os.path.realpath(name))
    try:
        text = _clean(read_below(folder, file, MAX_FILE) or b"") if os.path.isdir(folder) else ""
    except UnreadableFile as problem:
        unreadable.append(UnreadableFile(name, problem.reason))
        return None
    return Instruction(name, text, is_users_own=True) if text else None


def _folders(root: str) -> tuple[str, Iterator[str]]:
    """Return the top of the repository, and the folders from there down to `root`, relative to it."""
    repository = find_repository(root)
    here = os.path.realpath(root)
    top = os.path.realpath(repository[0]) if repository else here
    parts = [part for part in os.path.relpath(here, top).split(os.sep) if part != "."]
    return top, (os.path.join(".", *parts[:depth]) for depth in range(len(parts) + 1))


def read_folder(top: str, folder: str, unreadable: list[UnreadableFile]) -> Instruction | None:
    """Return the instructions in `folder`, a path below the directory `top`; None where it has none.

    One may be a link to another, as CLAUDE.md often is, but to nothing outside `top`.
    """
    for name in NAMES:
        path = os.path.normpath(os.path.join(folder, name))
        try:
            raw = _read(top, path)
        except UnreadableFile as problem:
            unreadable.append(problem)
            continue
        if text := _clean(raw):
            return Instruction(path, text)
    return None


def _read(top: str, path: str) -> bytes:
    target = os.path.realpath(os.path.join(top, path))
    if os.path.exists(target) and not target.lower().endswith(".md"):
        # A clone could point it at a file that tools may not read, such as `.env`, and have it sent with every prompt.
        raise UnreadableFile(path, Sentence("it is a link to a file of another kind"))
    return read_below(top, path, MAX_FILE) or b""


def _clean(raw: bytes) -> str:
    return strip_hidden_characters(raw.decode("utf-8", "replace")).strip()
