"""A tool of an MCP server, before the server hears of it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from nebula.messages import AssistantToolUse
from nebula.tools.contract import Call, ToolFailure
from nebula.tools.external.configured import ExternalServer
from nebula.tools.external.connection import ServerConnection
from nebula.tools.external.tool import ExternalTool


def test_half_a_character_is_not_sent_for_it_would_end_the_connection() -> None:
    connection = ServerConnection(ExternalServer("notes", "notes", read_only=frozenset({"search"})))
    declared = SimpleNamespace(name="search", description="Finds notes.", title=None, input_schema={})
    tool = ExternalTool(connection, declared, None)  # type: ignore[arg-type]
    args = {"word": ["\ud83e"]}
    use = AssistantToolUse("call_1", "notes__search", "notes__search", args, args)
    with pytest.raises(ToolFailure, match="lone surrogate"):
        asyncio.run(tool.run(args, Call(use)))
