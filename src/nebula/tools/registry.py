"""All tools, and the sets of them that the front doors offer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from nebula.messages import (
    AssistantMessage,
    AssistantToolUse,
    Json,
    Message,
    ToolResultStatus,
    ToolUseResult,
    UserMessage,
)
from nebula.tools import delegate, read_node, todo, use_skill, why_lines
from nebula.tools.approval import Approvals, Approved, WritersOfTurn
from nebula.tools.code import search_code
from nebula.tools.commands import run_check, run_command
from nebula.tools.contract import Tool
from nebula.tools.declaration import ToolDeclaration, ToolKit
from nebula.tools.files import edit_file, list_files, read_file, search_in_directory, write_file
from nebula.tools.ledger import ReadLedger
from nebula.tools.toolset import AfterChange, CallAudit, ToolSet
from nebula.tools.web import fetch_url
from nebula.tools.writing import Unasked, WritingTool
from nebula.value import replace

TOOLS: tuple[ToolDeclaration, ...] = (
    list_files.TOOL,
    read_file.TOOL,
    search_in_directory.TOOL,
    search_code.TOOL,
    write_file.TOOL,
    edit_file.TOOL,
    run_command.TOOL,
    run_check.TOOL,
    read_node.TOOL,
    why_lines.TOOL,
    todo.TOOL,
    fetch_url.TOOL,
    delegate.TOOL,
    use_skill.TOOL,
)
WRITERS = frozenset(tool.name for tool in TOOLS if tool.writes)
BY_NAME = {tool.name: tool for tool in TOOLS}


def agent_tools(
    kit: ToolKit, approvals: Approvals, *, audit: CallAudit | None = None, after_change: Sequence[AfterChange] = ()
) -> ToolSet:
    """Return all tools for one turn; a write is approved first, and each function of `after_change` is called after
    every write."""
    kit = replace(kit, approvals=approvals)
    writers = WritersOfTurn()
    offered = {**_built(TOOLS, kit, lambda tool: Approved(tool, approvals, writers)), **kit.external}
    return ToolSet(offered, {}, BY_NAME, tuple(after_change), audit)


def plan_tools(kit: ToolKit, *, audit: CallAudit | None = None) -> ToolSet:
    missing = {
        tool.name: f"Tool '{tool.name}' is not allowed in plan mode. Plan mode is read-only."
        for tool in TOOLS
        if not tool.in_plan
    }
    offered = [tool for tool in TOOLS if tool.in_plan]
    return ToolSet({**_built(offered, kit, Unasked), **kit.external}, missing, BY_NAME, audit=audit)


def chat_tools(kit: ToolKit, *, audit: CallAudit | None = None) -> ToolSet:
    """Return the tools of a chat, which touches no file: it can only read earlier turns."""
    return ToolSet(_built([read_node.TOOL], kit, Unasked), {}, BY_NAME, audit=audit)


def mcp_tools(kit: ToolKit, *, read_only: str = "", audit: CallAudit | None = None) -> ToolSet:
    """Return the tools for an MCP client, which asks its own user; `read_only`: why there are no writers."""
    offered = [tool for tool in TOOLS if tool.over_mcp and not (tool.writes and read_only)]
    missing = {tool.name: read_only for tool in TOOLS if tool.over_mcp and tool.writes and read_only}
    return ToolSet(_built(offered, kit, Unasked), missing, BY_NAME, audit=audit)


def learn_from(ledger: ReadLedger, messages: Iterable[Message]) -> None:
    """Note in the ledger what a model has read that has these messages before it."""
    lessons = {tool.name: tool.learn for tool in TOOLS if tool.learn is not None}
    with ledger.reading_back():
        for use, result in _answered(messages):
            learn = lessons.get(use.orig_name)
            if learn and isinstance(use.orig_args, dict) and (value := _value_of(result)) is not None:
                learn(ledger, use.orig_args, value)


def _answered(messages: Iterable[Message]) -> Iterator[tuple[AssistantToolUse, ToolUseResult]]:
    uses: dict[str, AssistantToolUse] = {}
    for message in messages:
        if isinstance(message, AssistantMessage):
            uses.update({use.id: use for use in message.tool_uses or ()})
        elif isinstance(message, UserMessage):
            for result in message.tool_use_results or ():
                if (use := uses.get(result.tool_use_id)) is not None:
                    yield use, result


def _value_of(result: ToolUseResult) -> dict[str, object] | None:
    if result.status is not ToolResultStatus.Success:
        return None
    return next((b.value for b in result.content if isinstance(b, Json) and isinstance(b.value, dict)), None)


def _built(declared: Iterable[ToolDeclaration], kit: ToolKit, wrap: Callable[[WritingTool], Tool]) -> dict[str, Tool]:
    tools: dict[str, Tool] = {}
    for declaration in declared:
        tool = declaration.build(kit)
        if tool is not None:
            tools[declaration.name] = wrap(tool) if isinstance(tool, WritingTool) else tool
    return tools
