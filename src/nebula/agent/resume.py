"""Going on with a session of an earlier sitting.

The graph knows the path, branches and merges included; the memory knows every message, also of a turn that was killed
before it could become a node. Where both speak of a turn the node is taken; what came after the last node is added
from memory. Without a graph the memory alone will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nebula.agent.conversation import PastTurn
from nebula.agent.nodes import turn_of
from nebula.messages import Message

if TYPE_CHECKING:
    from nebula.agent.record import NodeKeeper


def resumed_turns(turns: Sequence[Sequence[Message]], keeper: NodeKeeper, session_id: str) -> list[PastTurn]:
    remembered = [PastTurn(tuple(turn)) for turn in turns]
    leaf = keeper.last_node_of(session_id)
    if leaf is None:
        return remembered
    path = [turn_of(node) for node in keeper.path_to([leaf.id])]
    return path + _after(remembered, leaf.prompt)


def _after(remembered: list[PastTurn], prompt: str) -> list[PastTurn]:
    """The turns that no node speaks of: those after the newest one with the last node's prompt."""
    for index in range(len(remembered) - 1, -1, -1):
        if remembered[index].prompt == prompt:
            return remembered[index + 1 :]
    return []
