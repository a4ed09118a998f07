"""Summaries of turns that will soon no longer fit: the model makes them before they are needed.

A turn is summarised once, in its node; a summary that exists already, whoever made it, is used as it is. The plan,
instructions and the newest turns are never summarised. A summary that is still being made when the conversation is
closed is given up: a later build makes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from nebula.agent.conversation import Conversation, PastTurn
from nebula.agent.model_call import ask_once
from nebula.events import Usage
from nebula.graph.errors import GraphError
from nebula.graph.tokens import estimate_tokens
from nebula.llm.errors import ModelError
from nebula.messages import strip_hidden_characters, truncate_safe
from nebula.value import field, record

if TYPE_CHECKING:
    from nebula.agent.recording.turn_archive import TurnArchive
    from nebula.graph.graph import Graph
    from nebula.graph.values import Node
    from nebula.llm.choose import ChosenModel

NEAR = 0.5
"""Turns beyond this share of the room for the past get their summaries now: a few more turns fill the rest."""
LOOKED_AT = 12
MOST_AT_ONCE = 4
ENOUGH_FAILURES = 3
"""After so many failures in a row no more summaries are tried; turns without one are sent as extracts."""
MOST_SUMMARIES = 40
"""At most so many summaries are made at once; the model can still read older turns by their number."""
SHARE_OF_SOURCE = 0.5
"""How much of the model's context the conversation may take in the request for a digest."""
MOST_DIGEST_BYTES = 6_000

DIGEST = """\
Summarise the conversation below, so that it can go on without its words. The user wants this kept in sight above all: \
{focus}
Keep decisions and their reasons, names, paths, numbers, and what is still open. At most 300 words, in the language of
the conversation. Answer with the summary alone.

{conversation}"""


@record
class Summaries:
    """The summaries of one session: their cost, and those that are being made."""

    archive: TurnArchive
    ahead: bool = False
    """Summarise turns before they no longer fit: for long sessions."""
    newest: bool = False
    """Summarise each turn once it has ended."""
    count: int = 0
    usage: Usage = Usage()
    failures: int = 0
    """How many have failed in a row."""
    _chores: list[asyncio.Task[None]] = field(default_factory=list)

    def spend(self, usage: Usage) -> None:
        self.usage = self.usage + usage

    def begin(self, conversation: Conversation, room: int, chosen: ChosenModel, then: Callable[[], None]) -> None:
        """Start the summaries that are due, one batch at a time, then call `then`; `room` are the tokens for the
        past."""
        self._chores = [chore for chore in self._chores if not chore.done()]
        if self._chores or self.failures >= ENOUGH_FAILURES or self.archive.graph is None:
            return
        due = soon_needed(conversation, room, self.archive.find) if self.ahead else []
        if self.newest and conversation.turns[-1] not in due:
            due.insert(0, conversation.turns[-1])
        if due:
            self._chores.append(asyncio.create_task(self._make_and(then, due, chosen)))

    async def make(self, due: Sequence[PastTurn], chosen: ChosenModel) -> None:
        """Summarise these turns at the same time. One that fails stays due, and a later build makes it."""
        if (graph := self.archive.graph) is not None:
            await asyncio.gather(*(self._make_one(turn, graph, chosen) for turn in due))

    async def _make_and(self, then: Callable[[], None], due: Sequence[PastTurn], chosen: ChosenModel) -> None:
        await self.make(due, chosen)
        then()

    async def _make_one(self, turn: PastTurn, graph: Graph, chosen: ChosenModel) -> None:
        from nebula.graph.summaries.build import build_one
        from nebula.graph.summaries.reply import UnreadableReply

        if not turn.node_id or self.failures >= ENOUGH_FAILURES:
            return
        try:
            node = await build_one(graph, turn.node_id, chosen, self.spend)
        except (ModelError, GraphError, UnreadableReply, OSError):  # not even a full disk may end anything here
            self.failures += 1
        else:
            self.count, self.failures = self.count + 1, 0
            turn.summary = node.summary

    async def make_digest(self, conversation: Conversation, focus: str, chosen: ChosenModel) -> str:
        """Return one text with what the user wants to keep of the turns, written by the model. Raises ModelError."""
        source = _source(conversation, int(chosen.context * SHARE_OF_SOURCE))
        reply = await ask_once(chosen, strip_hidden_characters(DIGEST.format(focus=focus, conversation=source)))
        self.spend(reply.usage)
        self.count += 1
        return truncate_safe(reply.message.content.strip(), MOST_DIGEST_BYTES)

    @property
    def is_working(self) -> bool:
        return any(not chore.done() for chore in self._chores)

    async def finish(self) -> None:
        """Wait for the summaries that are being made."""
        await asyncio.gather(*self._chores, return_exceptions=True)

    async def close(self) -> None:
        """Give up the summaries that are being made."""
        for chore in self._chores:
            chore.cancel()
        await self.finish()


def soon_needed(conversation: Conversation, room: int, find: Callable[[str], Node | None]) -> list[PastTurn]:
    """Return the turns that will be summarised next and have no summary yet, newest first. Looks at few turns, however
    long the conversation is."""
    used, place = 0, len(conversation.turns)
    while place > 1 and used <= room * NEAR:
        place -= 1
        used += conversation.turns[place].tokens
    if used <= room * NEAR:
        return []
    return without_summary(conversation.turns[max(0, place - LOOKED_AT) : place], find)[:MOST_AT_ONCE]


def without_summary(turns: Sequence[PastTurn], find: Callable[[str], Node | None]) -> list[PastTurn]:
    """Return the turns whose node has no summary, by a model or a person, newest first."""
    from nebula.graph.summaries.extract import is_extract

    found = []
    for turn in reversed(turns):
        if turn.summary or not turn.node_id:
            continue
        node = find(turn.node_id)
        if node is None:
            continue
        if node.summary and not node.updated and not is_extract(node.summary):
            turn.summary = node.summary
        else:
            found.append(turn)
    return found


def _source(conversation: Conversation, room: int) -> str:
    """Return the conversation as text, newest turns first while there is room; a turn that is too large is replaced by
    its summary."""
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
