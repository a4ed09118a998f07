"""Delegates of a session: each is a try, whose changes are proposed to the turn that called it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from nebula.agent.race.begin import BadRace, check_model, command_line
from nebula.agent.race.outcome import TryOutcome
from nebula.agent.race.race import Race
from nebula.agent.race.take import Wanted, take
from nebula.agent.race.wire import RaceOrder
from nebula.agent.session import Session
from nebula.events import Approval, Reader, new_trace_id
from nebula.llm.catalog import split_name
from nebula.tools.approval import Decision
from nebula.tools.contract import CancelledLate
from nebula.tools.delegate import Delegated, Errand, Proposed
from nebula.workspace.local import LocalWorkspace

ELSEWHERE = (
    "The user chose {provider}: a delegate works with a model of the same provider. Leave 'model' out, or name one."
)
"""Where the words of a project go is not for a model to say."""


async def run_delegate(session: Session, recorders: tuple[Reader, ...], errand: Errand, trace_id: str) -> Delegated:
    """Run one delegate of a session to its end; if this is cancelled, the delegate ends at once. Its node has the
    parents of the calling turn, whose id is `trace_id`."""
    chosen, settings = session.chosen, session.settings
    provider, model = split_name(errand.model)
    if provider not in ("", chosen.provider):
        return Delegated(error=ELSEWHERE.format(provider=chosen.provider))
    if errand.model:
        try:
            await check_model(settings, f"{chosen.provider}/{model}")
        except BadRace as problem:
            return Delegated(error=str(problem))
    order = RaceOrder(
        settings.root,
        errand.task,
        (f"{chosen.provider}/{model or chosen.name}",),
        (new_trace_id(),),
        tuple(command_line(settings).items()),
        session.place.next_parents(),
        session.id,
        tuple(sorted(session.project.approvals.permissions.named)),
        "plan" if errand.read_only else "agent",
        fresh=True,
        granted=session.project.approvals.granted,
    )
    workspace = session.project.workspace
    assert isinstance(workspace, LocalWorkspace)  # noqa: S101 - elsewhere there are no delegates
    race = Race(order, session.archive, workspace, recorders, _hear_nothing, session.remarks.add, session.redactor)
    [done] = await race.run()
    return _report(done, workspace, trace_id)


def _report(done: TryOutcome, workspace: LocalWorkspace, trace_id: str) -> Delegated:
    final = done.final
    error = ""
    if final.status not in ("ok", "limit") or not final.text.strip():
        error = str(final.remark) if final.remark else f"It ended with the status {final.status}."
    wanted = Wanted(done.trace_id, done.files)

    async def propose(ask: Callable[[Approval], Awaitable[Decision]]) -> Proposed:
        try:
            taken = await take([wanted], workspace, ask, group=trace_id)
        except CancelledLate:
            raise asyncio.CancelledError from None  # what it holds is no outcome of a call
        remarks = [*map(str, taken.remarks), *map(str, taken.left_out)]
        if taken.conflicts:
            remarks.append(f"Left out, because it changed in the project meanwhile: {', '.join(taken.conflicts)}.")
        return Proposed(taken.decision, taken.applied, tuple(remarks))

    offered = propose if done.files and not error else None
    return Delegated(final.text, final.node_id, error, final.usage, final.cost, offered)


def _hear_nothing(_: int, __: object) -> None:
    """Show nothing: the calling turn reports the result."""
