"""What a source hands over: conversations made of messages, whatever the form of its files.

A source is a module with `NAME`, `find(root)` (its own records of this directory), and `read(place, skipped)` for one
file. It only reads; what becomes of the messages is decided in `turns` and `run`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, Protocol

from nebula.language import Sentence
from nebula.value import value

Role = Literal["user", "assistant", "tool", "context"]
"""`context` is what neither of the two said: it only passes on what it continues."""

NO_ANSWER = Sentence("turns without an answer: {count}")
BAD_LINE = Sentence("lines that cannot be understood: {count}")
BAD_FILE = Sentence("files that cannot be read: {count}")
TOO_LARGE = Sentence("files or lines that are too large: {count}")
CIRCLE = Sentence("messages that continue themselves: {count}")
ELSEWHERE = Sentence("sessions of other directories: {count}")
NO_PLACE = Sentence("records that name no commit, or no lines of an agent in it: {count}")

SkipCounts = Counter[Sentence]
"""What was left out, by reason."""


@value
class LineChange:
    """Lines put in at a place of a file and lines taken out there, where the whole text is not known."""

    start: int
    added: tuple[str, ...]
    removed: tuple[str, ...] = ()


@value
class FileEdit:
    """One change of a file, by its path as the record has it: whole texts where they are known, else the lines."""

    path: str
    before: str | None = None
    """None: not known; empty with `after`: the file was made."""
    after: str | None = None
    lines: tuple[LineChange, ...] = ()


@value
class RecordedMessage:
    """One entry of a conversation. `key` is what the source calls it, the same whenever it is read."""

    key: str
    role: Role
    text: str = ""
    parent: str | None = None
    time: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    edits: tuple[FileEdit, ...] = ()
    branch: str = ""
    """The name of the branch that begins here."""


@value
class RecordedConversation:
    """The messages of one session. `folder` is where it took place; `regenerates` where an answer may have siblings."""

    key: str
    messages: Sequence[RecordedMessage]
    folder: str = ""
    regenerates: bool = False


class ImportSource(Protocol):
    """What a module of `sources` has."""

    NAME: str
    AGENT: str

    def find(self, root: str, /) -> Iterable[str]:
        """Return the files with this directory's sessions in the agent's own place."""

    def read(self, place: str, skipped: SkipCounts) -> Iterator[RecordedConversation]:
        """Yield the conversations of one file; whatever is wrong in it is counted, never raised."""
