"""The guarded tools over the Model Context Protocol, for any client that speaks it.

The same file tools the agent has, over the same workspace. Nobody is asked here before a write: clients ask their
users. Started read-only the server has no writing tools and a workspace that cannot write. The
project's files and the turns of its conversation are resources, too. A client that offers roots
is held to them. What was read counts for the whole life of the server, so a file is edited only by a client of a
server that has shown its present content.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError

from nebula import __version__
from nebula.errors import NebulaError
from nebula.events import new_trace_id
from nebula.messages import AssistantToolUse, Json, ToolResultStatus, clean_tool_arguments
from nebula.server.asgi import App
from nebula.server.gate import PASSAGE, Gate, Rules, recorder
from nebula.server.mcp.agent_tool import AgentTool, Report
from nebula.server.mcp.narrowed import NarrowedWorkspace, folders_below
from nebula.server.mcp.resources import FILES, TEMPLATES, TURNS, KeptTurns, path_in, text_of_file
from nebula.tools.code.code_index import CodeSearch
from nebula.tools.contract import Call, Outcome, Tool
from nebula.tools.declaration import ToolKit
from nebula.tools.ledger import ReadLedger
from nebula.tools.registry import WRITERS, mcp_tools
from nebula.tools.toolset import CallAudit, ToolSet
from nebula.value import field, value
from nebula.workspace.audit import AuditLog
from nebula.workspace.contract import Workspace

MCP_PATH: Final = "/mcp"
ROOTS: Final = "roots"
READ_ONLY: Final = "This server was started read-only; it does not write."
INSTRUCTIONS: Final = (
    "The text files of one project. Paths are relative to its root. Read a file with readFile before you change it "
    "with editFile; writeFile makes new files."
)
_ASKED_FIRST = " The user is asked first."

Context = Any
"""The SDK's request context; its type parameters are not used here."""


@value
class GuardedTools:
    """The tools of one server, made anew for each call, with the workspace that the call may use."""

    workspace: Workspace
    root: str
    audit: AuditLog | None = None
    code: CodeSearch | None = None
    ledger: ReadLedger = field(default_factory=ReadLedger)

    @property
    def specs(self) -> list[types.Tool]:
        return [_described(tool) for tool in self._tools(self.workspace).tools.values()]

    async def run(self, name: str, args: Any, workspace: Workspace, trace_id: str) -> Outcome:
        clean = clean_tool_arguments(args)
        tools = self._tools(workspace.for_turn(trace_id), trace_id)
        return await tools.run(Call(AssistantToolUse(trace_id, name, name, clean, clean)))

    def within(self, offered: Sequence[str] | None) -> Workspace:
        """Return the workspace for a client with these roots; None or no roots: the whole workspace."""
        if not offered:
            return self.workspace
        folders = folders_below(self.root, offered)
        return self.workspace if folders == ((),) else NarrowedWorkspace(self.workspace, self.root, folders)

    def record(self, trace_id: str, name: str, subject: str, size: int | None, status: int) -> None:
        if self.audit is not None:
            self.audit.record(trace_id, name, subject, size, status)

    def _tools(self, workspace: Workspace, trace_id: str = "") -> ToolSet:
        audit = CallAudit(self.audit, trace_id) if self.audit is not None else None
        read_only = READ_ONLY if self.workspace.read_only else ""
        return mcp_tools(
            ToolKit(workspace, self.ledger, code=self.code, trace_id=trace_id), read_only=read_only, audit=audit
        )


class _Handlers:
    """Answers the requests of clients: the tools, the files and the turns of one project."""

    def __init__(self, tools: GuardedTools, agent: AgentTool | None) -> None:
        self._tools = tools
        self._agent = agent
        self._turns = KeptTurns(tools.root)

    async def list_tools(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[*self._tools.specs, *([self._agent.spec] if self._agent else [])])

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        if _must_ask_for_roots(context, params):
            return types.InputRequiredResult(input_requests={ROOTS: types.ListRootsRequest()})
        arguments, trace_id = params.arguments or {}, _trace_id(context)
        try:
            offered = await _roots(context, params)
        except MCPError:
            subject = str(arguments.get("path") or arguments.get("directory") or "")
            self._tools.record(trace_id, params.name, subject, None, 400)  # it never reached a tool
            return _failure("Your client offers roots but does not say which; nothing was done.")
        if self._agent is not None and params.name == self._agent.spec.name:
            if self._tools.within(offered) is not self._tools.workspace:
                return _failure("The agent works in the whole project, and your client offers only a part of it.")
            done, failed = await self._agent.run(arguments, _reporter(context))
            return _answer(done, is_error=failed)
        return _result(await self._tools.run(params.name, arguments, self._tools.within(offered), trace_id))

    async def list_resources(self, context: Context, _: Any) -> types.ListResourcesResult:
        is_whole = await self._offers_whole_project(context)
        return types.ListResourcesResult(resources=await asyncio.to_thread(self._turns.list_newest) if is_whole else [])

    async def _offers_whole_project(self, context: Context) -> bool:
        """Return whether a client may see everything in a list: not if its roots cannot be asked for at the moment."""
        if not _offers_roots(context):
            return True
        if not context.session.can_send_request:
            return False
        try:
            offered = await _asked_for_roots(context)
        except MCPError:
            return False
        return self._tools.within(offered) is self._tools.workspace

    async def list_templates(self, _: Context, __: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=TEMPLATES)

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        if _must_ask_for_roots(context, params):
            return types.InputRequiredResult(input_requests={ROOTS: types.ListRootsRequest()})
        uri, workspace = str(params.uri), self._tools.within(await _roots(context, params))
        if uri.startswith(FILES):
            kind, text = "text/plain", await _read_file(self._tools, uri, workspace, _trace_id(context))
        elif uri.startswith(TURNS) and workspace is self._tools.workspace:
            kind, text = "text/markdown", await _read_turn(self._turns, self._tools, uri, _trace_id(context))
        else:
            raise MCPError(types.INVALID_PARAMS, "There is no such resource, or your client does not offer it.")
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=text)])


