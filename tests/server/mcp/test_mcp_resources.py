"""Resources of the MCP server, and the agent as its tool, used with the official client."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, MCPError

from conftest import Bench
from nebula.config import load_settings
from nebula.graph.graph import Graph
from nebula.server.mcp.agent_tool import AgentTool
from nebula.server.mcp.app import GuardedTools, create_mcp_server
from nebula.workspace.audit import AuditLog
from nebula.workspace.guard.judge import Policy
from nebula.workspace.local import open_workspace
from scripted_model import Call, Fault, ScriptedModel, Turn


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "日 本.py").write_text("print('hello')\n", encoding="utf-8")
    (folder / "large.txt").write_text("line\n" * 90_000, encoding="utf-8")
    (folder / ".env").write_text("KEY=geheim-123\n", encoding="utf-8")
    with Graph(folder / ".nebula" / "graph") as graph:
        graph.create_node(prompt="first question", response="first answer")
        graph.create_node(prompt="why\n  is it so?", response="because of the second answer")
    return folder


@asynccontextmanager
async def connected(root: Path, mode: str, agent: AgentTool | None = None, **options: Any) -> AsyncIterator[Client]:
    with open_workspace(str(root), Policy()) as workspace:
        log = AuditLog(str(root))
        server = create_mcp_server(GuardedTools(workspace, str(root), log), agent)
        async with Client(server, mode=mode, **options) as client:
            yield client
        log.close()


async def read(client: Client, uri: str) -> str:
    (found,) = (await client.read_resource(uri)).contents
    assert isinstance(found, types.TextResourceContents) and found.uri == uri
    return found.text


modes = pytest.mark.parametrize("mode", ["auto", "legacy"])


@modes
async def test_files_and_turns_can_be_read(root: Path, mode: str) -> None:
    async with connected(root, mode) as client:
        templates = (await client.list_resource_templates()).resource_templates
        assert [each.uri_template for each in templates] == ["nebula://files/{+path}", "nebula://turns/{id}"]
        assert await read(client, "nebula://files/src/%E6%97%A5%20%E6%9C%AC.py") == "print('hello')\n"
        assert "left out" in (await read(client, "nebula://files/large.txt"))[-300:]
        newest, first = (await client.list_resources()).resources
        assert (newest.name, first.name) == ("why is it so?", "first question")
        assert "because of the second answer" in await read(client, newest.uri)
    lines = [json.loads(line) for line in (root / ".nebula" / "audit.jsonl").read_text().splitlines()]
    assert [(line["method"], line["status"]) for line in lines] == [
        ("read_file", 200),
        ("read_file", 200),
        ("read_node", 200),
    ]


@modes
async def test_what_is_guarded_is_guarded_here(root: Path, mode: str) -> None:
    uris = ("files/.env", "files/../app/.env", "files/none.txt", "files/%2e%2e/x", "turns/none", "turns/../x", "x")
    async with connected(root, mode) as client:
        for uri in uris:
            with pytest.raises(MCPError) as problem:
                await client.read_resource(f"nebula://{uri}")
            assert "geheim" not in str(problem.value) and str(root) not in str(problem.value)


@modes
async def test_roots_narrow_files_and_hide_turns(root: Path, mode: str) -> None:
    async def offer(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=(root / "src").as_uri())])  # type: ignore[arg-type]

    with Graph(root / ".nebula" / "graph") as graph:
        node = graph.list_nodes()[0].id
    async with connected(root, mode, list_roots_callback=offer) as client:
        assert (await client.list_resources()).resources == []
        assert "hello" in await read(client, "nebula://files/src/%E6%97%A5%20%E6%9C%AC.py")
        for uri in ("nebula://files/large.txt", f"nebula://turns/{node}"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)


@pytest.mark.parametrize(
    ("mode", "folder", "listed"),
    [("legacy", ".", 2), ("legacy", "..", 2), ("legacy", "src", 0), ("legacy", None, 2), ("auto", ".", 0)],
)
async def test_turns_are_listed_for_a_client_that_offers_the_whole_project(
    root: Path, mode: str, folder: str | None, listed: int
) -> None:
    """The newer protocol has no way to ask for roots while a list is wanted."""

    async def offer(_: Any) -> types.ListRootsResult:
        uris = [] if folder is None else [(root / folder).resolve().as_uri()]
        return types.ListRootsResult(roots=[types.Root(uri=uri) for uri in uris])  # type: ignore[arg-type]

    async with connected(root, mode, list_roots_callback=offer) as client:
        assert len((await client.list_resources()).resources) == listed


async def test_roots_that_are_promised_and_not_named_hide_turns(root: Path) -> None:
    async def silent(_: Any) -> types.ErrorData:
        return types.ErrorData(code=types.INTERNAL_ERROR, message="no")

    async with connected(root, "legacy", list_roots_callback=silent) as client:
        assert (await client.list_resources()).resources == []


async def test_a_project_without_a_conversation_has_no_turns(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    async with connected(tmp_path / "app", "auto") as client:
        assert (await client.list_resources()).resources == []
        with pytest.raises(MCPError):
            await client.read_resource("nebula://turns/x")
    assert not (tmp_path / "app" / ".nebula" / "graph").exists()


@pytest.fixture
def environ(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A bench whose home and variables are this process's."""
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name, said in bench.env().items():
        monkeypatch.setenv(name, said)
    return bench


