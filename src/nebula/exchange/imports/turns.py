"""Turns out of messages: each prompt with all that came of it, and what it continues.

Messages form trees. A prompt begins a turn; what follows it, up to the next prompt, is its. Where a source lets an
answer be made again (`regenerates`), the second answer begins a turn of its own with the same prompt. Nothing here
calls itself: a chain may be as long as a stranger likes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nebula.exchange.imports.contract import CIRCLE, NO_ANSWER, RecordedConversation, RecordedMessage, SkipCounts
from nebula.value import field, record


@record
class ImportedTurn:
    """A prompt and the messages that answer it; `before` is the turn it continues."""

    key: str
    messages: list[RecordedMessage]
    before: ImportedTurn | None = None
    branch: str = ""
    told: list[RecordedMessage] = field(default_factory=list)

    @property
    def prompt(self) -> RecordedMessage:
        return self.messages[0]

    @property
    def answer(self) -> str:
        return "\n\n".join(each.text for each in self.messages[1:] if each.role == "assistant" and each.text.strip())

    @property
    def is_answered(self) -> bool:
        return bool(self.answer.strip()) or any(each.role == "tool" for each in self.messages)


def gather_turns(conversation: RecordedConversation, skipped: SkipCounts) -> list[ImportedTurn]:
    """Return the turns of a conversation that were answered, parents first; the others are counted."""
    turn_of: dict[str, ImportedTurn | None] = {}
    turns: list[ImportedTurn] = []
    for message in _parents_first(conversation.messages, skipped):
        before = turn_of.get(message.parent) if message.parent is not None else None
        if message.role == "user" and message.text.strip():
            turn = ImportedTurn(message.key, [message], before, message.branch)
            turns.append(turn)
        elif before is None:
            turn_of[message.key] = None  # before the first prompt
            continue
        elif conversation.regenerates and message.role == "assistant" and before.messages[-1].key != message.parent:
            turn = _begin_again(before, message)
            turns.append(turn)
        else:
            turn = before
            turn.messages.append(message)
        turn_of[message.key] = turn
    answered = [turn for turn in turns if turn.is_answered]
    skipped[NO_ANSWER] += len(turns) - len(answered)
    for turn in answered:
        while turn.before is not None and not turn.before.is_answered:
            turn.before = turn.before.before
    return answered


def _begin_again(turn: ImportedTurn, message: RecordedMessage) -> ImportedTurn:
    """Return a sibling of a turn that is like it up to the message that this one continues."""
    kept: list[RecordedMessage] = []
    for each in turn.messages:
        kept.append(each)
        if each.key == message.parent:
            break
    return ImportedTurn(message.key, [*kept, message], turn.before, turn.branch)


def _parents_first(messages: Sequence[RecordedMessage], skipped: SkipCounts) -> Iterator[RecordedMessage]:
    """Yield each message once, behind the one that it continues; circles are opened at their first message."""
    known: dict[str, RecordedMessage] = {}
    for message in messages:
        known.setdefault(message.key, message)
    children: dict[str, list[RecordedMessage]] = {}
    roots: list[RecordedMessage] = []
    for message in known.values():
        if message.parent in known and message.parent != message.key:
            children.setdefault(message.parent or "", []).append(message)
        else:
            roots.append(message)
    waiting = dict(known)
    while waiting:
        stack = list(reversed(roots)) or [next(iter(waiting.values()))]
        if not roots:
            skipped[CIRCLE] += 1
        roots = []
        while stack:
            message = stack.pop()
            if waiting.pop(message.key, None) is not None:
                yield message
                stack += reversed(children.get(message.key, ()))
