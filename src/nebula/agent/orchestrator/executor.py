"""Carry out one step: for a goal the model gets a turn of its own, a named tool is called directly.

Whether a step is done is decided by its calls and the files, never by what the model says of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from nebula.agent.checks.find import kind_of
from nebula.agent.checks.repair import Repairer
from nebula.agent.conversation import Fit
from nebula.agent.loop import Turn, errors_as_events, run_rounds, run_tool
from nebula.agent.orchestrator.step_files import missing_files, not_there
from nebula.agent.orchestrator.step_prompt import step_prompt
from nebula.agent.orchestrator.tool_steps import (
    CONFLICT,
    ShowsExisting,
    conflict_goal,
    error_of,
    named,
    prepared_call,
    problem_of,
)
from nebula.agent.plan.plan import CHECK_TOOLS, PlanStep
from nebula.agent.plan.planner import SEED
from nebula.agent.turn_result import TurnResult
from nebula.config import Settings
from nebula.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_POLICY
from nebula.events import EventStream
from nebula.language import Sentence
from nebula.llm.choose import ChosenModel
from nebula.llm.dialect.answer_schema import AnswerSchema, AnswersInSchema
from nebula.messages import MAX_USER_MESSAGE_SIZE, UserMessage, strip_hidden_characters
from nebula.tools.contract import Outcome
from nebula.tools.ledger import ReadLedger
from nebula.tools.toolset import ToolSet
from nebula.value import field, record, replace, value
from nebula.workspace.contract import Workspace

SHARE_FOR_STEP = 0.8
"""The share of the model's context for a step; the rest is for the system prompt and the answer."""
BYTES_PER_TOKEN = 2

_ANSWER = "Every step is done. Answer the task now, in the form that you were told."


@value
class StepEnd:
    """How an attempt at a step ended."""

    exit_code: int
    answer: str = ""
    remark: Sentence | None = None
    removed: tuple[str, ...] = ()
    """Files that it deleted."""

    @property
    def ok(self) -> bool:
        return self.exit_code == EXIT_OK


