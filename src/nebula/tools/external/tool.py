"""A tool of an MCP server, as the model is offered it: `server__tool`, asked about before each call."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nebula.events import Approval, new_trace_id
from nebula.files.digest import digest
from nebula.messages import Json, Text, ToolResultStatus, ToolSpec, strip_hidden_characters
from nebula.tools.approval import Approvals
from nebula.tools.contract import Call, Outcome, ToolFailure, whole_characters
from nebula.tools.external.connection import ServerConnection, ServerFailed
from nebula.tools.permissions import Permission

if TYPE_CHECKING:
    from mcp.types import CallToolResult
    from mcp.types import Tool as ServerTool

SEPARATOR = "__"
MAX_NAME = 64
MAX_DESCRIPTION = 4_000
NOT_ALLOWED = "The user did not allow this call. Do not try it again; go on without it or ask what is wanted."


def offered_name(server: str, tool: str) -> str:
    """As all providers take it: letters, digits, _ and -."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", f"{server}{SEPARATOR}{tool}")[:MAX_NAME]


class ExternalTool:
    def __init__(self, connection: ServerConnection, tool: ServerTool, approvals: Approvals | None) -> None:
        self._connection = connection
        self._tool = tool.name
        self._approvals = approvals
        about = strip_hidden_characters(tool.description or tool.title or tool.name)[:MAX_DESCRIPTION]
        self.spec = ToolSpec(offered_name(connection.server.name, tool.name), about, dict(tool.input_schema))
        described = [connection.server.name, tool.name, tool.description, tool.title, tool.input_schema]
        self._permission = Permission("call", self.spec.name, digest(json.dumps(described, sort_keys=True).encode()))

    @property
    def reads_only(self) -> bool:
        """As the user says. What the server says of its own tools is not asked."""
        return self._tool in self._connection.server.read_only

    async def run(self, args: Mapping[str, Any], call: Call) -> Outcome:
        said = whole_characters(json.dumps(args, ensure_ascii=False, indent=2), "What the tool is given")
        if not self.reads_only:
            await self._ask(said, call)
        try:
            return _outcome(await self._connection.call(self._tool, dict(args)))
        except ServerFailed as problem:
            raise ToolFailure(str(problem), code=502) from None

    async def _ask(self, said: str, call: Call) -> None:
        approvals = self._approvals
        if approvals is None:
            raise ToolFailure(NOT_ALLOWED, code=403, policy=True)
        if approvals.permissions.has(self._permission):
            return
        question = Approval(new_trace_id(), "call", self.spec.name, text=said)
        decision = await approvals.ask(question, call, self._permission)
        if not decision.allowed:
            raise decision.refusal(NOT_ALLOWED)


def _outcome(result: CallToolResult) -> Outcome:
    blocks = tuple(filter(None, (_block(each) for each in result.content)))
    if result.is_error:
        said = " ".join(block.as_text() for block in blocks) or "The tool failed without a word."
        return Outcome((Json({"error": said}),), ToolResultStatus.Error, code=502)
    if not blocks and result.structured_content is not None:
        return Outcome((Json(result.structured_content),))
    return Outcome(blocks or (Text("(no output)"),))


def _block(content: Any) -> Text | None:
    """The text in it; of anything else, what it is."""
    if content.type == "text":
        return Text(strip_hidden_characters(content.text))
    resource = getattr(content, "resource", None)
    if resource is not None and getattr(resource, "text", None) is not None:
        return Text(strip_hidden_characters(resource.text))
    kind = getattr(content, "mime_type", None) or getattr(resource, "mime_type", None) or content.type
    return Text(f"({kind}: not shown)")
