"""Turns that clients started: any number at once, each known by its trace id; any client can subscribe.

Several may begin a conversation, or continue the same node. A turn belongs to the server, not to a connection: it does
not end when its client disconnects, and another client can answer its question.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from nebula.agent.loop import end_before_session
from nebula.errors import NebulaError
from nebula.events import Approval, EventStream, Final, Reader, Stamped, Task
from nebula.server.conversation.graph_watch import GraphWatch
from nebula.server.conversation.hub import Hub
from nebula.server.conversation.protocol import ActionError
from nebula.server.conversation.turns.agent import AgentTurns, Job
from nebula.server.conversation.turns.races import Races
from nebula.server.conversation.turns.steering import SteeringQueue
from nebula.server.refusals import internal_error
from nebula.stage import Stage, StageOptions, staged_json
from nebula.tools.approval import Decision, has_part, reaches_too_far
from nebula.value import field, record

_log = logging.getLogger(__name__)


@record
class _Running:
    job: Job
    sender: object
    stage: Stage
    before: int
    """The number of the last event before its own: a client that resumes from there gets all of them."""
    steering: SteeringQueue = field(default_factory=SteeringQueue)
    task: asyncio.Task[None] | None = None
    approval: dict[str, Any] | None = None
    """The question that is waiting for an answer, as in its event."""
    ended: bool = False


class Turns:
    def __init__(self, runner: AgentTurns, hub: Hub, watch: GraphWatch, curtain: str = "quiet") -> None:
        self._runner = runner
        self._hub = hub
        self._watch = watch
        self._curtain = curtain
        self._running: dict[str, _Running] = {}
        self._questions: dict[str, tuple[Approval, asyncio.Future[Decision]]] = {}
        self.races = Races(hub, watch)

    def start(self, job: Job, sender: object) -> None:
        """Begin a turn and return at once."""
        stage = Stage(StageOptions(job.lang, self._curtain, backstage=True))
        turn = _Running(job, sender, stage, self._hub.seq)
        self._running[job.trace_id] = turn
        turn.task = asyncio.create_task(self._run(turn))

    def is_at_work(self, trace_id: str) -> bool:
        return trace_id in self._running

    def approve(self, approval_id: str, decision: Decision) -> None:
        """Answer a question. Raises ActionError for an unknown id, and for an answer that the question does not have;
        then it stays open."""
        question, answer = self._questions.get(approval_id, (None, None))
        if question is None or answer is None or answer.done():
            raise ActionError("nobody waits for that approval (any more)", code="not_found")
        if not has_part(question, decision):
            raise ActionError("the question has no such 'hunks' or 'paths'")
        if reaches_too_far(question, decision):
            raise ActionError(
                "this question is asked every time: answer 'yes', 'no' or the reason why not, but not 'all'"
            )
        answer.set_result(decision)

    def cancel(self, trace_id: str | None, sender: object) -> list[str]:
        """Stop one turn or race, or all of the sender; they end with `Final` like any other."""
        races = self.races.cancel(trace_id, sender)
        turns = [] if races and trace_id is not None else self._find_turns(trace_id, sender, or_none=bool(races))
        for turn in turns:
            if turn.task is not None:
                turn.task.cancel()
        return [*races, *(turn.job.trace_id for turn in turns)]

    def steer(self, text: str, trace_id: str | None, sender: object) -> tuple[str, str]:
        """Send a text into a turn, which reads it before its next round; return the ids of the turn and of the text.
        Subscribers of the turn are told at once that it is waiting, and at the end whether it still is."""
        turns = [turn for turn in self._find_turns(trace_id, sender) if not turn.ended]
        if not turns:
            raise _no_such_turn()
        if len(turns) > 1:
            raise ActionError("several of your turns are under way; say which by 'trace_id'")
        job, steering = turns[0].job, turns[0].steering
        steering_id = steering.add(text)
        data = {"trace_id": job.trace_id, "flow_id": job.flow, "waiting": steering.shown()}
        self._hub.publish("steering_waits", data, flows=job.aliases, trace_id=job.trace_id)
        return job.trace_id, steering_id

    def tell_permissions(self, node_id: str = "") -> None:
        """Tell everybody that another thing goes without asking now, or no longer."""
        self._hub.publish("permissions_changed", {"node_id": node_id})

    def _find_turns(self, trace_id: str | None, sender: object, *, or_none: bool = False) -> list[_Running]:
        """Return the turn of this id, or those of the sender. Raises ActionError where there is none, unless `or_none`
        allows that."""
        turns = [
            turn
            for turn in self._running.values()
            if (turn.job.trace_id == trace_id if trace_id is not None else turn.sender is sender)
        ]
        if not turns and not or_none:
            raise _no_such_turn()
        return turns

    def under_way(self) -> list[dict[str, Any]]:
        """Return the running turns as a client has to know them that connects later, also when their events have left
        the ring."""
        return [
            {
                "trace_id": turn.job.trace_id,
                "flow_id": turn.job.flow,
                "since": turn.before,
                "prompt": turn.job.prompt,
                "parents": list(turn.job.parents),
                "approval": turn.approval,
                "waiting": turn.steering.shown(),
            }
            for turn in self._running.values()
        ]

    async def close(self) -> None:
        """Interrupt what is running and wait until it is recorded."""
        for turn in self._running.values():
            if turn.task is not None:
                turn.task.cancel()
        await self.races.close()
        await self.finished()
        await self._runner.close()

    async def finished(self) -> None:
        """Wait for the turns that are running now."""
        tasks = [turn.task for turn in self._running.values() if turn.task is not None]
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, turn: _Running) -> None:
        job = turn.job

        def hear(stamped: Stamped) -> None:
            turn.ended = turn.ended or isinstance(stamped.event, Final)
            data = staged_json(stamped, turn.stage.read(stamped)) | {"flow_id": job.flow}
            if turn.ended:
                data["unheard"] = turn.steering.shown()
            # While a question is open nothing else happens in a turn: any other event means that it was answered.
            asked = isinstance(stamped.event, Approval) and stamped.event.decision is None
            turn.approval = data if asked else None
            self._watch.drain()
            self._hub.publish(stamped.event.type, data, flows=job.aliases, trace_id=job.trace_id)

        try:
            await self._runner.run(job, hear, self._ask, turn.steering)
        except (NebulaError, asyncio.CancelledError) as problem:
            _end(turn, hear, problem)
        except Exception as problem:  # noqa: BLE001 - whoever waits for this turn must hear that it is over
            _log.exception("a turn failed")
            _end(turn, hear, problem if isinstance(problem, OSError) else internal_error())
        finally:
            del self._running[job.trace_id]

    async def _ask(self, question: Approval) -> Decision:
        waiting: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._questions[question.approval_id] = question, waiting
        try:
            decision = await waiting
        finally:
            del self._questions[question.approval_id]
        if decision.allowed and decision.scope != "once":
            self.tell_permissions()  # whoever asks for the list because of that is answered after this has returned
        return decision


def _no_such_turn() -> ActionError:
    return ActionError("there is no such turn under way", code="not_found")


def _end(turn: _Running, hear: Reader, problem: BaseException) -> None:
    """Emit the first and the last event of a turn that never got a session."""
    if not turn.ended:
        job = turn.job
        task = Task(job.prompt, job.mode, "", parents=job.parents)
        end_before_session(EventStream("", job.trace_id, audience=(hear,)), task, problem)
