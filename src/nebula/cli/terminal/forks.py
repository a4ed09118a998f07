"""The /fork commands since the last turn: what /undo and /redo take back and do again beside the files.

A conversation that went elsewhere is put back as it was, not read anew. What was done last is taken back first, be it
a /fork or a change of files, and what was taken back last is done again first.
"""

from __future__ import annotations

from nebula.agent.place import Place
from nebula.value import field, record


@record
class Forks:
    """In the order in which things were done: the other end of a /fork, or None for a change of files."""

    _done: list[Place | None] = field(default_factory=list)
    _undone: list[Place | None] = field(default_factory=list)

    def forked(self, before: Place) -> None:
        self._done.append(before)
        self._undone.clear()

    def files_changed(self) -> None:
        self._done.append(None)
        self._undone.clear()

    def files_undone(self) -> None:
        self.files_are_so_already()
        self._undone.append(None)

    def files_are_so_already(self) -> None:
        """There was nothing left to take back, and so there is nothing to do again."""
        if self._done and self._done[-1] is None:
            self._done.pop()

    def files_redone(self) -> None:
        if self._undone and self._undone[-1] is None:
            self._undone.pop()
        self._done.append(None)

    def undo(self, here: Place) -> Place | None:
        """Return where to go back to; None where the last thing done was no /fork."""
        return _moved(self._done, self._undone, here)

    def redo(self, here: Place) -> Place | None:
        return _moved(self._undone, self._done, here)

    def forget(self) -> None:
        self._done.clear()
        self._undone.clear()


def _moved(source: list[Place | None], to: list[Place | None], here: Place) -> Place | None:
    if not source or source[-1] is None:
        return None
    to.append(here)
    return source.pop()
