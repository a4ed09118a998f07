"""Going on with a session that was closed, or killed, before.

The memory knows every message, also of a turn that was killed before it could become a node; the graph knows the
path, branches and merges included. A session that went straight on is taken from memory alone. One that branched is
taken from the graph, and what came after its last node from memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from nebula.agent.conversation import PastTurn
from nebula.agent.nodes import turn_of
from nebula.messages import Message

if TYPE_CHECKING:
    from nebula.agent.session_nodes import SessionNode
    from nebula.agent.turn_archive import TurnArchive


def resumed_turns(turns: Sequence[Sequence[Message]], archive: TurnArchive, session_id: str) -> list[PastTurn]:
    remembered = [PastTurn(tuple(turn)) for turn in turns]
    made = archive.session_nodes(session_id)
    answered = [turn for turn in remembered if turn.answer.strip()]
    if _went_straight_on(made, len(answered)):
        for turn, node in zip(answered, made, strict=True):
            turn.node_id = node.node_id
        return remembered
    leaf = archive.find(made[-1].node_id) if made else None
    if leaf is None:
        return remembered
    path = [turn_of(node) for node in archive.path_to([leaf.id])]
    return path + _after(remembered, leaf.prompt)


def _went_straight_on(made: Sequence[SessionNode], turns: int) -> bool:
    """Each turn with an answer became a node, and each node continued the one before."""
    if len(made) != turns or not made or made[0].parents:
        return False
    return all(later.parents == sooner.node_id for sooner, later in pairwise(made))


def _after(remembered: list[PastTurn], prompt: str) -> list[PastTurn]:
    """The turns that no node speaks of: those after the newest one with the last node's prompt."""
    for index in range(len(remembered) - 1, -1, -1):
        if remembered[index].prompt == prompt:
            return remembered[index + 1 :]
    return []
