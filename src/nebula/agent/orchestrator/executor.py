"""Carrying out one step: a goal is a turn of its own for the model, a named tool is called as it stands."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from nebula.agent.checks.find import kind_of
from nebula.agent.checks.repair import Repairer
from nebula.agent.conversation import Fit
from nebula.agent.loop import Turn, errors_as_events, run_rounds, run_tool
from nebula.agent.orchestrator.existing_files import CONFLICT, ShowsExisting
from nebula.agent.orchestrator.step_prompt import step_prompt
from nebula.agent.orchestrator.tool_steps import WatchedTools, conflict_goal, error_of, prepared_call
from nebula.agent.plan.plan import PlanStep
from nebula.agent.plan.planner import SEED
from nebula.agent.turn_result import TurnResult
from nebula.config import Settings
from nebula.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_POLICY
from nebula.events import EventStream, Final, Stamped
from nebula.language import Sentence
from nebula.llm.choose import ChosenModel
from nebula.messages import (
    MAX_USER_MESSAGE_SIZE,
    ToolResultStatus,
    UserMessage,
    strip_hidden_characters,
)
from nebula.tools.ledger import ReadLedger
from nebula.tools.toolset import ToolSet
from nebula.value import field, record, value
from nebula.workspace.contract import Workspace

SHARE_FOR_STEP = 0.8
"""Of the model's context; the rest is for the system prompt and the answer."""
BYTES_PER_TOKEN = 2
CHECK_TOOLS = "run."
"""How a plan names checks as tools: `run.lint`, `run.test`, `run.format`, `run.http`."""


@value
class StepEnd:
    """How an attempt ended."""

    exit_code: int
    answer: str = ""
    remark: Sentence | None = None

    @property
    def ok(self) -> bool:
        return self.exit_code == EXIT_OK


@record
class Executor:
    """One model with its tools, for all steps of a task."""

    chosen: ChosenModel
    tools: ToolSet
    files: Workspace
    ledger: ReadLedger
    stream: EventStream
    settings: Settings
    task: str
    steps: Sequence[PlanStep]
    done: dict[str, str] = field(default_factory=dict)
    """What the steps that are done came to, by id."""
    repairer: Repairer | None = None
    """Runs the checks that a step names; None where there are none to run."""
    _reader: TurnResult = field(default_factory=TurnResult)

    def __call__(self, stamped: Stamped) -> None:
        """Reads the stream for the attempt that is going on."""
        self._reader(stamped)

    async def carry_out(self, step: PlanStep) -> StepEnd:
        if step.tool.startswith(CHECK_TOOLS):
            return await self._check(step)
        if step.tool:
            return await self._call(step)
        return await self.reach(step.goal, step.id, step)

    async def reach(self, goal: str, task_id: str, step: PlanStep | None = None) -> StepEnd:
        """A turn of its own; the goal alone is what the user says in it."""
        self._reader = TurnResult()
        final = await self._turn(goal, task_id, step)
        return StepEnd(final.exit_code, final.text, final.remark or _why(final))

    async def _turn(self, goal: str, task_id: str, step: PlanStep | None) -> Final:
        turn = self._new_turn(task_id, step)
        turn.history.append(UserMessage.new_prompt(strip_hidden_characters(goal)).truncate_safe(MAX_USER_MESSAGE_SIZE))
        with errors_as_events(self.stream, task_id) as work:
            await run_rounds(turn)
        return self._reader.final(work.ending, None)

    def _new_turn(self, task_id: str, step: PlanStep | None) -> Turn:
        room = int(self.chosen.context * SHARE_FOR_STEP)
        return Turn(
            stream=self.stream,
            model=self.chosen.connector,
            model_name=self.chosen.name,
            system=step_prompt(self.task, self.steps, step, self.done, self.settings.home),
            history=[],
            tools=ShowsExisting(self.tools, self.files, self.ledger),
            max_rounds=self.settings.max_rounds,
            room_for_results=min(MAX_USER_MESSAGE_SIZE, room * BYTES_PER_TOKEN),
            temperature=0.0,
            seed=SEED,
            task_id=task_id,
            fit=Fit((), frozenset((*self.tools.tools, *self.tools.missing)), room),
        )

    async def repair(self, report: str, number: int) -> bool:
        end = await self.reach(report, f"repair-{number}")
        if end.exit_code == EXIT_INTERRUPTED:
            raise asyncio.CancelledError  # the whole task ends, not this round alone
        return end.ok

    async def _check(self, step: PlanStep) -> StepEnd:
        """`run.test` and its kind: the configured checks of that kind, repaired where they fail."""
        kind = step.tool.removeprefix(CHECK_TOOLS)
        checks = self.repairer.checks.commands if self.repairer is not None else ()
        names = [name for name in checks if kind_of(name) == kind]
        if self.repairer is None or not names:
            return StepEnd(EXIT_FAILED, "", Sentence("No check of the kind '{kind}' is configured.", kind=kind))
        passed = False
        with errors_as_events(self.stream, step.id) as work:
            passed = await self.repairer.verify(names)
        if work.ending.status != "ok":
            return StepEnd(work.ending.code, "", work.ending.remark)
        failed = Sentence("{names} failed.", names=", ".join(names))
        return StepEnd(EXIT_OK) if passed else StepEnd(EXIT_FAILED, "", failed)

    async def _call(self, step: PlanStep) -> StepEnd:
        """The tool as the plan names it. Where its file is there already, the model decides what becomes of it."""
        self._reader = TurnResult()
        call = await asyncio.to_thread(prepared_call, step, self.tools.specs, self.files, self.ledger)
        if call is None:
            return StepEnd(EXIT_OK, "It was so already.")
        turn = self._new_turn(step.id, step)
        turn.tools = watched = WatchedTools(turn.tools)
        with errors_as_events(self.stream, step.id) as work:
            await run_tool(turn, call.use, [call.use], call.invalid)
        outcome = watched.last
        if outcome is None or work.ending.status != "ok":
            return StepEnd(work.ending.code, "", work.ending.remark)
        if outcome.status is ToolResultStatus.Success:
            return StepEnd(EXIT_OK)
        if outcome.code == CONFLICT and call.use.orig_name == "writeFile":
            return await self.reach(conflict_goal(step, error_of(outcome)), step.id, step)
        said = outcome.problem or Sentence("{tool} answered: {problem}", tool=step.tool, problem=error_of(outcome))
        return StepEnd(EXIT_POLICY if self._reader.was_refused else EXIT_FAILED, "", said)


def _why(final: Final) -> Sentence | None:
    return Sentence("A change was refused and not made.") if final.status == "refused" else None
