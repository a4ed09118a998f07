"""Making the past small now: summaries for what has none, and one text with what the user wants kept in sight."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.agent.conversation import Conversation, PastTurn
from nebula.agent.model_call import ask_once
from nebula.agent.past.summaries import Summaries
from nebula.graph.tokens import estimate_tokens
from nebula.llm.choose import ChosenModel
from nebula.messages import strip_hidden_characters, truncate_safe

MOST_SUMMARIES = 40
"""Summaries that are made at one go; what is older stays reachable by its number."""
SHARE_OF_SOURCE = 0.5
"""How much of the model's context the conversation may take in the request for a digest."""
MOST_DIGEST_BYTES = 6_000

DIGEST = """\
Summarise the conversation below, so that it can go on without its words. The user wants this kept in sight above all: \
{focus}
Keep decisions and their reasons, names, paths, numbers, and what is still open. At most 300 words, in the language of
the conversation. Answer with the summary alone.

{conversation}"""


async def make_digest(conversation: Conversation, focus: str, chosen: ChosenModel, summaries: Summaries) -> str:
    """Return a digest of the turns, made by the model. Raises ModelError."""
    source = _source(conversation, int(chosen.context * SHARE_OF_SOURCE))
    prompt = strip_hidden_characters(DIGEST.format(focus=focus, conversation=source))
    reply = await ask_once(chosen, prompt)
    summaries.spend(reply.usage)
    summaries.count += 1
    return truncate_safe(reply.message.content.strip(), MOST_DIGEST_BYTES)


def _source(conversation: Conversation, room: int) -> str:
    """Newest first for as long as there is room; a turn that is too large goes as its summary."""
    texts: list[str] = []
    for turn in reversed(conversation.turns[: conversation.predecessor]):
        text = _written(turn, room)
        room -= estimate_tokens(text)
        if room < 0:
            break
        texts.append(text)
    earlier = [f"What was kept before:\n{conversation.digest}"] if conversation.digest else []
    return "\n\n".join([*earlier, *reversed(texts)])


def _written(turn: PastTurn, room: int) -> str:
    whole = f"User: {turn.prompt}\nAssistant: {turn.answer}"
    if turn.summary and len(whole) > len(turn.summary) * 4:
        return f"User: {truncate_safe(turn.prompt, 400)}\nAssistant (in short): {turn.summary}"
    return truncate_safe(whole, max(room, 0) * 2)


def place_of(turns: Sequence[PastTurn], node_id: str) -> int:
    """Return how many turns there are up to that node; 0 where it is not among them."""
    places = (place for place, turn in enumerate(turns, start=1) if turn.node_id == node_id)
    return next(places, 0) if node_id else 0
