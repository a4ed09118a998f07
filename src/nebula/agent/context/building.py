"""Choose which past turns a request carries: one function for the agent and for the preview.

Turns are sent whole, newest first, while they fit; the direct predecessor is the last to be cut. Older turns stand at
the end of the system prompt, packed like any context of the conversation graph: as summaries (those that were built,
else extracts), then tags, then nothing; turns that are left out are named. The model can read all of them through
`readNode`. The newest prompt, the system prompt and an accepted plan are never summarised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from nebula.agent.context.tokens import message_texts, message_tokens, total_tokens
from nebula.agent.conversation import Conversation, PastTurn
from nebula.graph.tokens import estimate_tokens
from nebula.messages import AssistantMessage, Message, UserMessage, truncate_safe, truncate_safe_in_place
from nebula.value import replace, value

if TYPE_CHECKING:
    from nebula.graph.context.packing import Part
    from nebula.graph.values import Node

    FindNode = Callable[[str], Node | None]

SMALLEST_MESSAGE = 64
"""In tokens. Where messages of the direct predecessor would have to be cut to less, it is sent as a summary."""
CUT = "[Parts of this turn were left out to make room; `readNode` with the id {node_id} gives it in full.]"
KEPT = "# What the user wanted kept of this conversation"


@value
class WholeTurn:
    name: str
    messages: tuple[Message, ...]
    tokens: int


@value
class PastContext:
    """The past as a request carries it."""

    whole: tuple[WholeTurn, ...]
    earlier: str = ""
    """Text for the end of the system prompt: turns that are not sent whole, and references."""
    packed: tuple[Part, ...] = ()
    """The turns in `earlier`, oldest first."""
    beside: tuple[Part, ...] = ()
    """The references in `earlier`."""
    left_out: tuple[str, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(message for turn in self.whole for message in turn.messages)

    @property
    def tokens(self) -> int:
        return sum(turn.tokens for turn in self.whole) + estimate_tokens(self.earlier)

    def parts(self) -> list[Part]:
        """Return every node that is sent, in the form in which it is: the path, oldest first, then references."""
        from nebula.graph.context.packing import Part

        texts = {turn.name: "\n\n".join(filter(None, map(_text, turn.messages))) for turn in self.whole}
        whole = (Part(turn.name, "full", turn.tokens, texts[turn.name]) for turn in self.whole)
        return [*self.packed, *whole, *self.beside]


def build_context(
    conversation: Conversation,
    room: int,
    find: FindNode,
    references: Sequence[str] = (),
    most_beside: int | None = None,
    most_newest: int = 0,
) -> PastContext:
    """Return the past that fits into an estimated `room` of tokens. `find` returns a node with its present summary.
    `references` get at most `most_beside` tokens of the room. Turns are sent in full while they fit, newest first; the
    direct predecessor is cut only where it does not fit alone, neither into the room nor into `most_newest` tokens, and
    then to the room."""
    turns, first = conversation.turns, conversation.compact_until
    newest = max(first, conversation.predecessor)
    fits = sum(turn.tokens for turn in turns[newest:]) <= most_newest
    whole = _newest_turns(turns, newest, most_newest if fits else room)
    used = sum(turn.tokens for turn in whole)
    # A fifth is kept for summaries of earlier turns, as long as not all turns fit.
    limit = room if not first and _fits(turns, room) else room * 4 // 5
    for index in range(newest - 1, first - 1, -1) if whole else ():
        turn = turns[index]
        if used + turn.tokens > limit:
            break
        whole.append(WholeTurn(turn_name(turn, index), turn.sent, turn.tokens))
        used += turn.tokens
    older = turns[: len(turns) - len(whole)]
    kept = f"{KEPT}\n{conversation.digest}\n\n" if older and conversation.digest else ""
    shown = {turn.name for turn in whole}
    beside = [each for each in dict.fromkeys(references) if each not in shown]
    if not older and not beside:
        return PastContext(tuple(reversed(whole)))
    left = max(0, room - used - estimate_tokens(kept))
    most_beside = left if most_beside is None else min(left, most_beside)
    from nebula.agent.context.packed_past import pack  # loads YAML and more, which a short conversation never needs

    past = pack(tuple(reversed(whole)), older, beside, left, most_beside, find)
    return replace(past, earlier=kept + past.earlier) if kept else past


def past_sizes(conversation: Conversation, find: FindNode) -> tuple[int, int]:
    """Return about how many tokens the past takes in full, and how many as summaries before the predecessor."""
    full = sum(turn.tokens for turn in conversation.turns)
    before = max(conversation.predecessor, conversation.compact_until)
    short = build_context(Conversation(conversation.turns, before, conversation.digest), max(full, 1), find)
    return full, min(full, short.tokens)


def shortened_references(past: PastContext, references: Sequence[str]) -> int:
    """Return how many of the references are not sent in full."""
    if not references:
        return 0
    in_full = {part.node_id for part in past.parts() if part.form == "full"}
    return sum(each not in in_full for each in dict.fromkeys(references))


def turn_name(turn: PastTurn, index: int) -> str:
    """Return the id of a turn's node, or its number where it has none."""
    return turn.node_id or f"turn {index + 1}"


def _fits(turns: Sequence[PastTurn], room: int) -> bool:
    """Tell whether all turns fit; looks at no more of them than needed."""
    for turn in reversed(turns):
        room -= turn.tokens
        if room < 0:
            return False
    return True


def _newest_turns(turns: Sequence[PastTurn], start: int, room: int) -> list[WholeTurn]:
    """Return the turns from `start` on, newest first: in full where they fit, else cut; none where they never do."""
    tail = [(turn_name(turns[index], index), turns[index]) for index in range(len(turns) - 1, start - 1, -1)]
    limit = room
    while limit >= SMALLEST_MESSAGE:
        found = [WholeTurn(name, *_cut_turn(turn, limit)) for name, turn in tail]
        if sum(turn.tokens for turn in found) <= room:
            return found
        limit = limit * 3 // 4
    return []


def _cut_turn(turn: PastTurn, limit: int) -> tuple[tuple[Message, ...], int]:
    """Return the messages of a turn, those cut that have more than `limit` tokens, and the tokens of all."""
    if turn.tokens <= limit:
        return turn.sent, turn.tokens
    messages = tuple(cut_message(message, limit) for message in turn.sent)
    if turn.node_id and messages != turn.sent:
        messages = (*messages[:-1], _with_id(messages[-1], turn.node_id))
    return messages, total_tokens(messages)


def _with_id(last: Message, node_id: str) -> Message:
    """Name the node of a turn that was cut: only a model that knows its id can read the rest."""
    if not isinstance(last, AssistantMessage):
        return last
    return AssistantMessage.new_response(last.message_id, f"{last.content}\n\n{CUT.format(node_id=node_id)}")


def cut_message(message: Message, limit: int) -> Message:
    if message_tokens(message) <= limit:
        return message
    if isinstance(message, UserMessage):
        return _cut_said(message, limit * 3)
    if message.tool_uses:
        return message  # its arguments are what the model did; cutting them would teach it wrong
    return AssistantMessage.new_response(message.message_id, truncate_safe(message.content, limit * 3))


def _cut_said(message: UserMessage, max_bytes: int) -> UserMessage:
    """Shorten a prompt: its attachments are cut first; of an image only the words about it stay."""
    context = truncate_safe_in_place(message.additional_context, max_bytes // 2)
    cut = replace(message, additional_context=context, images=None)
    return cut.truncate_safe(max_bytes - len(context.encode("utf-8", "replace")))


def _text(message: Message) -> str:
    return "\n".join(filter(None, message_texts(message)))
