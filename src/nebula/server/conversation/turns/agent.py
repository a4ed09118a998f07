"""Turns in sessions, for `nebula serve` and `vizprompt serve`: tools, approvals, memory and log as in a terminal.

Each branch has a session of its own. A prompt goes to the session that ended in the turn it continues, else to a new
one: a "yes to all" holds for what follows the turn it was said in, and for no branch from before it nor a conversation
that was merged into this one.
"""

from __future__ import annotations

import asyncio
import logging
import time
from functools import cached_property
from typing import Final

from nebula.agent.assembly import open_preview, open_project_access, open_session, take_back_half_applied
from nebula.agent.context.preview import preview_turn
from nebula.agent.session import CHAT, Session
from nebula.attachments import Attachment
from nebula.config import Settings
from nebula.events import Activity, Reader, Stamped, new_trace_id
from nebula.graph.graph import Graph
from nebula.llm.choose import ChosenModel, choose_model
from nebula.messages.redaction import Redactor
from nebula.server.conversation.turns.model_sizes import ModelSizes, TurnPreview
from nebula.server.conversation.turns.steering import SteeringQueue
from nebula.tools.approval import Approvals, Approver, allow_all
from nebula.tools.permissions import Permission
from nebula.value import field, replace, value
from nebula.workspace.contract import Workspace
from nebula.workspace.search.file_names import FileNames

MOST_IDLE: Final = 8
"""How many idle sessions are kept for later prompts; the one that has been idle longest is closed first."""
ACTIVITY_EVERY_S: Final = 1.0
_log = logging.getLogger(__name__)


@value
class Job:
    """The checked request of a client."""

    prompt: str
    parents: tuple[str, ...]
    flow: str
    """The id of the flow, or its name if there is no flow of that name yet."""
    flow_name: str
    mode: str = "agent"
    lang: str = "en"
    references: tuple[str, ...] = ()
    """Nodes to send to the model beside the path."""
    without: tuple[str, ...] = ()
    """Turns of the path that are not sent to the model."""
    model: str = ""
    """The model to ask, as `provider/name`; empty: the configured one."""
    attachments: tuple[Attachment, ...] = ()
    beginning: str = ""
    """The first try of a prompt that begins a conversation and is asked again."""
    trace_id: str = field(default_factory=new_trace_id)

    @property
    def known_flow(self) -> str | None:
        """Return the flow of the path; None for a turn that continues nothing."""
        return self.flow if self.parents else None

    @property
    def aliases(self) -> frozenset[str]:
        return frozenset((self.flow, self.flow_name))


