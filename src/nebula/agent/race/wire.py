"""The values that a race and its tries send each other."""

from __future__ import annotations

from typing import Any

from nebula.events import Stamped
from nebula.graph.values import FileState
from nebula.tools.permissions import Permission
from nebula.value import value


@value
class RaceOrder:
    """The task of a race, and who tries it."""

    root: str
    prompt: str
    models: tuple[str, ...]
    """One name for each try; empty: the configured one."""
    trace_ids: tuple[str, ...]
    overrides: tuple[tuple[str, Any], ...] = ()
    """Settings from the command line."""
    parents: tuple[str, ...] = ()
    session_id: str = ""
    allow: tuple[str, ...] = ()
    mode: str = "agent"
    fresh: bool = False
    """The tries do not see the turns that lead to `parents`."""
    granted: tuple[Permission, ...] = ()
    """What goes without asking where the tries were started: what a tool of an MCP server does is done outside of their
    places, so only those are called that somebody said yes to."""


@value
class TryEvent(Stamped):
    """An event of a try, with the number of the try."""

    number: int = 0

    def to_json(self) -> dict[str, Any]:
        return Stamped.to_json(self) | {"try": self.number}


@value
class TryChanges:
    """A try's changes to files, with the journal's names of their states; the contents are sent separately."""

    files: tuple[FileState, ...] = ()


@value
class TryContent:
    """The content of a file, or the target of a link, that a change refers to."""

    content: bytes
