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
from nebula.tools.result_limits import cut_middle

if TYPE_CHECKING:
    from mcp.types import CallToolResult
    from mcp.types import Tool as ServerTool

SEPARATOR = "__"
MAX_NAME = 64
MAX_DESCRIPTION = 4_000
MAX_RESULT = 100_000
"""Bytes of one result that the model is shown."""
ROOM_FOR_ADVICE = 500
ASK_FOR_LESS = (
    "[The result had {size} bytes, and its middle was left out. Ask for less: narrower arguments, a filter, a limit or "
    "a page, as the tool offers it.]"
)
DESCRIBED_ANEW = (
    "The server of this tool was started again and describes it otherwise now. It can be called from the user's next "
    "prompt on; go on without it."
)
NOT_ALLOWED = "The user did not allow this call. Do not try it again; go on without it or ask what is wanted."


def offered_name(server: str, tool: str) -> str:
    """Return the name of a tool as all providers take it: letters, digits, _ and -."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", f"{server}{SEPARATOR}{tool}")[:MAX_NAME]


class ExternalTool:
    def __init__(self, connection: ServerConnection, tool: ServerTool, approvals: Approvals | None) -> None:
        self._connection = connection
        self._tool = tool.name
        self._approvals = approvals
        about = strip_hidden_characters(tool.description or tool.title or tool.name)[:MAX_DESCRIPTION]
        self.spec = ToolSpec(offered_name(connection.server.name, tool.name), about, dict(tool.input_schema))
        self._permission = Permission("call", self.spec.name, _describe(connection, tool))

    @property
    def reads_only(self) -> bool:
        """The user says that it only reads. What the server says of its own tools is not asked."""
        return self._tool in self._connection.server.read_only

    async def run(self, args: Mapping[str, Any], call: Call) -> Outcome:
        said = whole_characters(json.dumps(args, ensure_ascii=False, indent=2), "What the tool is given")
        try:
            await self._connection.open()
            self._require_same()
            if not self.reads_only:
                await self._ask(said, call)
            result = await self._connection.call(self._tool, dict(args))
        except ServerFailed as problem:
            raise ToolFailure(str(problem), code=502) from None
        return _outcome(result, min(MAX_RESULT, call.room))

    def _require_same(self) -> None:
        """Refuse a tool that its server, started again meanwhile, describes otherwise than when it was offered."""
        now = [each for each in self._connection.tools if each.name == self._tool]
        if [_describe(self._connection, each) for each in now] != [self._permission.described]:
            raise ToolFailure(DESCRIBED_ANEW, code=409)

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


def _describe(connection: ServerConnection, tool: ServerTool) -> str:
    """Return a digest of all that the user and the model know of a tool."""
    known = [connection.server.name, tool.name, tool.title, tool.description, tool.input_schema]
    return digest(json.dumps(known, sort_keys=True).encode())


def _outcome(result: CallToolResult, room: int) -> Outcome:
    blocks: list[Text | Json] = [_block(each) for each in result.content]
    if not blocks and result.structured_content is not None:
        blocks = [Json(result.structured_content)]
    blocks = _cut(blocks, room)
    if result.is_error:
        said = " ".join(block.as_text() for block in blocks) or "The tool failed without a word."
        return Outcome((Json({"error": said}),), ToolResultStatus.Error, code=502)
    return Outcome(tuple(blocks) or (Text("(no output)"),))


def _cut(blocks: list[Text | Json], room: int) -> list[Text | Json]:
    """Return a result of more than `room` bytes as both ends of its text, and how to ask for less."""
    size = sum(len(block.as_text().encode("utf-8", "surrogatepass")) for block in blocks)
    if size <= room:
        return blocks
    text, _ = cut_middle("\n".join(block.as_text() for block in blocks), max(0, room - ROOM_FOR_ADVICE))
    return [Text(text), Text(ASK_FOR_LESS.format(size=size))]


def _block(content: Any) -> Text:
    """Return the text in it; of anything else, what it is."""
    if content.type == "text":
        return Text(strip_hidden_characters(content.text))
    resource = getattr(content, "resource", None)
    if resource is not None and getattr(resource, "text", None) is not None:
        return Text(strip_hidden_characters(resource.text))
    kind = getattr(content, "mime_type", None) or getattr(resource, "mime_type", None) or content.type
    return Text(f"({kind}: not shown)")