class AgentTurns:
    """Carries out jobs."""

    def __init__(self, settings: Settings, graph: Graph, only_mode: str | None = None) -> None:
        """`only_mode`: every turn has this mode, whatever a client asks for."""
        self._only_mode = only_mode
        self._settings = settings
        self._graph = graph
        self._idle: list[Session] = []
        self._at_work: dict[str, Session] = {}
        """By the trace id of its turn."""
        self._sizes = ModelSizes(settings, self._choose_model)
        self._asked: dict[str, str] = {}
        """The models that prompts asked for, by session."""

    async def run(self, job: Job, hear: Reader, ask: Approver, steering: SteeringQueue) -> None:
        """Carry out a job; `hear` gets every event from `Task` to `Final`. It may raise before the first of them."""
        mode = self._only_mode or job.mode
        steering.redact = Redactor(self._settings.secrets).text  # until there is a session, which knows more
        session = self._session_of(job.parents) or await self._open_session(mode, ask)
        steering.redact = session.redactor.text
        self._at_work[job.trace_id] = session
        try:
            session.mode = mode
            await self._use_model(session, job.model)
            if job.parents and job.parents != (session.conversation.leaf,):
                await asyncio.to_thread(session.continue_from, job.parents, job.known_flow)
            session.place.beginning = job.beginning
            await session.turn(
                job.prompt,
                [hear],
                parents=job.parents,
                trace_id=job.trace_id,
                flow=job.flow,
                references=job.references,
                without=job.without,
                attachments=job.attachments,
                steering=steering.take,
                watchers=[Seldom(hear)],
            )
        finally:
            del self._at_work[job.trace_id]
            self._idle.append(session)
            if len(self._idle) > MOST_IDLE:
                await self._idle.pop(0).close()

    async def _open_session(self, mode: str, ask: Approver) -> Session:
        chosen = await self._choose_model()
        try:
            return await open_session(
                self._settings,
                approver=ask,
                mode=mode,
                chosen=chosen,
                open_graph=lambda: self._graph,
                summarises_ahead=True,
            )
        except BaseException:
            await chosen.connector.aclose()
            raise

    async def _choose_model(self, name: str = "") -> ChosenModel:
        """Return the model of this name, else the configured one, or the one that the data folder names."""
        wish = await asyncio.to_thread(lambda: self._graph.settings.suggested_model)
        return await choose_model(self._settings, name, suggested=wish)

    async def preview(self, job: Job) -> TurnPreview:
        """Preview the context of the idle session that would take this prompt, else of a new one."""
        path = job.parents, job.prompt, job.references, job.known_flow, job.without, job.attachments
        model = await self._sizes.of(job.model)
        at_rest = next((each for each in self._idle if (each.conversation.leaf,) == job.parents), None)
        if at_rest is not None:
            asked = replace(at_rest, chosen=replace(at_rest.chosen, name=model.name, context_tokens=model.tokens))
        else:
            how = self._only_mode or job.mode, model.tokens
            asked = await asyncio.to_thread(open_preview, self._settings, self._graph, *how)
        return TurnPreview(await asyncio.to_thread(preview_turn, asked, *path), model)

    async def _use_model(self, session: Session, wanted: str) -> None:
        """Switch the session to the model that a prompt asked for, for that prompt alone; sessions begin with the
        configured one."""
        if self._asked.get(session.id, "") == wanted:
            return
        chosen, old = await self._choose_model(wanted), session.chosen
        session.use_model(chosen)
        self._asked[session.id] = wanted
        await old.connector.aclose()

    def permissions(self, turn_id: str = "") -> tuple[Permission, ...]:
        """Return what goes without asking in the turn of this id, or in the next one behind it; by default in any
        conversation."""
        given = [each for session in self._sessions_at(turn_id) for each in session.project.approvals.granted]
        return tuple(dict.fromkeys(given))

    def revoke(self, turn_id: str = "", name: str = "") -> tuple[Permission, ...]:
        """Take back what goes without asking there under this name, or all of it, and return it."""
        return tuple(each for session in self._sessions_at(turn_id) for each in session.revoke(name))

    def _sessions_at(self, turn_id: str) -> list[Session]:
        if not turn_id:
            return [*self._at_work.values(), *self._idle]
        at_work = self._at_work.get(turn_id)
        return [at_work] if at_work is not None else [each for each in self._idle if each.conversation.leaf == turn_id]

    @property
    def has_files(self) -> bool:
        return self._only_mode != CHAT

    @cached_property
    def files(self) -> Workspace | None:
        """Return the project's files; None if turns cannot touch any. A set of changes that was half applied when
        another server was killed is taken back first: nobody should look at files halfway, or go on from there."""
        if not self.has_files:
            return None
        files = open_project_access(self._settings, Approvals(allow_all)).workspace
        for remark in take_back_half_applied(files):
            _log.warning("%s", remark)
        return files

    @cached_property
    def file_names(self) -> FileNames | None:
        """Return the names of those files, to be found by a part of them."""
        return FileNames(self.files) if self.files is not None else None

    def _session_of(self, parents: tuple[str, ...]) -> Session | None:
        """Return the session at rest that ended in the turn which goes on here."""
        found = next((each for each in self._idle if parents and each.conversation.leaf == parents[0]), None)
        if found is not None:
            self._idle.remove(found)
        return found

    async def close(self) -> None:
        sessions, self._idle = self._idle, []
        for session in sessions:
            await session.close()


class Seldom:
    """Passes an activity on if it is new, or its last report is old: the ring of events is meant for others."""

    def __init__(self, hear: Reader) -> None:
        self._hear = hear
        self._last = ""
        self._due = 0.0

    def __call__(self, stamped: Stamped) -> None:
        event, moment = stamped.event, time.monotonic()
        if isinstance(event, Activity) and (str(event.sentence) != self._last or moment >= self._due):
            self._last, self._due = str(event.sentence), moment + ACTIVITY_EVERY_S
            self._hear(stamped)
