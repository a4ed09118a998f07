"""The declaration of a tool, read by agent, plan mode, MCP, the dialect and the read ledger.

A new tool is one file that ends with its `TOOL`, and one line in `registry`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from nebula.tools.contract import Tool
from nebula.tools.ledger import ReadLedger
from nebula.tools.writing import WritingTool
from nebula.value import value
from nebula.workspace.contract import Workspace

if TYPE_CHECKING:
    from nebula.extensions.skills import FoundSkills
    from nebula.graph.values import Node
    from nebula.tools.approval import Approvals
    from nebula.tools.code.code_index import CodeSearch
    from nebula.tools.commands.layers import CommandLayers
    from nebula.tools.delegate import Runner


@value
class Checks:
    """Commands that the user configured and that may be run."""

    commands: tuple[str, ...] = ()
    root: str = ""
    timeout_s: float = 120.0


@value
class ToolKit:
    """What tools are built from. A tool that needs a part which is missing is not offered."""

    workspace: Workspace
    """In plan mode it is read-only: that, not the list of tools, keeps plan mode from writing."""
    ledger: ReadLedger
    checks: Checks = Checks()
    find_node: Callable[[str], Node | None] | None = None
    plan: bool = False
    commands: CommandLayers | None = None
    """Layers for commands and checks, where the machine can make them."""
    approvals: Approvals | None = None
    code: CodeSearch | None = None
    trace_id: str = ""
    look_up: Callable[[str], list[str]] = lambda _: []
    """Lists earlier turns by their numbers, or by words in them."""
    external: Mapping[str, Tool] = MappingProxyType({})
    """Tools of MCP servers, built already."""
    delegate: Runner | None = None
    """Runs a delegate; None where there are none, as inside another one."""
    skills: FoundSkills | None = None
    """The skills that were found; None where there are none."""


Learn = Callable[[ReadLedger, Mapping[str, Any], Mapping[str, Any]], None]
"""(ledger, arguments, result): notes in the ledger what a model has read that has this call before it."""


@value
class ToolDeclaration:
    name: str
    build: Callable[[ToolKit], Tool | WritingTool | None]
    """Returns the tool; None where the kit lacks what it needs."""
    writes: bool = False
    """It proposes changes to the project's files, which are approved before they are carried out."""
    in_plan: bool = True
    """Whether plan mode offers it. A tool that changes files only in a throw-away layer may be offered there."""
    over_mcp: bool = False
    learn: Learn | None = None
    """Notes in the ledger what a past call of it has shown the model."""
    method: str = ""
    """Its name in the audit log, where the gateway has another one for the same; empty: its own name in snake case."""
    subject: str = "path"
    """The argument that the audit log records."""
    kind: Literal["read", "search", "edit", "execute", "fetch", "think", "other"] = "other"
    """The kind of call that editors show."""
