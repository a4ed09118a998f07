"""Which nodes of the graph each session made, so that a resumed one finds its way back."""

from __future__ import annotations

import os
from typing import TextIO

from nebula.value import value


@value
class SessionNode:
    """A node that a session made, and the nodes it continued, by their ids."""

    node_id: str
    parents: str

    def to_line(self) -> str:
        return f"{self.node_id} {self.parents}\n"


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

    def open_to_add(self, session_id: str) -> TextIO:
        """Return the file of a session, open for one more line."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        return open(os.path.join(self._folder, session_id), "a", encoding="ascii")