def create_mcp_server(tools: GuardedTools, agent: AgentTool | None = None) -> Server[Any]:
    """Return the server of `tools` and of the project's resources; with `agent` it also accepts whole tasks."""
    handlers = _Handlers(tools, agent)
    return Server(
        "nebula",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
    )


async def _read_file(tools: GuardedTools, uri: str, workspace: Workspace, trace_id: str) -> str:
    outcome = await tools.run("readFile", {"path": path_in(uri)}, workspace, trace_id)
    found = _value_of(outcome)
    if outcome.status is ToolResultStatus.Error:
        raise MCPError(types.INVALID_PARAMS, str(found.get("error", "The file cannot be read.")))
    return text_of_file(found)


async def _read_turn(turns: KeptTurns, tools: GuardedTools, uri: str, trace_id: str) -> str:
    node_id = uri.removeprefix(TURNS)
    try:
        text = await asyncio.to_thread(turns.read, node_id)
    except NebulaError as problem:
        tools.record(trace_id, "read_node", node_id, None, 404)
        raise MCPError(types.INVALID_PARAMS, str(problem)) from None
    tools.record(trace_id, "read_node", node_id, len(text.encode()), 200)
    return text


def _reporter(context: Context) -> Report:
    async def report(done: float, name: str) -> None:
        await context.session.report_progress(done, None, name)

    return report


async def serve_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def create_mcp_app(server: Server[Any], rules: Rules, audit: AuditLog | None = None) -> App:
    """Return the streamable HTTP app, behind the gate."""
    # The gate in front is stricter about Host and Origin than the SDK's own check.
    open_inside = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(
        streamable_http_path=MCP_PATH, transport_security=open_inside, max_request_body_size=rules.max_body
    )
    # The workspace records tool calls itself; requests that never got so far are recorded here.
    return Gate(app, rules, recorder(audit, from_status=400))


def _trace_id(context: Context) -> str:
    """Return the trace id that the caller sent in HTTP; else a new one."""
    scope = getattr(context.request, "scope", {})
    return scope[PASSAGE].trace_id if PASSAGE in scope else new_trace_id()


def _offers_roots(context: Context) -> bool:
    capabilities = context.session.client_capabilities
    return capabilities is not None and capabilities.roots is not None


def _must_ask_for_roots(context: Context, params: types.InputResponseRequestParams) -> bool:
    """Return whether the client has roots that can be asked for only by an unfinished result."""
    asked = ROOTS in (params.input_responses or {})
    return _offers_roots(context) and not context.session.can_send_request and not asked


async def _roots(context: Context, params: types.InputResponseRequestParams) -> list[str] | None:
    """Return the folders that the client offers, asked for in each call because they may change; None if it offers
    none."""
    if not _offers_roots(context):
        return None
    answer = (params.input_responses or {}).get(ROOTS)
    return await _asked_for_roots(context) if answer is None else _paths_of(answer)


async def _asked_for_roots(context: Context) -> list[str]:
    """Return the client's roots. Raises MCPError if the client offers roots and does not list them."""
    return _paths_of(await context.session.send_request(types.ListRootsRequest(), types.ListRootsResult))


def _paths_of(answer: Any) -> list[str]:
    roots = answer.roots if isinstance(answer, types.ListRootsResult) else []
    return [_path_of(str(root.uri)) for root in roots]


def _path_of(uri: str) -> str:
    """Return the path of a file URI; for any other URI a path that no file has."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" and parts.netloc in {"", "localhost"} else "/dev/null/none"


def _described(tool: Tool) -> types.Tool:
    spec = tool.spec
    writes = spec.name in WRITERS
    return types.Tool(
        name=spec.name,
        description=spec.description.replace(_ASKED_FIRST, ""),
        input_schema=dict(spec.parameters),
        annotations=types.ToolAnnotations(
            read_only_hint=not writes,
            destructive_hint=spec.name == "editFile" if writes else None,
            idempotent_hint=None if writes else True,
            open_world_hint=False,
        ),
    )


def _result(outcome: Outcome) -> types.CallToolResult:
    value = _value_of(outcome)
    if outcome.status is ToolResultStatus.Error:
        return _failure(str(value.get("error", "The call failed.")))
    return _answer(value)


def _value_of(outcome: Outcome) -> Any:
    return next((block.value for block in outcome.content if isinstance(block, Json)), {})


def _failure(sentence: str) -> types.CallToolResult:
    return _answer({"error": sentence}, is_error=True)


def _answer(value: Any, *, is_error: bool = False) -> types.CallToolResult:
    text = json.dumps(value, ensure_ascii=False)
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=value, is_error=is_error)
