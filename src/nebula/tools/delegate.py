"""delegate: hand a part of the work to a turn of its own, which knows nothing of this conversation.

All delegates of one message work side by side, at most four at once: the first call starts them all, and each call
waits for its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nebula.events import Approval, Diff, Usage
from nebula.messages import AssistantToolUse, DeclaredSpec, Json, ToolResultStatus
from nebula.tools.approval import Approvals, Decision
from nebula.tools.contract import Call, Outcome, ToolFailure, schema, text_argument
from nebula.tools.declaration import ToolDeclaration, ToolKit
from nebula.tools.permissions import ALL_WRITES
from nebula.tools.result_limits import cut_middle
from nebula.value import value

AT_ONCE = 4
NAME = "delegate"
SPEC = DeclaredSpec(
    NAME,
    "Give a part of the work to a helper that sees the project and your task, nothing of this conversation. It answers "
    "in text; with read_only false its changes are proposed as one set. Calls in one message run side by side.",
    schema(
        ["task"],
        task={"type": "string", "description": "Complete in itself."},
        read_only={"type": "boolean", "description": "Default: true."},
        model={"type": "string", "description": "Of your own provider. Default: your own."},
    ),
)


@value
class Errand:
    """The task of a delegate."""

    task: str
    read_only: bool = True
    model: str = ""


@value
class Delegated:
    """The result of a delegate."""

    answer: str = ""
    node_id: str | None = None
    error: str = ""
    usage: Usage = Usage()
    cost: float | None = 0.0
    propose: Callable[[Callable[[Approval], Awaitable[Decision]]], Awaitable[Proposed]] | None = None
    """Has its changes decided on, and applies what was allowed; None where it changed nothing."""


@value
class Proposed:
    """The decision on the changes of a delegate."""

    decision: Decision
    applied: tuple[Diff, ...] = ()
    remarks: tuple[str, ...] = ()


Runner = Callable[[Errand, str], Awaitable[Delegated]]
"""(errand, trace id of the calling turn): runs a delegate to its end."""


class Delegate:
    spec = SPEC

    def __init__(self, run: Runner, trace_id: str, approvals: Approvals | None, *, plan: bool) -> None:
        self._run = run
        self._trace_id = trace_id
        self._approvals = approvals
        self._plan = plan
        self._room = asyncio.Semaphore(AT_ONCE)
        self._at_work: dict[int, asyncio.Task[Delegated]] = {}
        """The running delegates by call object: ids are the model's, and may occur twice."""

    async def run(self, args: Mapping[str, Any], call: Call) -> Outcome:
        self._read(args)  # whatever is wrong with a call fails before any delegate starts
        for use in call.peers or (call.use,):
            self._start(use)
        work = self._at_work[id(call.use)]
        try:
            done = await asyncio.shield(work)
        except asyncio.CancelledError:
            for each in self._at_work.values():
                each.cancel()
            await asyncio.wait(self._at_work.values())
            raise
        spent: dict[str, Any] = {"usage": done.usage, "cost": done.cost}
        if done.error:
            failed = Json({"error": done.error} | ({"node_id": done.node_id} if done.node_id else {}))
            return Outcome((failed,), ToolResultStatus.Error, code=500, **spent)
        answer, _ = cut_middle(done.answer, call.room // 2)
        report: dict[str, Any] = {"answer": answer, "node_id": done.node_id, "changed": []}
        if done.propose is None:
            return Outcome.ok(report, **spent)
        return await self._propose(done.propose, report, spent, call)

    def _start(self, use: AssistantToolUse) -> None:
        if use.orig_name != NAME or id(use) in self._at_work or not isinstance(use.orig_args, Mapping):
            return
        try:
            errand = self._read(use.orig_args)
        except ToolFailure:
            return  # this call fails when it is run
        self._at_work[id(use)] = asyncio.create_task(self._run_one(errand))

    async def _run_one(self, errand: Errand) -> Delegated:
        async with self._room:
            return await self._run(errand, self._trace_id)

    def _read(self, args: Mapping[str, Any]) -> Errand:
        task, model = text_argument(args, "task").strip(), text_argument(args, "model", "").strip()
        read_only = args.get("read_only", True)
        if not isinstance(read_only, bool):
            raise ToolFailure("The argument 'read_only' must be true or false.")
        if not task:
            raise ToolFailure("The argument 'task' must not be empty.")
        if self._plan and not read_only:
            raise ToolFailure("In plan mode a delegate only reads: leave read_only out.", code=403, policy=True)
        return Errand(task, read_only, model)

    async def _propose(
        self,
        propose: Callable[[Callable[[Approval], Awaitable[Decision]]], Awaitable[Proposed]],
        report: dict[str, Any],
        spent: dict[str, Any],
        call: Call,
    ) -> Outcome:
        approvals = self._approvals
        assert approvals is not None  # noqa: S101 - a delegate that may write is the agent's

        async def ask(question: Approval) -> Decision:
            if approvals.permissions.reach(question.changes):
                decision = Decision(True, "session")
            else:
                decision = await approvals.ask(question, call, ALL_WRITES)
            meant = [each for each in question.changes if not decision.paths or each.path in decision.paths]
            return await approvals.heed_hooks(decision, call, NAME, meant)

        proposed = await propose(ask)
        report |= {"changed": [each.path for each in proposed.applied]}
        if proposed.remarks:
            report["remark"] = " ".join(proposed.remarks)
        word = proposed.decision.word()
        if not proposed.decision.allowed:
            reason = proposed.decision.reason
            report["remark"] = f"The user refused the changes: {reason}" if reason else "The changes were not allowed."
            return Outcome.ok(report, decision=word, refused=True, code=403, **spent)
        return Outcome.ok(report, changes=proposed.applied, decision=word, **spent)


def _build(kit: ToolKit) -> Delegate | None:
    return Delegate(kit.delegate, kit.trace_id, kit.approvals, plan=kit.plan) if kit.delegate is not None else None


TOOL = ToolDeclaration(NAME, _build, subject="task")
