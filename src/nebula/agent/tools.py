"""Which tools a mode has. Plan mode gets readers over a workspace opened read-only, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.tools.approval import Approvals, Approved
from nebula.tools.contract import Tool
from nebula.tools.edit_file import EditFile
from nebula.tools.ledger import ReadLedger
from nebula.tools.list import ListFiles
from nebula.tools.read_file import ReadFile
from nebula.tools.run_check import RunCheck
from nebula.tools.search_in_directory import SearchInDirectory
from nebula.tools.toolset import ToolSet, plan_mode_sentence
from nebula.tools.write_file import WriteFile
from nebula.tools.writing import WritingTool
from nebula.value import value
from nebula.workspace.contract import Workspace

WRITERS = ("writeFile", "editFile")
NOT_IN_PLAN = (*WRITERS, "runCheck")


@value
class Checks:
    """Commands that the user configured, and may be run."""

    commands: tuple[str, ...] = ()
    root: str = ""
    timeout_s: float = 120.0


def plan_tools(workspace: Workspace, ledger: ReadLedger, extra: Sequence[Tool] = ()) -> ToolSet:
    """`workspace` has to be one opened read-only: that, not this list, is what keeps plan mode from writing."""
    missing = {name: plan_mode_sentence(name) for name in NOT_IN_PLAN}
    return ToolSet.of([*_readers(workspace, ledger), *extra], missing)


def agent_tools(
    workspace: Workspace, ledger: ReadLedger, approvals: Approvals, checks: Checks, extra: Sequence[Tool] = ()
) -> ToolSet:
    writers: dict[str, WritingTool] = {
        "writeFile": WriteFile(workspace, ledger),
        "editFile": EditFile(workspace, ledger),
    }
    asking = [Approved(tool, approvals, writers) for tool in writers.values()]
    running = [RunCheck(checks.commands, checks.root, checks.timeout_s)] if checks.commands else []
    return ToolSet.of([*_readers(workspace, ledger), *asking, *running, *extra])


def _readers(workspace: Workspace, ledger: ReadLedger) -> list[Tool]:
    return [ListFiles(workspace), ReadFile(workspace, ledger), SearchInDirectory(workspace)]
