"""What a race and its tries say to each other."""

from __future__ import annotations

from typing import Any

from nebula.events import Stamped
from nebula.graph.values import FileState
from nebula.value import value


@value
class RaceOrder:
    """What is tried, by whom."""

    root: str
    prompt: str
    models: tuple[str, ...]
    """One name for each try; empty: the configured one."""
    trace_ids: tuple[str, ...]
    overrides: tuple[tuple[str, Any], ...] = ()
    """What the command line sets."""
    parents: tuple[str, ...] = ()
    session_id: str = ""
    allow: tuple[str, ...] = ()
    mode: str = "agent"
    fresh: bool = False
    """The tries know nothing of the turns that lead to `parents`."""


@value
class TryEvent(Stamped):
    """An event of a try, with the number of the try."""

    number: int = 0

    def to_json(self) -> dict[str, Any]:
        return Stamped.to_json(self) | {"try": self.number}


@value
class TryChanges:
    """What a try did to the files, by the journal's names of states; the contents come beside it."""

    files: tuple[FileState, ...] = ()


@value
class TryContent:
    """The content of a file, or the target of a link, that a change names."""

    content: bytes
