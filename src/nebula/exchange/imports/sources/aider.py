"""aider: `.aider.chat.history.md` in the project; prompts are headings, its own remarks quotations."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from nebula.exchange.imports.contract import (
    FileEdit,
    LineChange,
    RecordedConversation,
    RecordedMessage,
    Role,
    SkipCounts,
)
from nebula.exchange.imports.reading import read_lines, text_of, time_of

NAME = "aider"
AGENT = "aider"
_FILE = ".aider.chat.history.md"
_START = re.compile(r"# aider chat started at (.+)")
_MODEL = re.compile(r"> (?:Main model|Model): (\S+)")
_BLOCK = re.compile(
    r"^(?P<path>[^\n`]{1,400})\n`{3,}[^\n]*\n<{5,9} SEARCH\n(?P<old>.*?)^={5,9}\n(?P<new>.*?)^>{5,9} REPLACE$",
    re.MULTILINE | re.DOTALL,
)


def find(root: str) -> list[str]:
    place = os.path.join(root, _FILE)
    return [place] if os.path.isfile(place) else []


def read(place: str, skipped: SkipCounts) -> Iterator[RecordedConversation]:
    history = _History(os.path.basename(place))
    for raw in read_lines(place, skipped):
        history.take(text_of(raw.decode("utf-8", "replace")).rstrip("\n").rstrip("\r"))
    history.end_message()
    yield RecordedConversation(os.path.basename(place), history.messages)


class _History:
    """What was read so far of a history; each start of aider is a conversation of its own in it."""

    def __init__(self, name: str) -> None:
        self.messages: list[RecordedMessage] = []
        self._name = name
        self._started = self._time = self._model = ""
        self._number = 0
        self._role: Role = "context"
        self._lines: list[str] = []
        self._before: str | None = None

    def take(self, line: str) -> None:
        if found := _START.fullmatch(line):
            self.end_message()
            self._started, self._time = found[1].strip(), time_of(found[1].strip())
            self._number, self._before = 0, None
        elif line.startswith("#### "):
            if self._role != "user":
                self.end_message()
                self._role = "user"
            self._lines.append(line[5:].rstrip())
        elif line.startswith("> ") or line == ">":
            self.end_message()
            if model := _MODEL.match(line):
                self._model = model[1]
        else:
            if self._role != "assistant":
                if not line.strip():
                    return
                self.end_message()
                self._role = "assistant"
            self._lines.append(line)

    def end_message(self) -> None:
        text = "\n".join(self._lines).strip()
        role, self._role, self._lines = self._role, "context", []
        if not text or role == "context":
            return
        self._number += 1
        key = f"{self._started}/{self._number}"
        edits = tuple(_edits(text)) if role == "assistant" else ()
        if role == "user" and text.startswith("/") and not text.startswith(("/ask ", "/code ", "/architect ")):
            return  # a command to aider itself
        model = self._model if role == "assistant" else ""
        self.messages.append(RecordedMessage(key, role, text, self._before, self._time, model, edits=edits))
        self._before = key


def _edits(text: str) -> Iterator[FileEdit]:
    for block in _BLOCK.finditer(text):
        old, new = block["old"].split("\n")[:-1], block["new"].split("\n")[:-1]
        added = tuple(line for line in new if line not in old)
        removed = tuple(line for line in old if line not in new)
        yield FileEdit(block["path"].strip(), lines=(LineChange(1, added, removed),))
