"""Undo and redo of what was done to a graph through one front door."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import TypeVar

from nebula.graph.flows.change import GraphChange
from nebula.graph.graph import Graph

T = TypeVar("T")
_Edits = deque[list[GraphChange]] | list[list[GraphChange]]
KEPT = 100
KEPT_HISTORIES = 100


class EditHistory:
    """What can be undone, newest first. Anything done anew forgets what could have been done again."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._lock = threading.Lock()
        self._done: deque[list[GraphChange]] = deque(maxlen=KEPT)
        self._undone: list[list[GraphChange]] = []

    def do(self, action: Callable[[], T]) -> T:
        """Run an action on the graph; all its changes are undone together, and taken back if it fails halfway."""
        with self._lock:
            with self._graph.recording() as inverses:
                try:
                    result = action()
                except BaseException:
                    apply_together(self._graph, reversed(inverses[:]))
                    raise
            if inverses:
                self._done.append(inverses)
                self._undone.clear()
        return result

    def undo(self) -> bool:
        """Take back what was done last; return False if there is nothing. Raises ChangedSince, or another GraphError,
        where others have changed what it left: nothing happens then, and that edit is forgotten."""
        with self._lock:
            return bool(self._done) and self._turn(self._done, self._undone)

    def redo(self) -> bool:
        """Do again what was undone last, under the same conditions."""
        with self._lock:
            return bool(self._undone) and self._turn(self._undone, self._done)

    def _turn(self, edits: _Edits, onto: _Edits) -> bool:
        changes = edits.pop()
        try:
            onto.append(apply_together(self._graph, reversed(changes)))
        except OSError:  # a full disk, say: it can be tried again
            edits.append(changes)
            raise
        return True


class EditHistories:
    """One for each of those who edit through a front door, by name: nobody takes back what another did."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: OrderedDict[str, EditHistory] = OrderedDict()

    def of(self, name: str) -> EditHistory:
        history = self._known.pop(name, None) or EditHistory(self._graph)
        self._known[name] = history
        if len(self._known) > KEPT_HISTORIES:
            self._known.popitem(last=False)
        return history


def apply_together(graph: Graph, changes: Iterable[GraphChange]) -> list[GraphChange]:
    """Apply all of the changes, or none and an exception; return their inverses."""
    inverses: list[GraphChange] = []
    try:
        for change in changes:
            inverses.append(graph.apply(change))
    except BaseException:
        for inverse in reversed(inverses):
            graph.apply(inverse)
        raise
    return inverses
