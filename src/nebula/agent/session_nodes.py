"""Which nodes of the graph each session made, so that a resumed one finds its way back."""

from __future__ import annotations

import os
from collections.abc import Sequence

from nebula.value import value


@value
class SessionNode:
    """A node that a session made, and the nodes it continued, by their ids."""

    node_id: str
    parents: str


class SessionNodes:
    """The nodes that each session made, in order: local, outside git, one small file a session, and disposable."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def read(self, session_id: str) -> list[SessionNode]:
        try:
            with open(os.path.join(self._folder, session_id), encoding="ascii") as file:
                lines = file.read().split("\n")
        except (OSError, UnicodeDecodeError):
            return []
        # What follows the last line break was cut off by a crash.
        return [SessionNode(*(line.split(" ", 1) if " " in line else (line, ""))) for line in lines[:-1]]

    def add(self, session_id: str, node_id: str, parents: Sequence[str]) -> None:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        with open(os.path.join(self._folder, session_id), "a", encoding="ascii") as file:
            file.write(f"{node_id} {','.join(parents)}\n")
