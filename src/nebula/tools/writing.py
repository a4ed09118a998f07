"""The two writers, each in two halves: a proposal that is known to be possible, and carrying it out.

The halves are apart so that approval can stand between them, and so that what was approved is what is written: the
proposal carries the hash of the content it replaces, and the workspace refuses when that is no longer there.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Literal, Self

from nebula.events import Diff
from nebula.files.protected_names import names_secret
from nebula.messages import ToolSpec
from nebula.tools.contract import Call, Outcome, ToolFailure
from nebula.tools.ledger import ReadLedger
from nebula.value import value
from nebula.workspace.contract import Workspace
from nebula.workspace.diff import TextDiff, apply_hunks, diff_texts
from nebula.workspace.errors import AlreadyExists, Stale
from nebula.workspace.local import LocalWorkspace


@value
class Proposal:
    """A write that would succeed now."""

    tool: str
    path: str
    old: str | None
    new: str
    before: str
    """Hash of the content that it replaces, empty where the file does not exist yet."""
    change: TextDiff

    @classmethod
    def of(cls, tool: str, path: str, old: str | None, new: str, before: str) -> Proposal:
        return cls(tool, path, old, new, before, diff_texts(path, old, new))

    def only(self, hunks: Collection[int]) -> Proposal:
        """Return the same with some of its hunks alone, counted from 1."""
        chosen = [hunk for number, hunk in enumerate(self.change.hunks, start=1) if number in hunks]
        return Proposal.of(self.tool, self.path, self.old, apply_hunks(self.old, chosen), self.before)

    @property
    def mode(self) -> Literal["create", "overwrite"]:
        return "create" if self.old is None else "overwrite"

    @property
    def diff(self) -> str:
        return self.change.text

    @property
    def added(self) -> int:
        return self.change.added

    @property
    def removed(self) -> int:
        return self.change.removed


class WritingTool(ABC):
    """A tool whose effect can be seen before it happens."""

    spec: ClassVar[ToolSpec]

    def __init__(self, workspace: Workspace, ledger: ReadLedger) -> None:
        self.workspace = workspace
        self.ledger = ledger

    def allowing(self, path: str) -> Self | None:
        """Return the same tool with this secret or control file allowed by name; None where no such thing can be."""
        if not isinstance(self.workspace, LocalWorkspace):
            return None
        return type(self)(self.workspace.allowing(path), self.ledger)

    @abstractmethod
    def propose(self, args: Mapping[str, Any]) -> Proposal:
        """Raises `ToolFailure` or a workspace error where the write must fail; changes nothing."""

    def carry_out(self, proposal: Proposal, decision: str | None = None, remark: str = "") -> Outcome:
        """Make the change and return its outcome; the remark is for the model. Raises Stale where the file is not what
        was proposed to change, as one that was made meanwhile."""
        try:
            result = self.workspace.write_file(proposal.path, proposal.new, proposal.mode, expected=proposal.before)
        except AlreadyExists:
            raise Stale("{path}: was made meanwhile; read it first.", path=proposal.path) from None
        if proposal.old is None:
            self.ledger.saw(proposal.path, proposal.new)
        else:
            self.ledger.edited(proposal.path, proposal.before, result.after, proposal.change.blocks)
        change = Diff(proposal.path, proposal.diff, proposal.added, proposal.removed, proposal.before, result.after)
        said = {"success": True, "remark": remark} if remark else {"success": True}
        shows_secret = bool(remark) and names_secret(proposal.path)
        return Outcome.ok(said, changes=(change,), size=result.size, decision=decision, secret=shows_secret)


class Unasked:
    """A writing tool that nobody is asked about: an MCP client asks its own user."""

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
