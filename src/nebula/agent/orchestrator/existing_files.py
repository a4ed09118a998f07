"""A wrapper around the tools: a file that is in the way of a new one is shown at once.

A task that is run a second time finds its own files. With the present content in front of it the model has read what
it may overwrite, and need not ask for it first.
"""

from __future__ import annotations

import asyncio

from nebula.agent.loop import Tools
from nebula.messages import Json, ToolSpec
from nebula.tools.contract import Call, Outcome
from nebula.tools.ledger import ReadLedger
from nebula.value import record, replace
from nebula.workspace.contract import Workspace
from nebula.workspace.errors import WorkspaceError

CONFLICT = 409
SHARE_OF_ROOM = 2


@record
class ShowsExisting:
    tools: Tools
    files: Workspace
    ledger: ReadLedger

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return self.tools.specs

    async def run(self, call: Call) -> Outcome:
        outcome = await self.tools.run(call)
        if outcome.code != CONFLICT or call.use.orig_name != "writeFile":
            return outcome
        present = await asyncio.to_thread(self._present, str(call.use.orig_args["path"]), call.room // SHARE_OF_ROOM)
        return outcome if present is None else replace(outcome, content=(*outcome.content, Json({"content": present})))

    def _present(self, path: str, room: int) -> str | None:
        """Only the whole of it: what is cut off was not read."""
        try:
            file = self.files.read_file(path)
        except WorkspaceError:
            return None
        if file.secret or file.size > room:
            return None
        self.ledger.saw(path, file.content)
        return file.content
