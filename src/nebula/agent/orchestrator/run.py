"""Run one task, from its first event to its last."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from nebula.agent.assembly import finish_what_was_cut_short, open_archive, project_recorders
from nebula.agent.checks.repair import Repairer
from nebula.agent.loop import end_before_session, errors_as_events, final_of
from nebula.agent.orchestrator.access import forecast, open_bench, roll_back
from nebula.agent.orchestrator.executor import Executor
from nebula.agent.orchestrator.limits import LimitGuard
from nebula.agent.orchestrator.models import TaskModels, choose_models
from nebula.agent.orchestrator.plan_run import PlanRun, describe_failure, keep_outcomes, rename_steps
from nebula.agent.orchestrator.step_files import missing_files, not_there
from nebula.agent.orchestrator.task import TaskRequest, TaskResult
from nebula.agent.plan.kept_plans import KeptPlan, PlanInProgress
from nebula.agent.plan.plan import BadPlan, StepPlan, agreeing, step_graph
from nebula.agent.plan.planner import make_plan
from nebula.agent.plan.planning_context import planning_context
from nebula.agent.plan.rollbacks import noted_rollback
from nebula.agent.recording.redactors import redactor_of
from nebula.agent.recording.turn_archive import NodeWriter, SessionNodes, TurnArchive
from nebula.agent.turn_result import Ending, TurnResult
from nebula.agent.workbench import Workbench
from nebula.config import Settings
from nebula.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_POLICY
from nebula.events import Error, EventStream, Final, Notice, Plan, Reader, Status, Task, new_trace_id
from nebula.files.home import derived_folder
from nebula.language import Sentence, sentence_of
from nebula.llm.errors import ModelError
from nebula.tools.contract import in_thread
from nebula.tools.toolset import ToolSet
from nebula.value import field, record, replace
from nebula.workspace.contract import Workspace
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.state_folder import StateFolder, prepare_state_folder

MODE = "run"
_T = TypeVar("_T")
DRY_RUN = "dry-run"
PLAN_ONLY = "plan"
_STATUS: dict[int, Status] = {EXIT_OK: "ok", EXIT_POLICY: "refused", EXIT_INTERRUPTED: "interrupted"}


async def run_task(
    settings: Settings,
    request: TaskRequest,
    audience: Sequence[Reader] = (),
    models: TaskModels | None = None,
    *,
    watchers: Sequence[Reader] = (),
    said: list[Sentence] | None = None,
) -> TaskResult:
    """Plan and carry out a task in `settings.root`. Whatever happens, the stream ends with `Final`. Cancel it to
    interrupt it. `models` are used and left open; without them models are chosen and closed. `watchers` are shown what
    happens between two events. `said`: sentences for the user beside the answer, as far as `audience` has them; `Final`
    holds all of them."""
    state = await _finish(asyncio.to_thread(prepare_state_folder, settings.root))
    task = asyncio.current_task()
    if task is not None and task.cancelling():  # from here on the stream reports this
        task.cancel()
    trace_id = request.trace_id or new_trace_id()
    recorders = project_recorders(settings, state)
    stream = EventStream(f"task-{trace_id}", trace_id, recorders, tuple(audience), redactor_of(settings, request.allow))
    stream.watchers, stream.said = tuple(watchers), [] if said is None else said
    try:
        bench = open_bench(settings, request, state, stream.redactor)
    except WorkspaceError as problem:
        begun = Task(request.prompt, _mode_of(request), settings.executor or settings.model)
        return TaskResult(trace_id, end_before_session(stream, begun, problem))
    run = TaskRun(settings, request, stream, state, bench, bench.project.workspace.for_turn(trace_id))
    try:
        return await run.to_the_end(models)
    finally:
        await _finish(run.close(keep_models=models is not None))


def _mode_of(request: TaskRequest) -> str:
    return PLAN_ONLY if request.only_plan else DRY_RUN if request.dry_run else MODE


async def _finish(rest: Coroutine[Any, Any, _T]) -> _T:
    """Finish what is left, also if it is interrupted: the work is over, and the last event comes anyway."""
    work = asyncio.ensure_future(rest)
    while not work.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([work])
    return work.result()


@record
class TaskRun:
    settings: Settings
    request: TaskRequest
    stream: EventStream
    state: StateFolder
    bench: Workbench
    files: Workspace
    """A workspace that records calls and changes under the task's trace id."""
    models: TaskModels | None = None
    plan: StepPlan | None = None
    plans: list[StepPlan] = field(default_factory=list)
    result: TurnResult = field(default_factory=TurnResult)
    _guard: LimitGuard | None = None
    _steps: PlanRun | None = None
    _progress: PlanInProgress | None = None
    _answer: str = ""
    """The result of the task, in the requested form."""
    _unverified: bool = False
    _missing: Sequence[str] = ()
    """Files that the plan declares and that do not exist in the end."""
    _archive: TurnArchive | None = None

    async def close(self, *, keep_models: bool) -> None:
        """Close what is still open after the last event: one process may carry out many tasks."""
        if self._archive is not None:
            await asyncio.to_thread(self._archive.close)
        if self.models is not None and not keep_models:
            await self.models.close()

    async def to_the_end(self, models: TaskModels | None) -> TaskResult:
        self.stream.read_first_by(self.result)
        try:
            with errors_as_events(self.stream) as begun:
                await self._begin(models)
            final = await self._work() if begun.ending.status == "ok" else self._make_final(begun.ending)
            return self._make_result(
                final
            )  # its node asks the journal, which is closed here, which lines the task wrote
        finally:
            await _finish(self.bench.close())

    async def _work(self) -> Final:
        with errors_as_events(self.stream) as work:
            await self._carry_out_in_time()
        final = replace(self._make_final(work.ending), forecast=forecast(self.bench))
        if final.exit_code != EXIT_OK and self.request.rollback and not self.request.dry_run:
            final = await _finish(self._rolled_back(final))
        return final

    async def _carry_out_in_time(self) -> None:
        """Carry out the task; at its time limit it ends as at any other limit. Raises TurnLimit."""
        try:
            async with asyncio.timeout(self.request.limits.timeout_s) as time:
                await self._carry_out()
        except TimeoutError:
            if not time.expired():
                raise
        if time.expired() and self._guard is not None:
            raise self._guard.out_of_time()

    async def _begin(self, models: TaskModels | None) -> None:
        """Emit the first event, which names the model; if there is no model, the second event says so."""
        mode = _mode_of(self.request)
        try:
            chosen = models or await choose_models(
                self.settings, plans=self.request.plan is None, executes=not self.request.only_plan
            )
        except (ModelError, asyncio.CancelledError):
            self.stream.emit(Task(self.request.prompt, mode, self.settings.executor or self.settings.model))
            raise
        self._guard = LimitGuard(self.request.limits, self.result)
        self.models = self._guard.limited(chosen)
        executor = self.models.executor
        derived = derived_folder(self.settings.root, self.settings.home)  # from now on this home knows of the project
        if mode == MODE:
            self._archive = open_archive(self.settings, self.state, SessionNodes(os.path.join(derived, "sessions")))
            place, files = (self._archive, self.stream.session_id), self.bench.project.workspace
            self.stream.read_first_by(NodeWriter(*place, workspace=files, redactor=self.stream.redactor))
        self.stream.emit(Task(self.request.prompt, mode, executor.name, executor.provider))
        for remark in (*self.state.remarks, *self.models.remarks):
            self.stream.emit(Notice(remark))

    async def _carry_out(self) -> None:
        if not self.request.dry_run:  # a dry run touches nothing
            project, derived = self.bench.project, derived_folder(self.settings.root, self.settings.home)
            for remark in await asyncio.to_thread(finish_what_was_cut_short, project, self.state, derived):
                self.stream.emit(Notice(remark))
        if self.request.only_plan:
            await self._make_plans()
            return
        self.plan, tools = await self._plan_and_tools()
        if self.request.plan is not None:
            self.stream.emit(Plan(self.plan.to_json(), given=True))
        self._begin_plan(self.plan)
        executor = self._make_executor(self.plan, tools)
        self._steps = self._plan_run(executor, self.plan)
        await self._steps.carry_out()
        if self._may_replan(self._steps):
            executor = await self._replan(self._steps, self.plan, tools) or executor
        if self._steps.exit_code == EXIT_OK and executor.repairer is not None:
            self._unverified = not await executor.repairer.verify()
        if self._steps.exit_code == EXIT_OK:
            self._missing = await asyncio.to_thread(self._find_missing, self.plan)
            if self._progress is not None and not self._unverified and not self._missing:
                self._progress.finished()
        if self.request.answer_schema is not None and self._steps.exit_code == EXIT_OK:
            end = await executor.answer_in(self.request.answer_schema)
            self._steps.add(end)
            self._answer = end.answer

    def _may_replan(self, steps: PlanRun) -> bool:
        """Return whether to ask the planner once more: the user wants it, the plan was made by the planner, and a step
        failed."""
        is_open = self._guard is None or self._guard.reached is None
        is_wanted = self.request.replan and self.request.plan is None
        return is_wanted and is_open and steps.stopped and steps.exit_code != EXIT_INTERRUPTED

    async def _replan(self, first: PlanRun, plan: StepPlan, tools: ToolSet) -> Executor | None:
        """Carry out another plan for the remaining work; None where there is none, and the failure stays."""
        self.stream.emit(Notice(Sentence("A step failed for good; the planner is asked once more.")))
        try:
            task = describe_failure(self.request.prompt, plan.in_order(), first)
            self.plan = await self._make_plan(task, rename_steps)
        except (BadPlan, ModelError) as problem:
            self.stream.emit(Notice(Sentence("There is no other plan: {problem}", problem=problem)))
            return None
        self._begin_plan(self.plan)
        executor = self._make_executor(self.plan, tools)
        self._steps = self._plan_run(executor, self.plan)
        await self._steps.carry_out()
        keep_outcomes(first, self._steps)
        return executor

    def _plan_run(self, executor: Executor, plan: StepPlan) -> PlanRun:
        parallel = 1 if self.request.dry_run else self.request.parallel
        return PlanRun(executor, self.stream, plan.in_order(), self._record_done, parallel)

    def _find_missing(self, plan: StepPlan) -> list[str]:
        """Look for the files of all steps, now that the last step, or a repair, is done."""
        declared = [path for step in plan.steps for path in step.files]
        return missing_files(declared, self.files, [each.path for each in self.result.files if not each.after])

    async def _plan_and_tools(self) -> tuple[StepPlan, ToolSet]:
        """Make the plan and, at the same time, the tools: finding out whether this machine has layers takes a while."""
        tools = asyncio.ensure_future(asyncio.to_thread(self.bench.tools, self.stream.trace_id))
        try:
            plan = self.request.plan or await self._make_plan()
        finally:
            await asyncio.wait([tools])
        return plan, tools.result()

    def _make_executor(self, plan: StepPlan, tools: ToolSet) -> Executor:
        assert self.models is not None  # noqa: S101 - chosen before anything was begun
        project = self.bench.project
        executor = Executor(
            self.models.executor,
            tools,
            self.files,
            self.bench.ledger,
            self.stream,
            self.settings,
            self.request.prompt,
            plan.in_order(),
            done=dict(self.request.done),
        )
        if project.checks.commands:
            heard, rounds = (self.stream.emit, self.stream.show), self.settings.repair_rounds
            executor.repairer = Repairer(*heard, project.checks, project.layers, self.files, executor.repair, rounds)
        return executor

    async def _make_plan(self, task: str = "", change: Callable[[StepPlan], StepPlan] | None = None) -> StepPlan:
        assert self.models is not None  # noqa: S101 - chosen before anything was begun
        task, code, trace_id = task or self.request.prompt, self.bench.project.code, self.stream.trace_id
        context = await in_thread(planning_context, self.request.prompt, self.files, self.settings.root, code, trace_id)
        if context.problem is not None:
            without = Sentence("The plan is made without the code index: {problem}", problem=context.problem)
            self.stream.emit(Notice(without))
        return await make_plan(task, self.models.planner, context, self.stream, self.settings.home, change)

    async def _make_plans(self) -> None:
        """Make plans without carrying them out. An unusable plan counts, too: it agrees with no other."""
        for _ in range(self.request.only_plan):
            try:
                self.plans.append(await self._make_plan())
            except BadPlan as problem:
                if self.request.only_plan == 1:
                    raise
                self.stream.emit(Error(problem.kind, sentence_of(problem)))
        if not self.plans:
            raise BadPlan("None of the plans can be used.")
        self.plan = self.plans[0]

    def _begin_plan(self, plan: StepPlan) -> None:
        """Keep the plan, so that a later run finds the steps that are left. A dry run keeps nothing."""
        if self.request.dry_run:
            return
        kept = KeptPlan(self.stream.trace_id, self.request.prompt, plan, self.request.done)
        self._progress = PlanInProgress(derived_folder(self.settings.root, self.settings.home), kept)
        self._progress.begin(self.request.resumes)

    def _record_done(self, step_id: str, answer: str) -> None:
        if self._progress is not None:
            self._progress.done(step_id, answer)

    def _make_final(self, ending: Ending) -> Final:
        steps = self._steps
        if ending.status == "ok" and steps is not None:
            code = EXIT_FAILED if self._unverified or self._missing else steps.exit_code
            lost = not_there(self._missing) if self._missing else steps.remark
            remark = Sentence("The checks still fail.") if self._unverified else lost
            ending = Ending(_STATUS.get(code, "error"), remark, code)
        if self._guard is not None and self._guard.reached is not None and ending.status != "ok":
            ending = Ending("limit", self._guard.reached)
        is_real = not (self.request.dry_run or self.request.only_plan)
        keeps_node = self.state.keeps_records and self.state.has_graph and is_real
        final = self.result.summed(ending, self.stream.trace_id if keeps_node else None)
        outcomes = tuple(steps.outcomes.values()) if steps is not None else None
        return replace(final, steps=outcomes, text=self._answer or final.text)

    async def _rolled_back(self, final: Final) -> Final:
        derived = derived_folder(self.settings.root, self.settings.home)
        with noted_rollback(derived, self.stream.trace_id, self.request.done):
            if not await roll_back(self.bench, self.stream):
                return replace(final, rolled_back=False)
            if self._progress is not None:
                self._progress.restart()
        return replace(final, rolled_back=True, files_changed=(), node_id=None)

    def _make_result(self, final: Final) -> TaskResult:
        final = final_of(self.stream.emit(final, must_record=False))
        asked = self.request.only_plan
        agreement = agreeing(map(step_graph, self.plans)) / asked if asked else None
        return TaskResult(self.stream.trace_id, final, self.plan, tuple(self.plans), agreement)
