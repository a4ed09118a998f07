"""How a model's context is shared out: system prompt and tools, the past, this turn, the answer."""

from __future__ import annotations

from nebula.agent.context.building import PastContext
from nebula.agent.context.tokens import tool_tokens
from nebula.agent.conversation import Conversation, Fit
from nebula.graph.tokens import estimate_tokens
from nebula.messages import MAX_USER_MESSAGE_SIZE
from nebula.tools.toolset import ToolSet
from nebula.value import value

SHARE_FOR_PAST = 0.6
"""How much of the model's context the past may fill; the rest is for this turn and the answer."""
SHARE_OF_ANSWER = 12
"""So much of the context is left for what the model says."""
TOKENS_PER_SUMMARY = 60
"""About what a turn takes that goes as its summary."""
SHORT_TURN = 3 * TOKENS_PER_SUMMARY
"""A turn of so many tokens is hardly longer than its summary; none is made for want of room."""
SHARE_OF_REFERENCES = 4
"""The most of the context that goes to turns that a prompt refers to."""
SURE_BYTES_PER_TOKEN = 2
"""Text of any language that has so many bytes for each token there is room for fits, and the prompt with it."""


@value
class ContextBudget:
    """Tokens of one model's context."""

    context: int
    fixed: int = 0
    """System prompt and tools, as they were counted last."""
    most_past: int | None = None
    """Most that the past may cost, where somebody set it; the model's size limits it in any case."""

    @property
    def past(self) -> int:
        """Tokens that the past may take."""
        room = max(0, int(self.context * SHARE_FOR_PAST) - self.fixed)
        return room if self.most_past is None else min(room, self.most_past)

    @property
    def references(self) -> int:
        """Tokens that turns which a prompt refers to may take of the past's."""
        return self.context // SHARE_OF_REFERENCES

    def turn(self, past_tokens: int) -> int:
        """Return tokens that the turn itself may grow to: its share, or less where all before it takes more of the
        context."""
        left = self.context - self.fixed - past_tokens - self.context // SHARE_OF_ANSWER
        return max(0, min(int(self.context * (1 - SHARE_FOR_PAST)), left))

    @property
    def attachment_bytes(self) -> int:
        """Bytes for what comes with a prompt; the rest of the turn's room is for the prompt and for results."""
        room = int(self.context * (1 - SHARE_FOR_PAST)) * SURE_BYTES_PER_TOKEN
        return min(MAX_USER_MESSAGE_SIZE, room) * 2 // 3

    def estimate_next(self, here: Conversation) -> int:
        """Return about what the next request takes beside its prompt; nothing is read for it."""
        small = here.compact_until * TOKENS_PER_SUMMARY + estimate_tokens(here.digest)
        whole = sum(turn.tokens for turn in here.turns[here.compact_until :])
        return min(self.fixed + small + whole, max(self.fixed, int(self.context * SHARE_FOR_PAST)))


@value
class TurnContext:
    """Everything that a turn sends beside its own messages."""

    system: str
    tools: ToolSet
    past: PastContext
    budget: ContextBudget

    @property
    def system_with_past(self) -> str:
        return f"{self.system}\n\n{self.past.earlier}" if self.past.earlier else self.system

    @property
    def turn_tokens(self) -> int:
        return self.budget.turn(self.past.tokens)

    @property
    def result_bytes(self) -> int:
        """Bytes for all tool results of one message."""
        return min(MAX_USER_MESSAGE_SIZE, self.turn_tokens * SURE_BYTES_PER_TOKEN)

    def fit(self) -> Fit:
        """Return what cuts the turn's history to the model's context."""
        names = frozenset((*self.tools.tools, *self.tools.missing))
        return Fit(self.past.messages, names, self.turn_tokens)


def count_fixed(system: str, tools: ToolSet) -> int:
    """Return the tokens of the system prompt and of the tools' descriptions."""
    return estimate_tokens(system) + tool_tokens(tools.specs)
