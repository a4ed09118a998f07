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
"""The share of the context that is kept free for the answer."""
SHARE_OF_TURN = 5
"""The share of the context that a predecessor in full leaves to the turn."""
TOKENS_PER_SUMMARY = 60
"""About how many tokens a turn takes as a summary."""
SHORT_TURN = 3 * TOKENS_PER_SUMMARY
"""A turn of at most so many tokens is hardly longer than its summary, so none is made to save room."""
SHARE_OF_REFERENCES = 4
"""The largest share of the context for turns that a prompt refers to."""
SURE_BYTES_PER_TOKEN = 2
"""Text of any language fits, with the prompt, if it has at most so many bytes for each free token."""


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
        """The tokens that the past may take."""
        room = max(0, int(self.context * SHARE_FOR_PAST) - self.fixed)
        return room if self.most_past is None else min(room, self.most_past)

    @property
    def predecessor(self) -> int:
        """The tokens that the direct predecessor may take in full, since it is cut last: more than the past in all."""
        if self.most_past is not None:
            return self.past
        kept = self.context // SHARE_OF_ANSWER + self.context // SHARE_OF_TURN
        return max(self.past, self.context - self.fixed - kept)

    @property
    def references(self) -> int:
        """The part of the past's tokens that referenced turns may take."""
        return self.context // SHARE_OF_REFERENCES

    def turn(self, past_tokens: int) -> int:
        """Return how many tokens the turn itself may grow to: its share, or less where everything before it takes more
        of the context."""
        left = self.context - self.fixed - past_tokens - self.context // SHARE_OF_ANSWER
        return max(0, min(int(self.context * (1 - SHARE_FOR_PAST)), left))

    @property
    def attachment_bytes(self) -> int:
        """Bytes for the attachments of a prompt; the rest of the turn's room is for the prompt and tool results."""
        room = int(self.context * (1 - SHARE_FOR_PAST)) * SURE_BYTES_PER_TOKEN
        return min(MAX_USER_MESSAGE_SIZE, room) * 2 // 3

    def estimate_next(self, here: Conversation) -> int:
        """Estimate the tokens of the next request without its prompt; this reads no file."""
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
        """Return the `Fit` that cuts the turn's history to the model's context."""
        names = frozenset((*self.tools.tools, *self.tools.missing))
        return Fit(self.past.messages, names, self.turn_tokens)


def count_fixed(system: str, tools: ToolSet) -> int:
    """Return the tokens of the system prompt and of the tools' descriptions."""
    return estimate_tokens(system) + tool_tokens(tools.specs)
