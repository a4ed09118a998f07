"""Mend what an MCP server sends, so that the official client can read it.

The client accepts an answer whole or not at all: one tool without a schema would lose all tools of its server, one
block of an unknown kind the whole result. Here such a part is left out or replaced by its name, and the rest is read. A
line that is not a message is skipped.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, Self

from nebula.value import field, record

MAX_SCHEMA = 32_000
"""Bytes of the schema of a tool's arguments; every request to the model carries it."""
MAX_SCHEMAS = 256_000
"""The same for all tools of one server."""


@record
class Border:
    """Stands between one server and the client."""

    left_out: list[str] = field(default_factory=list)
    """Names of tools that cannot be offered."""
    ended: bool = False
    """The server has closed its output."""
    overrun: bool = False
    """The server was ended because a message of it was too long."""
    _schema_bytes: int = 0

    @asynccontextmanager
    async def guard(
        self, transport: AbstractAsyncContextManager[Any], *, keep_problems: bool
    ) -> AsyncIterator[tuple[Any, Any]]:
        """Open `transport` and yield its two streams, with incoming messages mended. `keep_problems`: also pass on
        problems of the transport itself, such as a refused connection."""
        async with transport as (incoming, outgoing):
            yield FitStream(incoming, self, keep_problems), outgoing

    def note_overrun(self) -> None:
        self.overrun = True

    def make_fit(self, message: Any) -> None:
        """Mend the result in `message`, where it holds one."""
        result = getattr(message, "result", None)
        if not isinstance(result, dict):
            return
        if isinstance(result.get("tools"), list):
            result["tools"] = [tool for tool in result["tools"] if self._can_be_offered(tool)]
        if "content" in result or "structuredContent" in result:
            result["content"] = _blocks(result.get("content"))

    def _can_be_offered(self, tool: Any) -> bool:
        name = tool.get("name") if isinstance(tool, dict) else None
        size = len(json.dumps(tool.get("inputSchema")).encode()) if isinstance(tool, dict) else 0
        if not _is_tool(tool) or size > MAX_SCHEMA or self._schema_bytes + size > MAX_SCHEMAS:
            self.left_out.append(name if isinstance(name, str) else "?")
            return False
        self._schema_bytes += size
        return True


class FitStream:
    """The messages of a server, as a stream that the client can read."""

    def __init__(self, incoming: Any, border: Border, keep_problems: bool) -> None:
        self._incoming = incoming
        self._border = border
        self._keep_problems = keep_problems

    @property
    def last_context(self) -> Any:
        return getattr(self._incoming, "last_context", None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        while True:
            try:
                message = await self._incoming.__anext__()
            except StopAsyncIteration:
                self._border.ended = True
                raise
            if not isinstance(message, Exception):
                self._border.make_fit(message.message)
                return message
            if self._keep_problems:
                return message

    receive = __anext__

    async def aclose(self) -> None:
        await self._incoming.aclose()

    async def __aenter__(self) -> Self:
        await self._incoming.__aenter__()
        return self

    async def __aexit__(self, *how: object) -> bool | None:
        self._border.ended = True
        left: bool | None = await self._incoming.__aexit__(*how)
        return left


def _is_tool(tool: Any) -> bool:
    """Return whether the client accepts a list with this tool. A schema that does not say so describes an object."""
    from mcp_types.methods import parse_server_result
    from mcp_types.version import LATEST_HANDSHAKE_VERSION

    if isinstance(tool, dict) and isinstance(tool.get("inputSchema"), dict):
        tool["inputSchema"] = {"type": "object", **tool["inputSchema"]}
    return _is_valid(partial(parse_server_result, "tools/list", LATEST_HANDSHAKE_VERSION), {"tools": [tool]})


def _blocks(content: Any) -> list[Any]:
    if content is None:
        return []
    if not isinstance(content, list):
        return [_as_text(content)]
    from mcp.types import ContentBlock
    from pydantic import TypeAdapter

    reader: TypeAdapter[Any] = TypeAdapter(ContentBlock)
    return [block if _is_valid(reader.validate_python, block) else _as_text(block) for block in content]


def _is_valid(read: Callable[[Any], Any], found: Any) -> bool:
    from pydantic import ValidationError

    try:
        read(found)
    except ValidationError:
        return False
    return True


def _as_text(block: Any) -> dict[str, str]:
    """Return a text block in place of a block that the protocol does not have: its text, or the kind it claims to
    be."""
    if isinstance(block, dict):
        said = block.get("text")
        block = said if isinstance(said, str) else f"({block.get('type') or 'a block of no kind'}: not shown)"
    return {"type": "text", "text": block if isinstance(block, str) else json.dumps(block)}
