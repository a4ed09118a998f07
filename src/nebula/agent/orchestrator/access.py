"""The project of a task: the gateway's policy, no questions, and in a dry run no writes."""

from __future__ import annotations

import asyncio

from nebula.agent.assembly import open_project_access
from nebula.agent.orchestrator.task import TaskRequest
from nebula.agent.workbench import Workbench
from nebula.config import Settings
from nebula.errors import NebulaError
from nebula.events import Error, EventStream, Notice
from nebula.language import Sentence
from nebula.messages.redaction import Redactor
from nebula.tools.approval import Approvals, allow_all
from nebula.value import replace
from nebula.workspace.state_folder import StateFolder
from nebula.workspace.wrapped.held_back import HeldBackWorkspace


def open_bench(settings: Settings, request: TaskRequest, state: StateFolder, redactor: Redactor) -> Workbench:
    """Open the workbench of a task. Raises WorkspaceError."""
    project = open_project_access(settings, Approvals(allow_all, "yes"), request.allow, state, settings.allow_ext)
    if project.commands is not None:
        project.commands.env = request.env
    project.external = None  # they ask a user, and here nobody is asked
    if request.dry_run:  # a command would not see changes that are held back, and the index must not hear of them
        held_back = HeldBackWorkspace(project.workspace)
        project = replace(project, workspace=held_back, commands=None, checks=replace(project.checks, commands=()))
    return Workbench(project, redactor)


def forecast(bench: Workbench) -> str | None:
    """Return the differences that a dry run would make; None where the task changes the files themselves."""
    files = bench.project.workspace
    return "".join(diff.text for diff in files.forecast()) if isinstance(files, HeldBackWorkspace) else None


async def roll_back(bench: Workbench, stream: EventStream) -> bool:
    """Restore every file that the task changed; return whether that succeeded."""
    project = bench.project
    try:
        paths = await asyncio.to_thread(project.workspace.for_turn(stream.trace_id).roll_back)
    except NebulaError as problem:
        failed = Error("rollback", Sentence("The changes could not be rolled back: {problem}", problem=problem))
        stream.emit(failed, must_record=False)
        return False
    for path in paths:
        if project.code is not None:
            await asyncio.to_thread(project.code.changed, path)
    if paths:
        stream.emit(Notice(Sentence("Rolled back: {paths}", paths=", ".join(paths))), must_record=False)
    return True
