"""Turns of the agent, for `nebula serve`: tools, approvals, memory and log as in a terminal session.

Each flow has a session of its own. A prompt that starts a new conversation starts a new session, so that a "yes to
all" does not outlive the conversation it was said in.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from nebula.agent.assembly import open_session
from nebula.config import Settings
from nebula.events import Reader
from nebula.graph.graph import Graph
from nebula.server.conversation.turns.turns import Ask, Job

if TYPE_CHECKING:
    from nebula.agent.session import Session


class AgentTurns:
    takes_references = False

    def __init__(self, settings: Settings, graph: Graph) -> None:
        self._settings = settings
        self._graph = graph
        self._sessions: dict[str, Session] = {}

    async def run(self, job: Job, hear: Reader, ask: Ask) -> None:
        session = await self._session_for(job, ask)
        session.mode = job.mode
        if job.parents and job.parents != (session.conversation.leaf,):
            await asyncio.to_thread(session.continue_from, job.parents)
        await session.turn(job.prompt, [hear], parents=job.parents, trace_id=job.trace_id, flow=job.flow)

    async def _session_for(self, job: Job, ask: Ask) -> Session:
        session = self._sessions.get(job.flow_name)
        if session is not None and job.parents:
            return session
        if session is not None:
            await self._sessions.pop(job.flow_name).close()
        session = await open_session(self._settings, approver=ask, mode=job.mode, open_graph=lambda: self._graph)
        self._sessions[job.flow_name] = session
        return session

    async def close(self) -> None:
        sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            await session.close()
