"""The project as a task may touch it: the policy of the gateway, no questions, and in a dry run no writes."""

from __future__ import annotations

import asyncio

from nebula.agent.assembly import open_project_access
from nebula.agent.orchestrator.task import TaskRequest
from nebula.agent.workbench import ProjectAccess
from nebula.config import Settings
from nebula.errors import NebulaError
from nebula.events import Error, EventStream, Notice
from nebula.tools.approval import Approvals, allow_all
from nebula.tools.contract import AppliedChange, Call
from nebula.tools.declaration import ToolKit
from nebula.tools.ledger import ReadLedger
from nebula.tools.registry import agent_tools
from nebula.tools.toolset import CallAudit, ToolSet
from nebula.value import field, record, replace
from nebula.workspace.contract import Workspace
from nebula.workspace.held_back import HeldBackWorkspace
from nebula.workspace.state_folder import StateFolder


@record
class TaskAccess:
    project: ProjectAccess
    files: Workspace
    """Its calls and changes are recorded under the task's trace id."""
    stream: EventStream
    ledger: ReadLedger = field(default_factory=ReadLedger)

    def tools(self) -> ToolSet:
        project, trace_id = self.project, self.stream.trace_id
        held_back = isinstance(self.files, HeldBackWorkspace)
        commands = None if held_back else project.commands  # a command would not see what is held back
        kit = ToolKit(self.files, self.ledger, commands=commands, code=project.code, trace_id=trace_id)
        if not held_back:
            kit = replace(kit, checks=project.checks)
        audit = CallAudit(project.audit, trace_id, self.stream.redactor.text) if project.audit is not None else None
        return agent_tools(kit, project.approvals, audit=audit, after_change=() if held_back else (self._tell_index,))

    async def _tell_index(self, change: AppliedChange, _: Call) -> None:
        if self.project.code is not None:
            await asyncio.to_thread(self.project.code.changed, change.path)

    def forecast(self) -> str | None:
        if not isinstance(self.files, HeldBackWorkspace):
            return None
        return "".join(diff.text for diff in self.files.forecast())

    async def roll_back(self) -> bool:
        """Puts every file back that the task changed; whether that could be done."""
        try:
            paths = await asyncio.to_thread(self.files.roll_back)
        except NebulaError as problem:
            failed = Error("rollback", "The changes could not be rolled back: {problem}", {"problem": problem})
            self.stream.emit(failed, must_record=False)
            return False
        for path in paths:
            if self.project.code is not None:
                await asyncio.to_thread(self.project.code.changed, path)
        if paths:
            self.stream.emit(Notice("Rolled back: {paths}", {"paths": ", ".join(paths)}), must_record=False)
        return True

    async def close(self) -> None:
        await asyncio.to_thread(self.project.close)


def open_access(settings: Settings, request: TaskRequest, state: StateFolder, stream: EventStream) -> TaskAccess:
    approvals = Approvals(allow_all, "yes")
    project = open_project_access(settings, approvals, request.allow, state, settings.allow_ext)
    files = project.workspace.for_turn(stream.trace_id)
    return TaskAccess(project, HeldBackWorkspace(files) if request.dry_run else files, stream)
