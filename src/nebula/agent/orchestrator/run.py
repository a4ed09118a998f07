"""One task from its first event to its last."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from nebula.agent.assembly import open_archive, open_project_access, project_recorders, take_back_half_applied
from nebula.agent.loop import ending_of
from nebula.agent.orchestrator.executor import Executor
from nebula.agent.orchestrator.models import TaskModels, choose_models
from nebula.agent.orchestrator.plan_run import PlanRun
from nebula.agent.orchestrator.task import TaskRequest, TaskResult
from nebula.agent.plan.kept_plans import KeptPlan, KeptPlans, PlanInProgress
from nebula.agent.plan.plan import StepPlan
from nebula.agent.plan.planner import make_plan
from nebula.agent.plan.planning_context import planning_context
from nebula.agent.session import ProjectAccess
from nebula.agent.session_nodes import SessionNodes
from nebula.agent.turn_archive import NodeWriter
from nebula.agent.turn_result import Ending, TurnResult
from nebula.config import Settings
from nebula.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_POLICY
from nebula.events import Error, EventStream, Final, Notice, Plan, Reader, Status, Task, TurnNotKept, new_trace_id
from nebula.files.home import derived_folder
from nebula.llm.errors import ModelError
from nebula.messages.redaction import Redactor
from nebula.tools.approval import Approvals, allow_all
from nebula.tools.contract import AppliedChange, Call
from nebula.tools.declaration import ToolKit
from nebula.tools.ledger import ReadLedger
from nebula.tools.registry import agent_tools
from nebula.tools.toolset import CallAudit, ToolSet
from nebula.value import field, record, replace
from nebula.workspace.contract import Workspace
from nebula.workspace.state_folder import StateFolder, is_half_applied, prepare_state_folder

MODE = "run"
DRY_RUN = "dry-run"
_STATUS: dict[int, Status] = {EXIT_OK: "ok", EXIT_POLICY: "refused", EXIT_INTERRUPTED: "interrupted"}


async def run_task(
    settings: Settings, request: TaskRequest, audience: Sequence[Reader] = (), models: TaskModels | None = None
) -> TaskResult:
    """Plans and carries out a task in `settings.root`. Whatever happens, the stream ends with `Final`.

    Cancel it to interrupt it. `models` are used and left open; without them they are chosen and closed.
    """
    state = await asyncio.to_thread(prepare_state_folder, settings.root)
    recorders = project_recorders(settings, state)
    trace_id = request.trace_id or new_trace_id()
    redactor = Redactor(settings.secrets)
    stream = EventStream(f"task-{trace_id}", trace_id, recorders, tuple(audience), redactor)
    run = TaskRun(settings, request, stream, state)
    try:
        return await run.to_the_end(models)
    finally:
        if models is None and run.models is not None:
            await run.models.close()


@record
class TaskRun:
    settings: Settings
    request: TaskRequest
    stream: EventStream
    state: StateFolder
    models: TaskModels | None = None
    plan: StepPlan | None = None
    result: TurnResult = field(default_factory=TurnResult)
    _steps: PlanRun | None = None

    async def to_the_end(self, models: TaskModels | None) -> TaskResult:
        self.stream.read_first_by(self.result)
        ending = await ending_of(self._begin(models), self.stream)
        if ending.status == "ok":
            project = self._project()
            try:
                ending = await ending_of(self._carry_out(project), self.stream)
            finally:
                if project.commands is not None:
                    await asyncio.to_thread(project.commands.close)
        final = self._final(ending)
        return TaskResult(self.stream.trace_id, self._emit(final), self.plan)

    async def _begin(self, models: TaskModels | None) -> None:
        """The first event names the model; one that cannot be had is the second."""
        mode = DRY_RUN if self.request.dry_run else MODE
        try:
            self.models = models or await choose_models(self.settings)
        except ModelError:
            self.stream.emit(Task(self.request.prompt, mode, self.settings.executor or self.settings.model))
            raise
        executor = self.models.executor
        if not self.request.dry_run:
            folder = os.path.join(derived_folder(self.settings.root, self.settings.home), "sessions")
            archive = open_archive(self.settings, self.state, SessionNodes(folder))
            self.stream.read_first_by(NodeWriter(archive, self.stream.session_id, executor))
        self.stream.emit(Task(self.request.prompt, mode, executor.name, executor.provider))
        for remark in (*self.state.remarks, *self.models.remarks):
            self.stream.emit(Notice(remark.sentence, remark.values))

    def _project(self) -> ProjectAccess:
        approvals = Approvals(allow_all, "yes")
        return open_project_access(self.settings, approvals, self.request.allow, self.state, self.settings.allow_ext)

    async def _carry_out(self, project: ProjectAccess) -> None:
        if self.state.keeps_records and is_half_applied(self.settings.root):
            for remark in await asyncio.to_thread(take_back_half_applied, project.workspace):
                self.stream.emit(Notice(remark.sentence, remark.values))
        files = project.workspace.for_turn(self.stream.trace_id)
        self.plan = plan = self.request.plan or await self._make_plan(project, files)
        if self.request.plan is not None:
            self.stream.emit(Plan(plan.to_json()))
        progress = self._progress(plan)
        ledger = ReadLedger()
        assert self.models is not None  # noqa: S101 - chosen before anything was begun
        executor = Executor(
            self.models.executor,
            self._tools(project, files, ledger),
            files,
            ledger,
            self.stream,
            self.settings,
            self.request.prompt,
            plan.in_order(),
            done=dict(self.request.done),
        )
        self.stream.read_first_by(executor)
        self._steps = PlanRun(
            executor, self.stream, plan.in_order(), _forget if self.request.dry_run else progress.done
        )
        await self._steps.carry_out()
        if self._steps.exit_code == EXIT_OK:
            progress.finished()

    def _progress(self, plan: StepPlan) -> PlanInProgress:
        """Where a later run finds what is left of the plan. A dry run leaves nothing to be resumed."""
        request = self.request
        plans = KeptPlans(derived_folder(self.settings.root, self.settings.home))
        progress = PlanInProgress(plans, KeptPlan(self.stream.trace_id, request.prompt, plan, request.done))
        if not request.dry_run:
            progress.begin(request.resumes)
        return progress

    async def _make_plan(self, project: ProjectAccess, files: Workspace) -> StepPlan:
        assert self.models is not None  # noqa: S101 - chosen before anything was begun
        context = await asyncio.to_thread(
            planning_context, self.request.prompt, files, project.root, project.code, self.stream.trace_id
        )
        if context.problem is not None:
            problem = context.problem
            self.stream.emit(Notice("The plan is made without the code index: {problem}", {"problem": problem}))
        planning = await make_plan(self.request.prompt, self.models.planner, context, self.stream, self.settings.home)
        self.stream.emit(planning.event())
        return planning.plan

    def _tools(self, project: ProjectAccess, files: Workspace, ledger: ReadLedger) -> ToolSet:
        kit = ToolKit(files, ledger, project.checks, commands=project.commands, code=project.code)
        kit = replace(kit, trace_id=self.stream.trace_id)
        redact = self.stream.redactor.text
        audit = CallAudit(project.audit, self.stream.trace_id, redact) if project.audit is not None else None

        async def tell_index(change: AppliedChange, _: Call) -> None:
            if project.code is not None:
                await asyncio.to_thread(project.code.changed, change.path)

        return agent_tools(kit, project.approvals, audit=audit, after_change=(tell_index,))

    def _final(self, ending: Ending) -> Final:
        steps = self._steps
        if ending.status == "ok" and steps is not None:
            code = steps.exit_code
            ending = Ending(_STATUS.get(code, "error"), steps.remark, code)
        keeps_node = self.state.keeps_records and self.state.has_graph and not self.request.dry_run
        node_id = self.stream.trace_id if keeps_node else None
        final = self.result.summed(ending, node_id)
        outcomes = tuple(steps.outcomes.values()) if steps is not None else None
        return replace(final, steps=outcomes)

    def _emit(self, final: Final) -> Final:
        try:
            self.stream.emit(final, must_record=False)
        except TurnNotKept as problem:
            self.stream.emit(Error("graph", problem.sentence, problem.values), must_record=False)
            final = replace(final, node_id=None)
            self.stream.emit(final, must_record=False)
        return final


def _forget(_: str, __: str) -> None:
    """A dry run does nothing that could be resumed."""
