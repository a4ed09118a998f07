"""The position of a session in its conversation: the turns that led here, the files read on the way, the next
parents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nebula.agent.conversation import Conversation, PastTurn
from nebula.agent.recording.nodes import turn_of
from nebula.tools.ledger import ReadLedger
from nebula.tools.registry import learn_from
from nebula.value import field, record, replace

if TYPE_CHECKING:
    from nebula.agent.recording.turn_archive import TurnArchive


@record
class Place:
    """A session that moves gets a new `Place`, and this one stays unchanged."""

    conversation: Conversation = field(default_factory=Conversation)
    ledger: ReadLedger = field(default_factory=ReadLedger)
    parents_of_next: tuple[str, ...] | None = None
    """The nodes that the next turn continues, where that is not the newest node here."""
    beginning: str = ""
    """The first try of a prompt that the next turn asks again, as a new beginning of the conversation."""

    @classmethod
    def after(cls, turns: Sequence[PastTurn], parents_of_next: tuple[str, ...] | None = None) -> Place:
        """Return the place after these turns; files that they read count as read."""
        here = cls(Conversation(list(turns)), ReadLedger(), parents_of_next)
        learn_from(here.ledger, here.conversation.messages())
        return here

    @classmethod
    def at_nodes(cls, archive: TurnArchive, node_ids: Sequence[str], flow: str | None = None) -> Place:
        """Return the place at these nodes, which the next turn continues. Several nodes are merged."""
        return cls.after([turn_of(node) for node in archive.path_to(node_ids, flow)], tuple(node_ids))

    @property
    def leaf(self) -> str | None:
        return self.conversation.leaf

    def next_parents(self) -> tuple[str, ...]:
        """Return the parents of a turn that begins now."""
        if self.parents_of_next is not None:
            return self.parents_of_next
        return (self.leaf,) if self.leaf else ()

    def add(self, turn: PastTurn) -> None:
        """Add a finished turn; if it became a node, the next turn continues that node."""
        self.conversation.turns.append(replace(turn, beginning=turn.beginning or self.beginning))
        if turn.node_id:
            self.parents_of_next = None
            self.beginning = ""

    def step_back(self) -> PastTurn | None:
        """Remove the last turn from the path, so that the next one becomes its sibling. Nothing is deleted."""
        if not self.conversation.turns:
            return None
        turn = self.conversation.turns.pop()
        self.parents_of_next = turn.parents
        is_first = not turn.parents and not self.conversation.turns
        self.beginning = (turn.beginning or turn.node_id or "") if is_first else ""
        return turn
