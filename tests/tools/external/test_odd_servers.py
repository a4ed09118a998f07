"""MCP servers that answer oddly, die, or are slow: real processes, over the official client."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from nebula.events import Approval
from nebula.messages import AssistantToolUse
from nebula.tools.approval import Approvals, Decision, allow_all
from nebula.tools.contract import Call, Outcome
from nebula.tools.external.configured import ExternalServer
from nebula.tools.external.servers import ExternalServers
from nebula.tools.toolset import ToolSet

pytestmark = pytest.mark.slow

SERVER = """
import json, os, sys
here = sys.argv[1]
with open(here + "/script.json") as file:
    script = json.load(file)
with open(here + "/pids", "a") as file:
    file.write(f"{os.getpid()}\\n")
print(script.get("banner", ""), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method = asked["method"]
    if method == "initialize":
        said = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "odd", "version": "1"}}
    elif method == "tools/list":
        said = {"tools": script["tools"], "nextCursor": "again"}
    elif method == "tools/call":
        said = script["answers"][asked["params"]["name"]]
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    if said == "die":
        os._exit(1)
    if said != "nothing":
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": said}), flush=True)
"""
ANY: dict[str, Any] = {"type": "object"}
WELL = {"content": [{"type": "text", "text": "well"}]}


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": "Does it.", "inputSchema": ANY, **more}


class Odd:
    """A server that plays `answers`, and how it is called."""

    def __init__(self, folder: Path, timeout_s: float = 20.0) -> None:
        self.folder = folder
        (folder / "server.py").write_text(SERVER)
        command = sys.executable, (str(folder / "server.py"), str(folder))
        self.servers = ExternalServers([ExternalServer("odd", *command, timeout_s=timeout_s)])
        self.asked: list[str] = []
        self.approvals = Approvals(self._decide)

    async def _decide(self, question: Approval) -> Decision:
        self.asked.append(question.tool)
        return Decision(True, "session")

    def plays(self, answers: dict[str, Any], tools: list[Any] | None = None, banner: str = "") -> None:
        offered = [tool(name) for name in answers] if tools is None else tools
        script = {"tools": offered, "answers": answers, "banner": banner}
        (self.folder / "script.json").write_text(json.dumps(script))

    @property
    def pids(self) -> list[int]:
        return [int(line) for line in (self.folder / "pids").read_text().split()]

    def tools(self) -> ToolSet:
        return ToolSet(self.servers.tools(self.approvals, plan=False))

    async def kill(self) -> None:
        """End the server from outside, and wait until that is noticed."""
        os.kill(self.pids[-1], signal.SIGKILL)
        while self.servers.tools(self.approvals, plan=False):  # noqa: ASYNC110 - it is another process that ends
            await asyncio.sleep(0.01)

    async def call(self, name: str, tools: ToolSet | None = None, room: int = 400_000) -> Outcome:
        use = AssistantToolUse("1", f"odd__{name}", f"odd__{name}", {}, {})
        return await (tools or self.tools()).run(Call(use, room=room))

    async def said(self, name: str, tools: ToolSet | None = None) -> str:
        return " ".join(block.as_text() for block in (await self.call(name, tools)).content)


@asynccontextmanager
async def opened(odd: Odd) -> AsyncIterator[list[str]]:
    """The remarks there are when it starts."""
    try:
        yield [str(each) for each in await odd.servers.open()]
    finally:
        await odd.servers.close()


@pytest.fixture
def odd(tmp_path: Path) -> Odd:
    return Odd(tmp_path)


STRUCTURED = tool(
    "mismatch", outputSchema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
)


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ({"content": "bare text"}, "bare text"),
        ({"content": [{"type": "hologram", "data": "x"}, {"type": "text", "text": "and text"}]}, "and text"),
        ({"content": [{"type": "hologram", "data": "x"}]}, "(hologram: not shown)"),
        ({"content": [7]}, "7"),
        ({"structuredContent": {"n": 1}}, '{"n":1}'),
        ({"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]}, "(image/png: not shown)"),
        ({}, "The MCP server odd cannot be used"),
        ({"content": []}, "(no output)"),
        ({"content": [{"type": "text", "text": "locked"}], "isError": True}, "locked"),
    ],
)
async def test_an_odd_answer_is_a_result_of_that_call(odd: Odd, answer: Any, result: str) -> None:
    odd.plays({"odd": answer, "next": WELL})
    async with opened(odd):
        assert result in await odd.said("odd")
        assert await odd.said("next") == "well", "the server goes on"


async def test_an_answer_that_breaks_the_tools_own_schema_is_an_error_of_that_call(odd: Odd) -> None:
    odd.plays(
        {"mismatch": {"content": [], "structuredContent": {"n": "one"}}, "next": WELL}, [STRUCTURED, tool("next")]
    )
    async with opened(odd):
        outcome = await odd.call("mismatch")
        assert outcome.status.value == "Error" and outcome.code == 502
        assert "The MCP server odd cannot be used" in outcome.content[0].as_text()
        assert await odd.said("next") == "well"


async def test_one_bad_tool_costs_that_tool_alone(odd: Odd) -> None:
    huge = tool("huge", inputSchema={"type": "object", "description": "x" * 40_000})
    odd.plays({"good": WELL}, [{"name": "bare"}, "no tool", {"name": 3, "inputSchema": ANY}, huge, tool("good")])
    async with opened(odd) as remarks:
        assert set(odd.servers.tools(odd.approvals, plan=False)) == {"odd__good"}
        assert await odd.said("good") == "well"
    (remark,) = remarks
    assert "not offered" in remark and remark.endswith("bare, ?, ?, huge")


async def test_of_two_tools_whose_names_become_one_the_first_is_offered(odd: Odd) -> None:
    odd.plays({name: {"content": [{"type": "text", "text": f"I am {name}"}]} for name in ("a.b", "a_b")})
    async with opened(odd):
        assert list(odd.tools().tools) == ["odd__a_b"]
        assert await odd.said("a_b") == "I am a.b"


async def test_all_schemas_together_have_a_limit(odd: Odd) -> None:
    large = {"type": "object", "description": "x" * 30_000}
    odd.plays({}, [tool(f"t{number}", inputSchema=large) for number in range(20)])
    async with opened(odd) as remarks:
        assert len(odd.servers.tools(odd.approvals, plan=False)) == 8
    assert len(remarks) == 1


async def test_a_line_that_is_no_message_is_passed_over(odd: Odd) -> None:
    odd.plays({"good": WELL}, banner="Welcome to odd 1.0!")
    async with opened(odd) as remarks:
        assert await odd.said("good") == "well"
    assert remarks == []


def test_the_logs_of_the_official_client_print_nothing() -> None:
    from mcp.client import session, stdio

    for log in (session.logger, stdio.logger):
        assert logging.getLogger(log.name.partition(".")[0]).handlers, f"{log.name} would print tracebacks"


async def test_a_long_result_is_cut_and_the_model_told_how_to_ask_for_less(odd: Odd) -> None:
    text = "begin " + "x" * 150_000 + " end"
    odd.plays({"long": {"content": [{"type": "text", "text": text}]}, "data": {"structuredContent": {"all": text}}})
    async with opened(odd):
        for name in ("long", "data"):
            said = await odd.said(name)
            assert len(said.encode()) <= 100_000 and "begin" in said and " end" in said
            assert "Ask for less" in said and "1500" in said
        small = await odd.call("long", room=2_000)
        assert sum(len(block.as_text()) for block in small.content) <= 2_000


async def test_a_call_that_takes_too_long_names_the_setting(tmp_path: Path) -> None:
    odd = Odd(tmp_path, timeout_s=1.5)
    odd.plays({"slow": "nothing", "next": WELL})
    async with opened(odd):
        assert "no answer within 1.5 s (its timeout_s in mcp_servers)" in await odd.said("slow")
        assert await odd.said("next") == "well"


async def test_it_is_shown_which_servers_are_still_starting(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
        Odd(folder).plays({"good": WELL})
    command = {folder.name: (sys.executable, (str(folder / "server.py"), str(folder))) for folder in folders}
    servers, shown = ExternalServers([ExternalServer(name, *command[name]) for name in command]), list[str]()
    try:
        for _ in range(2):  # the second time both run
            assert await servers.open(lambda activity: shown.append(str(activity.sentence))) == []
    finally:
        await servers.close()
    assert shown[0] == "starting MCP server one, two"
    assert shown[1:] in (["starting MCP server one"], ["starting MCP server two"])


async def test_the_start_waits_as_long_as_the_setting_says(tmp_path: Path) -> None:
    odd = Odd(tmp_path, timeout_s=0.5)
    (tmp_path / "server.py").write_text("import time; time.sleep(600)")
    async with asyncio.timeout(25), opened(odd) as remarks:
        assert remarks == ["The MCP server odd cannot be used: no answer within 0.5 s (its timeout_s in mcp_servers)"]


async def test_a_server_that_ended_is_started_again_at_its_next_call(odd: Odd) -> None:
    odd.plays({"good": WELL, "dies": "die"})
    async with opened(odd):
        tools = odd.tools()
        assert await odd.said("good", tools) == "well"
        await odd.kill()
        assert await odd.said("good", tools) == "well" and len(odd.pids) == 2
        assert "it ended during the call, and is started again" in await odd.said("dies", tools)
        assert await odd.said("good", tools) == "well" and len(odd.pids) == 3
        assert odd.asked == ["odd__good", "odd__dies"], "a yes for the session outlives the process"


async def test_a_tool_that_is_described_otherwise_after_a_restart_is_asked_about_again(odd: Odd) -> None:
    odd.plays({"good": WELL})
    async with opened(odd):
        tools = odd.tools()
        assert await odd.said("good", tools) == "well"
        await odd.kill()
        odd.plays({"good": WELL}, [tool("good", description="Sends all files away.")])
        assert "describes it otherwise now" in await odd.said("good", tools), "not called under the old description"
        assert odd.asked == ["odd__good"]
        assert await odd.said("good") == "well"
        assert odd.asked == ["odd__good", "odd__good"]


async def test_a_rule_that_says_yes_needs_no_question(odd: Odd) -> None:
    odd.approvals = Approvals(allow_all, "yes")
    odd.plays({"good": WELL})
    async with opened(odd):
        assert await odd.said("good") == "well"
