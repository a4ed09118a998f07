"""Summaries of turns that will soon not fit any more: made by the model before they are needed, and counted.

A turn is summarised once, in its node; what was built before, by whomever, is used as it is. Plan, instructions and the
newest turns are never summarised.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from nebula.agent.conversation import Conversation, PastTurn
from nebula.events import Usage
from nebula.graph.errors import GraphError
from nebula.llm.errors import ModelError
from nebula.value import record

if TYPE_CHECKING:
    from nebula.graph.graph import Graph
    from nebula.graph.values import Node
    from nebula.llm.choose import ChosenModel

NEAR = 0.5
"""Turns beyond this part of the room for the past get their summaries now: the rest fills up within a few turns."""
LOOKED_AT = 12
MOST_AT_ONCE = 4
ENOUGH_FAILURES = 3
"""After so many in a row nothing more is tried; turns without a summary go as extracts."""


@record
class SummaryWork:
    """What the summaries of a session have cost, and whether it is worth going on."""

    count: int = 0
    usage: Usage = Usage()
    failures: int = 0

    def spend(self, usage: Usage) -> None:
        self.usage = self.usage + usage

    @property
    def is_hopeless(self) -> bool:
        return self.failures >= ENOUGH_FAILURES


def soon_needed(conversation: Conversation, room: int, find: Callable[[str], Node | None]) -> list[PastTurn]:
    """Return the turns next to go that have no summary yet, newest first. Looks at few, however long the conversation
    is."""
    used, place = 0, len(conversation.turns)
    while place > 1 and used <= room * NEAR:
        place -= 1
        used += conversation.turns[place].tokens
    if used <= room * NEAR:
        return []
    return without_summary(conversation.turns[max(0, place - LOOKED_AT) : place], find)[:MOST_AT_ONCE]


def without_summary(turns: Sequence[PastTurn], find: Callable[[str], Node | None]) -> list[PastTurn]:
    """Return the turns whose node has no summary by a model or a person; newest first."""
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


async def summarise(turns: Sequence[PastTurn], graph: Graph, chosen: ChosenModel, work: SummaryWork) -> None:
    """Summarise all turns at the same time. One that could not be made is due again, and a later build makes it."""
    await asyncio.gather(*(_summarise_one(turn, graph, chosen, work) for turn in turns))


async def _summarise_one(turn: PastTurn, graph: Graph, chosen: ChosenModel, work: SummaryWork) -> None:
    from nebula.graph.summaries.build import build_one
    from nebula.graph.summaries.reply import UnreadableReply

    if not turn.node_id or work.is_hopeless:
        return
    try:
        node = await build_one(graph, turn.node_id, chosen, work.spend)
    except (ModelError, GraphError, UnreadableReply, OSError):  # a full disk, too, is no reason to end anything
        work.failures += 1
    else:
        work.count, work.failures = work.count + 1, 0
        turn.summary = node.summary
