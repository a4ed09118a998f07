"""What every action of the conversation server gets: the server and the client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from nebula.agent.undo import NoJournalHere
from nebula.config import Settings
from nebula.graph.graph import Graph
from nebula.graph.undo import EditHistories, EditHistory
from nebula.server.conversation.briefs import CompactFlows, SeenFirst
from nebula.server.conversation.graph_watch import GraphWatch
from nebula.server.conversation.hub import Hub, Subscriber
from nebula.server.conversation.turns.agent import AgentTurns
from nebula.server.conversation.turns.turns import Turns
from nebula.server.conversation.typed_commands import TypedCommands
from nebula.value import field, record, value
from nebula.workspace.local import LocalWorkspace

P = ParamSpec("P")
T = TypeVar("T")

in_thread = asyncio.to_thread
"""The graph reads and writes files, so it is never called on the event loop."""


@value
class ServerContext:
    graph: Graph
    histories: EditHistories
    hub: Hub
    watch: GraphWatch
    turns: Turns
    runner: AgentTurns
    settings: Settings
    commands: TypedCommands
    modes: tuple[str, ...]
    """The modes for `send_prompt`; the first is the default."""
    compact_flows: CompactFlows = field(default_factory=CompactFlows)
    seen_first: SeenFirst = field(default_factory=SeenFirst)

    def files(self) -> LocalWorkspace:
        """Return the project's files. Raises ActionError on a server of a graph alone."""
        found = self.runner.files
        if not isinstance(found, LocalWorkspace):
            raise NoJournalHere("This server has no files: `nebula serve` has those of the project.")
        return found


@record
class Client:
    """One connection."""

    subscriber: Subscriber
    edits: EditHistory
    """The edits of its page, or of all connections that named no page."""
    lang: str = "en"
    """The language of its error messages."""
    turns: list[str] = field(default_factory=list)
    """Its turns so far; the next prompt continues the last of them unless it says otherwise."""
    background: set[asyncio.Task[None]] = field(default_factory=set)

    async def edit(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Make a change that can be undone."""
        return await in_thread(self.edits.do, lambda: call(*args, **kwargs))
