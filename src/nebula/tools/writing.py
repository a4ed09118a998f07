"""The two writers, each in two halves: a proposal that is known to be possible, and carrying it out.

The halves are apart so that approval can stand between them, and so that what was approved is what is written: the
proposal carries the hash of the content it replaces, and the workspace refuses when that is no longer there.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Mapping
from typing import Any, Literal, Protocol

from nebula.messages import ToolSpec
from nebula.tools.contract import Call, FileChange, Outcome, ToolFailure
from nebula.tools.ledger import ReadLedger, digest
from nebula.value import value
from nebula.workspace.contract import Workspace

MAX_DIFF_LINES = 20_000
"""Beyond this a diff is told by numbers only: comparing takes longer than anybody would read."""


@value
class Proposal:
    """A write that would succeed now."""

    tool: str
    path: str
    old: str | None
    new: str
    before: str
    """Hash of the content that it replaces, empty where the file does not exist yet."""
    mode: Literal["create", "overwrite"]
    diff: str

    @classmethod
    def of(cls, tool: str, path: str, old: str | None, new: str, before: str) -> Proposal:
        mode: Literal["create", "overwrite"] = "create" if old is None else "overwrite"
        return cls(tool, path, old, new, before, mode, unified_diff(path, old, new))


class WritingTool(Protocol):
    """A tool whose effect can be seen before it happens."""

    @property
    def spec(self) -> ToolSpec: ...

    def propose(self, args: Mapping[str, Any]) -> Proposal:
        """Raises `ToolFailure` or a workspace error where the write must fail; changes nothing."""
        ...

    def carry_out(self, proposal: Proposal) -> Outcome: ...


class WriteTool:
    """What both writers share once the proposal stands."""

    def __init__(self, workspace: Workspace, ledger: ReadLedger) -> None:
        self.workspace = workspace
        self.ledger = ledger

    def carry_out(self, proposal: Proposal) -> Outcome:
        result = self.workspace.write_file(proposal.path, proposal.new, proposal.mode, expected=proposal.before)
        self.ledger.saw(proposal.path, digest(proposal.new))
        diff = proposal.diff
        added, removed = count_lines(diff)
        change = FileChange(proposal.path, proposal.before, result.after, diff, added, removed)
        return Outcome.ok({"success": True}, change=change)


class Unasked:
    """A writing tool that nobody is asked about: the user said yes to all, or the gateway's policy is the guard."""

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


def unified_diff(path: str, old: str | None, new: str) -> str:
    before = (old or "").split("\n")
    after = new.split("\n")
    if len(before) + len(after) > MAX_DIFF_LINES:
        return f"--- a/{path}\n+++ b/{path}\n@@ {len(before)} lines become {len(after)} lines @@\n"
    source = f"a/{path}" if old is not None else "/dev/null"
    lines = difflib.unified_diff(_whole_lines(old or ""), _whole_lines(new), source, f"b/{path}")
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def count_lines(diff: str) -> tuple[int, int]:
    """How many lines a diff adds and removes; the two header lines are not counted."""
    body = diff.split("\n")[2:]
    return sum(line.startswith("+") for line in body), sum(line.startswith("-") for line in body)


def _whole_lines(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])