def agent_of(bench: Bench, server: ScriptedModel, **more: Any) -> AgentTool:
    return AgentTool(load_settings(str(bench.project), {**bench.env(), **server.env()}), **more)


async def test_a_whole_task_can_be_handed_over_and_gone_on_with(environ: Bench) -> None:
    bench, told = environ, list[str]()
    script = [Turn("", [Call("writeFile", {"path": "n.txt", "content": "x\n"})]), Turn("Written.")]
    script.append(Turn("It says x", stop="length"))

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(f"{progress:g} {message}")

    with ScriptedModel(script) as server:
        async with connected(bench.project, "auto", agent_of(bench, server)) as client:
            assert (await client.list_tools()).tools[-1].name == "runAgent"
            done = await client.call_tool("runAgent", {"task": "write it"}, progress_callback=hear)
            assert not done.is_error and done.structured_content is not None
            assert done.structured_content["answer"] == "Written."
            assert done.structured_content["files_changed"] == ["n.txt"]
            again = {"task": "what does it say?", "session": done.structured_content["session"], "mode": "plan"}
            done = await client.call_tool("runAgent", again)
            assert done.structured_content is not None and done.structured_content["answer"] == "It says x"
            assert "is not complete" in done.structured_content["remark"]
            assert "write it" in json.dumps(server.turns[-1].json["messages"])
    assert (bench.project / "n.txt").read_text() == "x\n" and told == ["1 writeFile"]


async def test_what_the_agent_cannot_do_is_an_error_of_the_call(environ: Bench) -> None:
    bench = environ

    async def offer(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=(bench.project / "sub").as_uri())])  # type: ignore[arg-type]

    (bench.project / "sub").mkdir()
    with ScriptedModel([]) as server:
        agent = agent_of(bench, server, read_only=True)
        async with connected(bench.project, "auto", agent) as client:
            for args in ({}, {"task": " "}, {"task": "x", "mode": "agent"}, {"task": "x", "session": "none"}):
                assert (await client.call_tool("runAgent", args)).is_error
        async with connected(bench.project, "auto", agent, list_roots_callback=offer) as client:
            assert "only a part of it" in str((await client.call_tool("runAgent", {"task": "x"})).content)
        async with connected(bench.project, "auto") as client:
            assert (await client.call_tool("runAgent", {"task": "x"})).is_error, "offered only where it was asked for"
        assert not server.turns


@pytest.mark.slow
def test_a_server_that_is_told_to_end_leaves_a_turn_of_its_agent_with_its_end(bench: Bench) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    said = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "runAgent", "arguments": {"task": "wait"}}},
    ]
    with ScriptedModel([Turn("late", fault=Fault.stall(60))]) as server:
        process = subprocess.Popen(
            bench.argv("nebula", "mcp", "--agent"),
            cwd=bench.project,
            env=bench.env(**server.env()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(b"".join(json.dumps({"jsonrpc": "2.0", **each}).encode() + b"\n" for each in said))
        process.stdin.flush()
        server.wait_until(lambda: bool(server.turns))
        for number in (signal.SIGTERM, signal.SIGHUP):  # as a service's keeper may send them
            process.send_signal(number)
        assert process.wait(60) == 0
        process.communicate()
    assert [(event["type"], event.get("status")) for event in bench.trace()][-1] == ("final", "interrupted")
    assert bench.run("nebula", "sessions", "--json").json[0]["ended_at"] is not None
