"""Turns in sessions, for `nebula serve` and `vizprompt serve`: tools, approvals, memory and log as in a terminal.

Each branch at work has a session of its own. A prompt goes to the session of the conversation it continues, or to a new
one where that is busy elsewhere; a prompt that starts a new conversation starts a new session, so that a "yes to all"
does not outlive the conversation it was said in.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from nebula.agent.assembly import open_project_access, open_session, preview_context
from nebula.agent.session import CHAT
from nebula.config import Settings
from nebula.events import Reader
from nebula.graph.context.preview import ContextPreview
from nebula.graph.graph import Graph
from nebula.server.conversation.turns.context_size import ContextSize
from nebula.server.conversation.turns.turns import Ask, Job
from nebula.tools.approval import Approvals, allow_all
from nebula.workspace.contract import Workspace

if TYPE_CHECKING:
    from nebula.agent.session import Session


MOST_IDLE: Final = 8
"""Sessions kept for prompts to come; the one that rested longest is closed first."""


class AgentTurns:
    def __init__(self, settings: Settings, graph: Graph, only_mode: str | None = None) -> None:
        """`only_mode`: whatever a client asks for, this is what it gets."""
        self._only_mode = only_mode
        self._settings = settings
        self._graph = graph
        self._idle: list[Session] = []
        self._size = ContextSize(settings)
        self._files: Workspace | None = None

    async def run(self, job: Job, hear: Reader, ask: Ask) -> None:
        mode = self._only_mode or job.mode
        session = self._session_of(job.parents) or await open_session(
            self._settings, approver=ask, mode=mode, open_graph=lambda: self._graph
        )
        try:
            session.mode = mode
            if job.parents and job.parents != (session.conversation.leaf,):
                await asyncio.to_thread(session.continue_from, job.parents, job.known_flow)
            await session.turn(
                job.prompt,
                [hear],
                parents=job.parents,
                trace_id=job.trace_id,
                flow=job.flow,
                references=job.references,
            )
        finally:
            self._idle.append(session)
            if len(self._idle) > MOST_IDLE:
                await self._idle.pop(0).close()

    async def preview(self, job: Job) -> ContextPreview:
        """As the session at rest that would go on here, else as a new one."""
        path = job.parents, job.prompt, job.references, job.known_flow
        at_rest = next((each for each in self._idle if (each.conversation.leaf,) == job.parents), None)
        if at_rest is not None:
            return await asyncio.to_thread(at_rest.preview_context, *path)
        _, tokens = await self._size.known()
        mode = self._only_mode or job.mode
        return await asyncio.to_thread(preview_context, self._settings, self._graph, *path, mode, tokens)

    def files(self) -> Workspace | None:
        if self._only_mode == CHAT:
            return None
        if self._files is None:
            self._files = open_project_access(self._settings, Approvals(allow_all)).workspace
        return self._files

    def _session_of(self, parents: tuple[str, ...]) -> Session | None:
        """The session at rest whose conversation goes on here: best the one that ended here."""
        if not parents:
            return None
        for session in sorted(self._idle, key=lambda each: each.conversation.leaf != parents[0]):
            if any(turn.node_id == parents[0] for turn in session.conversation.turns):
                self._idle.remove(session)
                return session
        return None

    async def close(self) -> None:
        sessions, self._idle = self._idle, []
        for session in sessions:
            await session.close()
