"""The /fork commands since the last turn: what /undo and /redo take back and do again beside the files.

A conversation that went elsewhere is put back as it was, not read anew. What was done to files after a /fork is taken
back before the /fork itself, as it was done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nebula.value import field, record

if TYPE_CHECKING:
    from nebula.agent.session import ConversationPlace


@record
class Fork:
    other: ConversationPlace
    """Where the conversation stood before; once undone, where it had gone."""
    file_changes: int = 0
    """Since then, and not taken back."""


@record
class Forks:
    _done: list[Fork] = field(default_factory=list)
    _undone: list[Fork] = field(default_factory=list)

    def forked(self, before: ConversationPlace) -> None:
        self._done.append(Fork(before))
        self._undone.clear()

    def files_changed(self, by: int = 1) -> None:
        if self._done:
            self._done[-1].file_changes = max(0, self._done[-1].file_changes + by)

    def undo(self, here: ConversationPlace) -> ConversationPlace | None:
        """Where to go back to; None where the last thing done was no /fork."""
        if not self._done or self._done[-1].file_changes:
            return None
        self._undone.append(Fork(here))
        return self._done.pop().other

    def redo(self, here: ConversationPlace) -> ConversationPlace | None:
        if not self._undone:
            return None
        self._done.append(Fork(here))
        return self._undone.pop().other

    def forget(self) -> None:
        self._done.clear()
        self._undone.clear()
