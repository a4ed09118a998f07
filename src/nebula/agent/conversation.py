"""The turns before this one, and the messages that each round sends to the model."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.agent.context.tokens import message_tokens, total_tokens
from nebula.attachments import Attachment
from nebula.graph.tokens import estimate_tokens
from nebula.llm.context_limit import LEFT_OUT, without_results
from nebula.messages import AssistantMessage, GrowingHistory, Message, UserMessage, repair_history
from nebula.value import field, record

WITHDRAWN = (
    "[This request was never answered: the user withdrew it, or it failed. Do not act on it unless it is asked again.]"
)
CUT_SHORT = (
    "[The turn was cut short here, by the user or by an error. What its tools did until then is done; the rest is not.]"
)
MOST_OF_UNANSWERED = 2_000
"""Bytes that are kept of a prompt that was never answered."""


@record
class PastTurn:
    """A finished turn: its node, its messages, and its summary once one was made."""

    messages: tuple[Message, ...]
    node_id: str | None = None
    summary: str = ""
    parents: tuple[str, ...] | None = None
    """The nodes that it continued, where this process knows them."""
    attachments: tuple[Attachment, ...] = ()
    beginning: str = ""
    """The first try of this prompt, where it begins a conversation and was asked before."""
    _tokens: int = -1

    @property
    def prompt(self) -> str:
        first = self.messages[0] if self.messages else None
        return (first.prompt or "") if isinstance(first, UserMessage) else ""

    @property
    def answer(self) -> str:
        said = (each.content for each in self.messages if isinstance(each, AssistantMessage))
        return "\n\n".join(text for text in said if text)

    @property
    def is_cut_short(self) -> bool:
        """It has no last word: it was interrupted, it failed, or the program ended under it."""
        last = self.messages[-1] if self.messages else None
        return not (isinstance(last, AssistantMessage) and not last.tool_uses and last.content.strip())

    @property
    def sent(self) -> tuple[Message, ...]:
        """The messages of this turn as later requests carry them. A prompt without an answer must not be read as part
        of the next one: the model is told that it was withdrawn, or where the turn was cut short. Of a prompt that may
        have been too large to be answered only the beginning is kept, or every later request would fail for the same
        reason."""
        if not self.is_cut_short:
            return self.messages
        said_something = any(isinstance(each, AssistantMessage) for each in self.messages)
        remark = AssistantMessage.new_response(None, CUT_SHORT if said_something else WITHDRAWN)
        messages = self.messages if said_something else tuple(_cut_to_beginning(each) for each in self.messages)
        return (*messages, remark)

    @property
    def tokens(self) -> int:
        if self._tokens < 0:
            self._tokens = total_tokens(self.sent)
        return self._tokens


@record
class Conversation:
    """The turns that led here, oldest first."""

    turns: list[PastTurn] = field(default_factory=list)
    compact_until: int = 0
    """Turns before this index are sent as summaries even where they would fit: `/compact` moves it."""
    digest: str = ""
    """What the user wanted to keep of those turns, as one text."""

    @property
    def leaf(self) -> str | None:
        """Return the node that a new turn continues."""
        return next((turn.node_id for turn in reversed(self.turns) if turn.node_id), None)

    @property
    def predecessor(self) -> int:
        """The index of the newest turn that was answered; turns after it failed or were withdrawn."""
        for place in range(len(self.turns) - 1, 0, -1):
            if self.turns[place].answer.strip():
                return place
        return 0

    def without(self, node_ids: Sequence[str]) -> Conversation:
        """Return the conversation without these turns."""
        if not node_ids:
            return self
        gone = {place for place, turn in enumerate(self.turns) if turn.node_id in node_ids}
        kept = [turn for place, turn in enumerate(self.turns) if place not in gone]
        return Conversation(kept, self.compact_until - sum(place < self.compact_until for place in gone), self.digest)

    def messages(self) -> list[Message]:
        return [message for turn in self.turns for message in turn.messages]

    def compact(self) -> int:
        """Send all turns before the newest answered one as summaries from now on; return how many turns that adds."""
        before = self.compact_until
        self.compact_until = max(before, self.predecessor)
        return self.compact_until - before


def _cut_to_beginning(message: Message) -> Message:
    return message.truncate_safe(MOST_OF_UNANSWERED) if isinstance(message, UserMessage) else message


class Fit:
    """Builds the messages of each round of one turn: the past and the turn so far, as one valid history. It only looks
    at what the turn has added, so a round costs the same however long the past is."""

    def __init__(self, past: tuple[Message, ...], tools: frozenset[str], room: int) -> None:
        """`room` is the number of tokens left for the turn itself."""
        self.past, self.tools, self.room = past, tools, room
        self._history = GrowingHistory(past, tools)
        self._counted: list[int] = []
        self._total = 0

    def __call__(self, current: Sequence[Message]) -> Sequence[Message]:
        for message in current[len(self._counted) :]:
            self._history.append(message)
            self._counted.append(message_tokens(message))
            self._total += self._counted[-1]
        if self._total > self.room:
            return repair_history((*self.past, *self._shrink(current)), self.tools)
        return repair_history(self._history, self.tools) if self._history.open_tool_uses else tuple(self._history)

    def _shrink(self, current: Sequence[Message]) -> Sequence[Message]:
        """Remove the oldest tool results first; the prompt and the newest results stay."""
        excess = self._total - self.room
        shrunk = list(current)
        for index, message in enumerate(current[:-1]):
            if excess <= 0:
                break
            if isinstance(message, UserMessage) and message.tool_use_results and message.prompt is None:
                shrunk[index] = without_results(message)
                excess -= self._counted[index] - estimate_tokens(LEFT_OUT)
        return shrunk
