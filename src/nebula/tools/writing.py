"""The two writing tools, each in two halves: a proposal that is known to be possible, and the write itself.

Between the halves a person can approve, and what is written is what was approved: the proposal carries the hash of the
content that it replaces, and the workspace refuses the write if the file has another content by then.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from nebula.events import Diff, ProposedChange
from nebula.files.protected_names import names_secret
from nebula.messages import ToolSpec
from nebula.tools.contract import Call, Outcome, ToolFailure
from nebula.tools.ledger import ReadLedger
from nebula.workspace.contract import Workspace, WriteMode
from nebula.workspace.errors import AlreadyExists, Stale
from nebula.workspace.local import LocalWorkspace


class WritingTool(ABC):
    """A tool whose effect can be shown before it happens."""

    spec: ClassVar[ToolSpec]

    def __init__(self, workspace: Workspace, ledger: ReadLedger) -> None:
        self.workspace = workspace
        self.ledger = ledger

    def allowing(self, path: str) -> Self | None:
        """Return the same tool with this secret or control file allowed by name; None where that is not possible."""
        if not isinstance(self.workspace, LocalWorkspace):
            return None
        return type(self)(self.workspace.allowing(path), self.ledger)

    @abstractmethod
    def propose(self, args: Mapping[str, Any]) -> ProposedChange:
        """Return a write that would succeed now. Raises ToolFailure or a workspace error where it would fail."""

    def carry_out(self, proposal: ProposedChange, decision: str | None = None, remark: str = "") -> Outcome:
        """Make the change and return its outcome; `remark` is for the model. Raises Stale where the file is no longer
        as proposed, such as one that was created in between."""
        mode: WriteMode = "create" if proposal.old is None else "overwrite"
        try:
            result = self.workspace.write_file(proposal.path, proposal.new or "", mode, expected=proposal.before)
        except AlreadyExists:
            raise Stale("{path}: was made meanwhile; read it first.", path=proposal.path) from None
        if proposal.old is None:
            self.ledger.saw(proposal.path, proposal.new or "")
        else:
            self.ledger.edited(proposal, result.after)
        change = Diff(proposal.path, proposal.diff, proposal.added, proposal.removed, proposal.before, result.after)
        said = {"success": True, "remark": remark} if remark else {"success": True}
        shows_secret = bool(remark) and names_secret(proposal.path)
        return Outcome.ok(said, changes=(change,), size=result.size, decision=decision, secret=shows_secret)


class Unasked:
    """A writing tool without a question: an MCP client asks its own user."""

    def __init__(self, tool: WritingTool) -> None:
        self._tool = tool

    @property
    def spec(self) -> ToolSpec:
        return self._tool.spec

    async def run(self, args: Mapping[str, Any], call: Call) -> Outcome:
        proposal = await asyncio.to_thread(self._tool.propose, args)
        return await asyncio.to_thread(self._tool.carry_out, proposal)


def content_argument(args: Mapping[str, Any], name: str) -> str:
    value = args.get(name)
    if not isinstance(value, str):
        raise ToolFailure(f"The argument '{name}' must be the complete text of the file.")
    return value
