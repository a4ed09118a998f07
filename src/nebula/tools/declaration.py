"""What a tool says of itself, once; agent, plan mode, MCP, the dialect and the read ledger all read it from here.

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
    """Commands that the user configured, and may be run."""

    commands: tuple[str, ...] = ()
    root: str = ""
    timeout_s: float = 120.0


@value
class ToolKit:
    """What there is to build tools from. A tool that needs a part which is missing is not offered."""

    workspace: Workspace
    """In plan mode one opened read-only: that, not the list of tools, keeps plan mode from writing."""
    ledger: ReadLedger
    checks: Checks = Checks()
    find_node: Callable[[str], Node | None] | None = None
    plan: bool = False
    commands: CommandLayers | None = None
    """Layers for commands and checks, where there can be any."""
    approvals: Approvals | None = None
    code: CodeSearch | None = None
    trace_id: str = ""
    look_up: Callable[[str], list[str]] = lambda _: []
    """Lists earlier turns by their numbers, or by words in them."""
    external: Mapping[str, Tool] = MappingProxyType({})
    """Tools of MCP servers, ready made."""
    delegate: Runner | None = None
    """Runs a delegate; None where there are none, as inside another one."""
    skills: FoundSkills | None = None
    """What skills there are; None where there are none."""


Learn = Callable[[ReadLedger, Mapping[str, Any], Mapping[str, Any]], None]
"""(ledger, arguments, result): what a model that has this call in front of it has read."""


@value
class ToolDeclaration:
    name: str
    build: Callable[[ToolKit], Tool | WritingTool | None]
    """None where the kit lacks what the tool needs."""
    writes: bool = False
    """It proposes changes to the project's files, which are approved before they are carried out."""
    in_plan: bool = True
    """Offered in plan mode. A tool that changes files only in a layer that is thrown away may be, too."""
    over_mcp: bool = False
    learn: Learn | None = None
    """What a past call of it teaches the ledger."""
    method: str = ""
    """What the audit log calls it; empty: its name."""
    subject: str = "path"
    """The argument that the audit log names."""
    kind: Literal["read", "search", "edit", "execute", "fetch", "think", "other"] = "other"
    """What editors draw its calls as."""
