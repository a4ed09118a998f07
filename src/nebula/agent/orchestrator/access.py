"""The project as a task may touch it: the policy of the gateway, no questions, and in a dry run no writes."""

from __future__ import annotations

import asyncio

from nebula.agent.assembly import open_project_access
from nebula.agent.orchestrator.task import TaskRequest
from nebula.agent.workbench import ProjectAccess, Workbench
from nebula.config import Settings
from nebula.errors import NebulaError
from nebula.events import Error, EventStream, Notice
from nebula.language import Sentence
from nebula.tools.approval import Approvals, allow_all
from nebula.tools.toolset import ToolSet
from nebula.value import record, replace
from nebula.workspace.contract import Workspace
from nebula.workspace.state_folder import StateFolder
from nebula.workspace.wrapped.held_back import HeldBackWorkspace


@record
class TaskAccess:
    bench: Workbench
    files: Workspace
    """Its calls and changes are recorded under the task's trace id."""
    stream: EventStream

    @property
    def project(self) -> ProjectAccess:
        return self.bench.project

    def tools(self) -> ToolSet:
        return self.bench.tools(self.stream.trace_id)

    def forecast(self) -> str | None:
        if not isinstance(self.files, HeldBackWorkspace):
            return None
        return "".join(diff.text for diff in self.files.forecast())

    async def roll_back(self) -> bool:
        """Put every file back that the task changed; return whether that could be done."""
        try:
            paths = await asyncio.to_thread(self.files.roll_back)
        except NebulaError as problem:
            failed = Error("rollback", Sentence("The changes could not be rolled back: {problem}", problem=problem))
            self.stream.emit(failed, must_record=False)
            return False
        for path in paths:
            if self.project.code is not None:
                await asyncio.to_thread(self.project.code.changed, path)
        if paths:
            done = Sentence("Rolled back: {paths}", paths=", ".join(paths))
            self.stream.emit(Notice(done), must_record=False)
        return True


def open_access(settings: Settings, request: TaskRequest, state: StateFolder, stream: EventStream) -> TaskAccess:
    approvals = Approvals(allow_all, "yes")
    project = open_project_access(settings, approvals, request.allow, state, settings.allow_ext)
    if project.commands is not None:
        project.commands.env = request.env
    project.external = None  # its tools answer to a user, and nobody is asked here
    if request.dry_run:  # a command would not see what is held back, and the index has nothing to hear of
        held_back = HeldBackWorkspace(project.workspace)
        project = replace(project, workspace=held_back, commands=None, checks=replace(project.checks, commands=()))
    return TaskAccess(Workbench(project, stream.redactor), project.workspace.for_turn(stream.trace_id), stream)
