"""A conversation that somebody kept as Markdown: headings or bold names say who speaks."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator

from nebula.exchange.imports.contract import RecordedConversation, RecordedMessage, Role, SkipCounts
from nebula.exchange.imports.reading import read_lines, text_of

NAME = "markdown"
AGENT = "markdown"
_WHO = re.compile(
    r"(?:#{1,6}\s+|\*\*)?(?P<who>user|human|you|me|prompt|question|ユーザー|質問|assistant|answer|response|ai|chatgpt|claude|"
    r"gemini|model|回答|アシスタント)\s*(?P<colon>[:：])?\s*(?:\*\*)?\s*[:：]?(?P<rest>\s.*)?",
    re.IGNORECASE,
)
_USERS = {"user", "human", "you", "me", "prompt", "question", "ユーザー", "質問"}


def find(_root: str) -> list[str]:
    return []


def read(place: str, skipped: SkipCounts) -> Iterator[RecordedConversation]:
    name = os.path.basename(place)
    messages: list[RecordedMessage] = []
    role: Role = "context"
    held: list[str] = []
    fenced = False
    for raw in read_lines(place, skipped):
        line = text_of(raw.decode("utf-8", "replace")).rstrip("\r\n")
        fenced ^= line.lstrip().startswith("```")
        speaker = None if fenced else _speaker(line)
        if speaker is None:
            held.append(line)
            continue
        _end(messages, name, role, held)
        role, rest = speaker
        held = [rest] if rest else []
    _end(messages, name, role, held)
    yield RecordedConversation(name, messages)


def _speaker(line: str) -> tuple[Role, str] | None:
    """Return who speaks from this line on and what they say on it; a bare name without a mark is only a word."""
    found = _WHO.fullmatch(line.strip())
    marked = line.lstrip().startswith(("#", "**"))
    if found is None or not (marked or (found["colon"])):
        return None
    role: Role = "user" if found["who"].lower() in _USERS else "assistant"
    return role, (found["rest"] or "").strip()


def _end(messages: list[RecordedMessage], name: str, role: Role, held: list[str]) -> None:
    text = "\n".join(held).strip()
    if role == "context" or not text:
        return
    before = messages[-1].key if messages else None
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]  # another file of that name is another conversation
    messages.append(RecordedMessage(f"{name}/{len(messages)}/{digest}", role, text, before))
