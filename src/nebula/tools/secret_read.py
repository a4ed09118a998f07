"""Reading a secret file in a session: the user is asked about it by name, each time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nebula.events import Approval, new_trace_id
from nebula.language import Sentence
from nebula.messages import ToolSpec
from nebula.tools.approval import Approvals
from nebula.tools.contract import Call, Outcome, Tool
from nebula.workspace.contract import Workspace
from nebula.workspace.errors import SecretPath
from nebula.workspace.guard.paths import normal_path
from nebula.workspace.reading import ReadingWorkspace

WARNING = "{path} may hold secrets. The model, and whoever runs it, would see what is in it."
REFUSED = "The user did not allow this file to be read. Do not try it again; go on without it."


class ReadByName:
    """A reading tool that asks where the workspace refuses a secret file."""

    def __init__(self, workspace: Workspace, approvals: Approvals, build: Callable[[Workspace], Tool]) -> None:
        self._workspace = workspace
        self._approvals = approvals
        self._build = build
        self._tool = build(workspace)

    @property
    def spec(self) -> ToolSpec:
        return self._tool.spec

    async def run(self, args: Mapping[str, Any], call: Call) -> Outcome:
        try:
            return await self._tool.run(args, call)
        except SecretPath:
            files = self._workspace
            if not self._approvals.somebody_is_there or not isinstance(files, ReadingWorkspace):
                raise
        path = normal_path(args["path"]).text
        question = Approval(new_trace_id(), "read", call.use.name, text=path, remarks=(Sentence(WARNING, path=path),))
        decision = await self._approvals.ask(question, call, None)
        if not decision.allowed:
            raise decision.refusal(REFUSED)
        return await self._build(files.allowing(path)).run(args, call)
