"""Resume a session that was closed or killed.

The memory has every message, also of a turn that was killed before it could become a node; the graph has the path, with
branches and merges. A session that never branched is read from memory alone. One that branched is read from the graph;
turns of this branch that became no node are added from memory, at the point where they happened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from nebula.agent.conversation import PastTurn
from nebula.agent.recording.nodes import turn_of
from nebula.agent.recording.turn_archive import SessionNode, TurnArchive
from nebula.messages import Message


def resumed_turns(turns: Sequence[Sequence[Message]], archive: TurnArchive, session_id: str) -> list[PastTurn]:
    remembered = [PastTurn(tuple(turn)) for turn in turns]
    made = archive.session_nodes(session_id)
    kept = _turns_with_a_node([turn for turn in remembered if turn.answer.strip()], made, archive)
    if len(kept) == len(made):
        for turn, node in zip(kept, made, strict=True):
            turn.node_id = node.node_id
        if _is_unbranched(made):
            return remembered
    leaf = archive.find(made[-1].node_id) if made else None
    if leaf is None:
        return remembered
    path = [turn_of(node) for node in archive.path_to([leaf.id])]
    if len(kept) < len(made):
        return path + _turns_after(remembered, leaf.prompt)
    return _insert_unfinished(path, remembered, {node.node_id: node.parents for node in made})


def _is_unbranched(made: Sequence[SessionNode]) -> bool:
    """Return whether each node continued the one before it."""
    if not made or made[0].parents:
        return False
    return all(later.parents == sooner.node_id for sooner, later in pairwise(made))


def _turns_with_a_node(
    answered: Sequence[PastTurn], made: Sequence[SessionNode], archive: TurnArchive
) -> Sequence[PastTurn]:
    """Return the turns that became the nodes, in their order; none where that cannot be decided. A turn that was killed
    has messages but no node; comparing with the texts of the nodes finds it. Turns are read from the end, and only as
    far as there are such turns: before those each has its node."""
    if len(answered) == len(made):
        return answered
    turns, nodes = list(answered), list(made)
    found: list[PastTurn] = []
    while len(turns) > len(nodes) > 0:
        if _is_turn_of(turns[-1], nodes[-1], archive):
            found.append(turns[-1])
            nodes.pop()
        turns.pop()
    if nodes and (len(turns) < len(nodes) or not _is_turn_of(turns[-1], nodes[-1], archive)):
        return ()
    return [*turns[: len(nodes)], *found[::-1]]


def _is_turn_of(turn: PastTurn, made: SessionNode, archive: TurnArchive) -> bool:
    node = archive.find(made.node_id)
    if node is None:
        return False
    return (turn.prompt.strip(), turn.answer.strip()) == (node.prompt.strip(), node.response.strip())


def _insert_unfinished(
    path: Sequence[PastTurn], remembered: Sequence[PastTurn], parents: Mapping[str, str]
) -> list[PastTurn]:
    """Return the path, with the turns that have no node put in where they happened: before the node that was made next,
    or at the end. If that node continued another one, the user had moved to another branch in between: then the
    unfinished turns stay behind with theirs."""
    before: dict[str | None, list[PastTurn]] = {}
    after: dict[str | None, list[PastTurn]] = {}
    waiting: list[PastTurn] = []
    last: str | None = None
    for turn in remembered:
        if turn.node_id is None:
            waiting.append(turn)
            continue
        if last is None or parents[turn.node_id] == last:
            before[turn.node_id] = waiting
        else:
            after[last] = waiting
        waiting, last = [], turn.node_id
    found = [each for turn in path for each in (*before.get(turn.node_id, ()), turn, *after.get(turn.node_id, ()))]
    return found + waiting


def _turns_after(remembered: list[PastTurn], prompt: str) -> list[PastTurn]:
    """Return the turns that became no node: those after the newest turn that has the prompt of the last node."""
    for index in range(len(remembered) - 1, -1, -1):
        if remembered[index].prompt == prompt:
            return remembered[index + 1 :]
    return []
