"""The guarded tools over the Model Context Protocol, for any client that speaks it.

The same file tools the agent has, over the same workspace. Nobody is asked here before a write: clients ask their
users. Started read-only the server has no writing tools and a workspace that cannot write. A client that offers roots
is held to them. What was read counts for the whole life of the server, so a file is edited only by a client of a
server that has shown its present content.
"""

from __future__ import annotations

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
from nebula.events import new_trace_id
from nebula.messages import AssistantToolUse, Json, ToolResultStatus, clean_tool_arguments
from nebula.server.asgi import App
from nebula.server.gate import PASSAGE, Gate, Rules, recorder
from nebula.server.mcp.narrowed import NarrowedWorkspace, folders_below
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
"""The SDK's request context; its type parameters say nothing that is used here."""


@value
class GuardedTools:
    """What one server offers, built anew for each call around the workspace that call may use."""

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
        """The workspace a client with these roots may use; None or none at all: the whole."""
        if not offered:
            return self.workspace
        folders = folders_below(self.root, offered)
        return self.workspace if folders == ((),) else NarrowedWorkspace(self.workspace, self.root, folders)

    def record_refusal(self, name: str, args: Any, trace_id: str) -> None:
        """For a call that no tool ever saw."""
        if self.audit is not None:
            self.audit.record(trace_id, name, str(args.get("path") or args.get("directory") or ""), None, 400)

    def _tools(self, workspace: Workspace, trace_id: str = "") -> ToolSet:
        audit = CallAudit(self.audit, trace_id) if self.audit is not None else None
        read_only = READ_ONLY if self.workspace.read_only else ""
        return mcp_tools(
            ToolKit(workspace, self.ledger, code=self.code, trace_id=trace_id), read_only=read_only, audit=audit
        )


def create_mcp_server(tools: GuardedTools) -> Server[Any]:
    async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools.specs)

    async def call_tool(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        if (
            _offers_roots(context)
            and not context.session.can_send_request
            and ROOTS not in (params.input_responses or {})
        ):
            return types.InputRequiredResult(input_requests={ROOTS: types.ListRootsRequest()})
        arguments, trace_id = params.arguments or {}, _trace_id(context)
        try:
            offered = await _roots(context, params)
        except MCPError:
            tools.record_refusal(params.name, arguments, trace_id)
            return _failure("Your client offers roots but does not say which; nothing was done.")
        return _result(await tools.run(params.name, arguments, tools.within(offered), trace_id))

    return Server(
        "nebula", version=__version__, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )


async def serve_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def create_mcp_app(server: Server[Any], rules: Rules, audit: AuditLog | None = None) -> App:
    """The streamable HTTP app, behind the gate."""
    # The gate in front is stricter about Host and Origin than the SDK's own check.
    open_inside = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(
        streamable_http_path=MCP_PATH, transport_security=open_inside, max_request_body_size=rules.max_body
    )
    # Tool calls are recorded by the workspace itself; what never got so far is recorded here.
    return Gate(app, rules, recorder(audit, from_status=400))


def _trace_id(context: Context) -> str:
    """The caller's, where it came by HTTP."""
    scope = getattr(context.request, "scope", {})
    return scope[PASSAGE].trace_id if PASSAGE in scope else new_trace_id()


def _offers_roots(context: Context) -> bool:
    capabilities = context.session.client_capabilities
    return capabilities is not None and capabilities.roots is not None


async def _roots(context: Context, params: types.CallToolRequestParams) -> list[str] | None:
    """The folders the client offers, asked for at each call because they may change; None if it offers no roots."""
    if not _offers_roots(context):
        return None
    answer = (params.input_responses or {}).get(ROOTS)
    if answer is None:
        answer = await context.session.send_request(types.ListRootsRequest(), types.ListRootsResult)
    roots = answer.roots if isinstance(answer, types.ListRootsResult) else []
    return [_path_of(str(root.uri)) for root in roots]


def _path_of(uri: str) -> str:
    """The path of a file URI; of any other URI one that no file has."""
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
    value: Any = next((block.value for block in outcome.content if isinstance(block, Json)), {})
    if outcome.status is ToolResultStatus.Error:
        return _failure(str(value.get("error", "The call failed.")))
    return _answer(value)


def _failure(sentence: str) -> types.CallToolResult:
    return _answer({"error": sentence}, is_error=True)


def _answer(value: Any, *, is_error: bool = False) -> types.CallToolResult:
    text = json.dumps(value, ensure_ascii=False)
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=value, is_error=is_error)
