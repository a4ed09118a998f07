"""The part of the past that is not sent whole: summaries of turns and references, and names of what is left out."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING

from nebula.agent.context.building import PastContext, WholeTurn, turn_name
from nebula.agent.conversation import PastTurn
from nebula.agent.past.chapters import TOKENS_A_LINE, outline
from nebula.graph.context.packing import Packer
from nebula.graph.context.text import AGENT, layout
from nebula.graph.tokens import estimate_tokens
from nebula.graph.values import Node, Utterance
from nebula.messages import strip_hidden_characters

if TYPE_CHECKING:
    from nebula.agent.context.building import FindNode

SHARE_OF_CHAPTERS = 4
"""The share of the room for turns that are not sent whole that goes to naming those left out."""
MOST_PACKED = 200
"""At most so many turns are looked at for a summary."""
SMALLEST_FRAME = 64
"""Tokens for the words around the summaries."""


def pack(
    whole: tuple[WholeTurn, ...],
    older: Sequence[PastTurn],
    beside: Sequence[str],
    room: int,
    most_beside: int,
    find: FindNode,
) -> PastContext:
    """Return a past with the `whole` turns in full, and the `older` turns and the references `beside` as summaries."""
    near = max(0, len(older) - MOST_PACKED)
    # A withdrawn prompt is not worth remembering once it is old.
    path = {turn_name(turn, near + index): turn for index, turn in enumerate(older[near:]) if turn.answer}
    references = [each for each in beside if each not in path]
    nodes = _Nodes(path, find)
    room -= SMALLEST_FRAME
    packer = _fill(nodes, room, most_beside, path, references)
    chapters: list[str] = []
    if len(packer.parts) < len(path) + len(references) or near:
        chapters = outline(older[: _first_packed(older, packer.parts)], room // SHARE_OF_CHAPTERS)
        room -= sum(estimate_tokens(line) + 1 for line in chapters)
        packer = _fill(nodes, room, most_beside, path, references)
        if chapters:
            chapters = outline(older[: _first_packed(older, packer.parts)], len(chapters) * TOKENS_A_LINE)
    flow, named = ([packer.parts[each] for each in ids if each in packer.parts] for ids in (path, references))
    far = (turn_name(turn, index) for index, turn in enumerate(older[:near]))
    left_out = tuple(each for each in (*far, *path, *references) if each not in packer.parts)
    if not packer.parts and not chapters:
        return PastContext(whole, left_out=left_out)
    lines = [*chapters, *(part.text for part in flow)]
    text = layout(AGENT, "", lines, [part.text for part in named], len(left_out))
    return PastContext(whole, strip_hidden_characters(text), tuple(flow), tuple(named), left_out)


def _fill(nodes: _Nodes, room: int, most_beside: int, path: Iterable[str], references: Sequence[str]) -> Packer:
    """Pack the references, in full where they fit into their part of the room, then the path into what is left."""
    packer = Packer(nodes.get, AGENT, min(room, most_beside))
    packer.pack_references(references)
    packer.complete(references)
    packer.widen(max(0, room - most_beside))
    packer.pack_earlier(list(path))
    return packer


def _first_packed(older: Sequence[PastTurn], packed: Container[str]) -> int:
    """Return the index of the oldest turn that is sent; turns before it are left out."""
    place = len(older)
    while place and (turn_name(older[place - 1], place - 1) in packed or not older[place - 1].answer):
        place -= 1
    return place


class _Nodes:
    """The turns of a conversation as nodes: as the graph has them, else made from what the session remembers."""

    def __init__(self, path: dict[str, PastTurn], find: FindNode) -> None:
        self._path = path
        self._find = find
        self._known: dict[str, Node | None] = {}

    def get(self, node_id: str) -> Node | None:
        if node_id not in self._known:
            self._known[node_id] = self._read(node_id)
        return self._known[node_id]

    def _read(self, node_id: str) -> Node | None:
        turn = self._path.get(node_id)
        if turn is None or turn.node_id:
            found = self._find(node_id)
            if found is not None or turn is None:
                return found
        return Node(node_id, "", (Utterance("user", turn.prompt), Utterance("assistant", turn.answer)), turn.summary)