@record
class Executor:
    """One model with its tools, which carries out all steps of a task."""

    chosen: ChosenModel
    tools: ToolSet
    files: Workspace
    ledger: ReadLedger
    stream: EventStream
    settings: Settings
    task: str
    steps: Sequence[PlanStep]
    done: dict[str, str] = field(default_factory=dict)
    """The answers of the steps that are done, by id."""
    at_work: set[str] = field(default_factory=set)
    """The steps that are under way."""
    repairer: Repairer | None = None
    """Runs the checks that a step names; None where there are none to run."""

    async def carry_out(self, step: PlanStep) -> StepEnd:
        """Carry out a step once. It has failed if a file that it declares does not exist afterwards."""
        if step.is_check:
            end = await self._check(step)
        elif step.tool:
            end = await self._call(step)
        else:
            end = await self.reach(step.goal, step.id, step)
        if not end.ok or not step.files:
            return end
        missing = await asyncio.to_thread(missing_files, step.files, self.files, end.removed)
        return replace(end, exit_code=EXIT_FAILED, remark=not_there(missing)) if missing else end

    async def reach(self, goal: str, task_id: str, step: PlanStep | None = None) -> StepEnd:
        """Have the model reach a goal in a turn of its own, in which the goal is all that the user says."""
        turn = self._new_turn(task_id, step)
        with errors_as_events(self.stream, task_id) as work:
            turn.say(UserMessage.new_prompt(strip_hidden_characters(goal)))
            await run_rounds(turn)
        final, result = turn.result.final(work.ending, None), turn.result
        removed = tuple(change.path for change in result.files if not change.after)
        answer = self.stream.redactor.text(final.text)  # it is kept with the plan
        if final.status != "refused":
            return StepEnd(final.exit_code, answer, final.remark, removed)
        if work.ending.status == "ok" and step is not None and await self._has_written_declared(step, result):
            return StepEnd(EXIT_OK, answer)
        refused = result.refusal
        problem = (refused and refused.problem) or Sentence("Something was refused and not done.")
        return _fail(named(problem, refused.path if refused else ""), final.exit_code)

    async def _has_written_declared(self, step: PlanStep, result: TurnResult) -> bool:
        """Return whether a step wrote the files that it declares: then another change that was refused was not needed
        for it."""
        written = {change.path for change in result.files if change.after}
        if written.isdisjoint(path.removeprefix("./") for path in step.files):
            return False
        return not await asyncio.to_thread(missing_files, step.files, self.files)

    def _new_turn(self, task_id: str, step: PlanStep | None) -> Turn:
        room = int(self.chosen.context * SHARE_FOR_STEP)
        return Turn(
            stream=self.stream,
            model=self.chosen.connector,
            model_name=self.chosen.name,
            system=step_prompt(self.task, self.steps, step, self.done, self.settings.home, self.at_work),
            history=[],
            tools=ShowsExisting(self.tools, self.files, self.ledger),
            max_rounds=self.settings.max_rounds,
            room_for_results=min(MAX_USER_MESSAGE_SIZE, room * BYTES_PER_TOKEN),
            temperature=0.0,
            seed=SEED,
            task_id=task_id,
            fit=Fit((), frozenset((*self.tools.tools, *self.tools.missing)), room),
        )

    async def answer_in(self, schema: AnswerSchema) -> StepEnd:
        """Have the model report the task's result as JSON of a schema."""
        chosen = replace(self.chosen, connector=AnswersInSchema(self.chosen.connector, schema))
        return await replace(self, chosen=chosen).reach(_ANSWER, "answer")

    async def repair(self, report: str, number: int) -> bool:
        end = await self.reach(report, f"repair-{number}")
        if end.exit_code == EXIT_INTERRUPTED:
            raise asyncio.CancelledError  # the whole task ends, not this round alone
        return end.ok

    async def _check(self, step: PlanStep) -> StepEnd:
        """Run the configured checks of one kind (`run.test`), and have the model repair what fails."""
        kind = step.tool.removeprefix(CHECK_TOOLS)
        checks = self.repairer.checks.commands if self.repairer is not None else ()
        names = [name for name in checks if kind_of(name) == kind]
        if self.repairer is None or not names:
            return _fail(Sentence("No check of the kind '{kind}' is configured.", kind=kind))
        with errors_as_events(self.stream, step.id) as work:
            if await self.repairer.verify(names):
                return StepEnd(EXIT_OK)
        if work.ending.status != "ok":
            return _fail(work.ending.remark, work.ending.code)
        return _fail(Sentence("{names} failed.", names=", ".join(names)))

    async def _call(self, step: PlanStep) -> StepEnd:
        """Call the tool as the plan names it. Where its file exists already, the model decides what to do with it."""
        call = await asyncio.to_thread(prepared_call, step, self.tools.specs, self.files, self.ledger)
        if call is None:
            return StepEnd(EXIT_OK, "It was so already.")
        turn = self._new_turn(step.id, step)
        ran: list[Outcome] = []
        with errors_as_events(self.stream, step.id) as work:
            ran.append(await run_tool(turn, call.use, [call.use], call.invalid))
        if not ran:
            return _fail(work.ending.remark, work.ending.code)
        [outcome] = ran
        if outcome.code == CONFLICT and call.use.orig_name == "writeFile":
            return await self.reach(conflict_goal(step, error_of(outcome)), step.id, step)
        problem = problem_of(outcome, step.tool)
        if problem is not None:
            path = str(step.parameters.get("path", "")) if outcome.refused else ""
            return _fail(named(problem, path), EXIT_POLICY if outcome.refused else EXIT_FAILED)
        return StepEnd(EXIT_OK, removed=tuple(change.path for change in outcome.changes if not change.after))


def _fail(remark: Sentence | None, code: int = EXIT_FAILED) -> StepEnd:
    return StepEnd(code, remark=remark)
