"""The guarded tools over the Model Context Protocol, used with the official client: in process, stdio and HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from gateway_rig import served
from nebula.config import load_settings
from nebula.server.mcp.app import MCP_PATH, GuardedTools, create_mcp_app, create_mcp_server
from nebula.server.mcp.narrowed import NarrowedWorkspace, folders_below
from nebula.server.serving import listen, rules_for
from nebula.tools.code.code_index import code_search
from nebula.tools.registry import TOOLS
from nebula.workspace.audit import AuditLog
from nebula.workspace.guard.judge import Policy
from nebula.workspace.local import open_workspace

COMMAND = "import sys; from nebula.cli.nebula import main; sys.exit(main())"
READERS = [tool.name for tool in TOOLS if tool.over_mcp and not tool.writes]
WRITERS = [tool.name for tool in TOOLS if tool.over_mcp and tool.writes]

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "main.py").write_text("print('hello')\n", encoding="utf-8")
    (folder / "other").mkdir()
    (folder / "other" / "b.txt").write_text("hello from b\n", encoding="utf-8")
    (folder / "a.txt").write_text("日本語\n", encoding="utf-8")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("[core]\n", encoding="utf-8")
    (folder / ".env").write_text("KEY=secret\n", encoding="utf-8")
    (tmp_path / "outside.txt").write_text("outside\n", encoding="utf-8")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "src" / "across.txt").symlink_to("../other/b.txt")
    return folder


@pytest.fixture(
    params=[
        "modern",
        "legacy",
        pytest.param("http", marks=pytest.mark.slow),
        pytest.param("stdio", marks=pytest.mark.slow),
    ]
)
def connect(request: pytest.FixtureRequest, root: Path) -> Connect:
    kind: str = request.param

    @asynccontextmanager
    async def open_client(*flags: str, **options: Any) -> AsyncIterator[Client]:
        if kind == "stdio":
            command = StdioServerParameters(
                command=sys.executable, args=["-P", "-c", COMMAND, "mcp", "--root", str(root), *flags]
            )
            async with Client(command, **options) as client:
                yield client
            return
        with open_workspace(str(root), Policy(), read_only="--read-only" in flags) as workspace:
            log = AuditLog(str(root))
            code = code_search(load_settings(str(root)))
            server = create_mcp_server(GuardedTools(workspace, str(root), log, code))
            if kind == "http":
                listener = listen("127.0.0.1", 0)
                with served(create_mcp_app(server, rules_for(listener), log), listener):
                    async with Client(listener.url + MCP_PATH, **options) as client:
                        yield client
            else:
                mode = "legacy" if kind == "legacy" else "auto"
                async with Client(server, mode=mode, **options) as client:
                    yield client
            log.close()
            if code is not None:
                code.close()

    return open_client


async def call(client: Client, name: str, **arguments: Any) -> Any:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    assert isinstance(result.content[0], types.TextContent)
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def refused(client: Client, name: str, **arguments: Any) -> str:
    result = await client.call_tool(name, arguments)
    assert result.is_error
    assert isinstance(result.content[0], types.TextContent)
    told = json.loads(result.content[0].text)
    assert told == result.structured_content
    assert set(told) == {"error"}
    return str(told["error"])


async def test_the_tools_and_their_results(connect: Connect, root: Path) -> None:
    async with connect() as client:
        offered = (await client.list_tools()).tools
        assert [tool.name for tool in offered] == READERS + WRITERS
        assert all(tool.input_schema["type"] == "object" for tool in offered)
        assert "asked first" not in " ".join(tool.description or "" for tool in offered)
        assert "a.txt" in (await call(client, "list", path="."))["files"]
        assert await call(client, "readFile", path="a.txt") == {"content": "日本語\n"}
        assert (await call(client, "searchInDirectory", directory=".", keyword="hello"))["files"] == [
            "other/b.txt",
            "src/main.py",
        ]
        assert await call(client, "writeFile", path="new/n.txt", content="new\n") == {"success": True}
        assert await call(client, "editFile", path="a.txt", new_content="英語\n") == {"success": True}
    assert (root / "new" / "n.txt").read_text(encoding="utf-8") == "new\n"
    assert (root / "a.txt").read_text(encoding="utf-8") == "英語\n"


async def test_mistakes_are_sentences_not_failures(connect: Connect, root: Path) -> None:
    async with connect() as client:
        assert "editFile" in await refused(client, "writeFile", path="a.txt", content="x")
        assert "writeFile" in await refused(client, "editFile", path="none.txt", new_content="x")
        assert "readFile" in await refused(client, "editFile", path="src/main.py", new_content="x")
        assert "Unknown tool" in await refused(client, "eraseDisk")
        assert "'path'" in await refused(client, "readFile")
        await refused(client, "readFile", path=7)
        await refused(client, "readFile", path="none.txt")
    assert (root / "src" / "main.py").read_text(encoding="utf-8") == "print('hello')\n"


async def test_what_is_guarded_stays_guarded(connect: Connect, root: Path) -> None:
    async with connect() as client:
        for path in ("../outside.txt", "link.txt", "/etc/passwd", ".env", ".git/config", "src/../../outside.txt"):
            sentence = await refused(client, "readFile", path=path)
            assert str(root.parent) not in sentence
        for path in ("../new.txt", ".git/hooks/pre-commit", ".nebula/x", ".vscode/settings.json", ".GIT/x", ".env.new"):
            await refused(client, "writeFile", path=path, content="x")
        hits = await call(client, "searchInDirectory", directory=".", keyword="secret")
        assert hits["files"] == []
    assert not (root.parent / "new.txt").exists()
    assert sorted(path.name for path in (root / ".git").iterdir()) == ["config"]


async def test_read_only_offers_no_writers(connect: Connect, root: Path) -> None:
    async with connect("--read-only") as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == READERS
        assert await call(client, "readFile", path="a.txt") == {"content": "日本語\n"}
        assert "read-only" in await refused(client, "writeFile", path="n.txt", content="x")
        assert "read-only" in await refused(client, "editFile", path="a.txt", new_content="x")
    assert (root / "a.txt").read_text(encoding="utf-8") == "日本語\n"
    assert not (root / "n.txt").exists()


def offering(*uris: str) -> Callable[[Any], Any]:
    async def callback(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=uri) for uri in uris])  # type: ignore[arg-type]

    return callback


async def test_roots_narrow(connect: Connect, root: Path) -> None:
    async with connect(list_roots_callback=offering((root / "src").as_uri())) as client:
        assert (await call(client, "list", path="."))["files"] == ["src/"]
        assert (await call(client, "list", path=".", recursive=True))["files"] == ["src/main.py"]
        assert (await call(client, "searchInDirectory", directory=".", keyword="hello"))["files"] == ["src/main.py"]
        await call(client, "readFile", path="src/main.py")
        await call(client, "writeFile", path="src/new.py", content="x = 1\n")
        for path in ("a.txt", "other/b.txt", "src/../a.txt", "src/across.txt"):
            assert "client offers" in await refused(client, "readFile", path=path)
        assert "client offers" in await refused(client, "writeFile", path="n.txt", content="x")
        assert "client offers" in await refused(client, "searchInDirectory", directory="other", keyword="hello")
        found = await call(client, "searchCode", query="hello from main")
        assert {chunk["path"] for chunk in found["chunks"]} == {"src/main.py"}
    assert not (root / "n.txt").exists()


def test_a_root_within_another_adds_nothing(root: Path) -> None:
    (root / "src" / "deep").mkdir()
    offered = [str(root / "src"), str(root / "src" / "deep"), str(root / "other")]
    assert folders_below(str(root), offered) == (("other",), ("src",))


def test_what_is_cut_in_an_offered_folder_is_said_to_be_cut(root: Path) -> None:
    for number in range(4):
        (root / "src" / f"{number}.txt").write_text("hello\n", encoding="utf-8")
    with open_workspace(str(root), Policy()) as inner:
        narrowed = NarrowedWorkspace(inner, str(root), (("src",),))
        listing = narrowed.list_files(".", recursive=True, max_items=2)
        assert (len(listing.files), listing.truncated, bool(listing.remark)) == (2, True, True)
        hits = narrowed.search(".", "hello", max_files=2)
        assert (len(hits.files), hits.truncated, bool(hits.remark)) == (2, True, True)
        assert not narrowed.list_files(".", recursive=True).truncated


async def test_roots_never_widen(connect: Connect, root: Path) -> None:
    async with connect(list_roots_callback=offering(root.parent.as_uri())) as client:
        assert await call(client, "readFile", path="a.txt") == {"content": "日本語\n"}
        await refused(client, "readFile", path="../outside.txt")
        await refused(client, "readFile", path=str(root.parent / "outside.txt"))
    async with connect(list_roots_callback=offering("file:///etc", "file:///home/somebody")) as client:
        await refused(client, "readFile", path="a.txt")
        await refused(client, "list", path=".")


async def test_every_call_is_audited(connect: Connect, root: Path) -> None:
    async with connect() as client:
        await call(client, "readFile", path="a.txt")
        await refused(client, "readFile", path=".env")
        await call(client, "writeFile", path="n.txt", content="x")
    lines = audited(root)
    assert [(line["method"], line["path"], line["status"]) for line in lines] == [
        ("read_file", "a.txt", 200),
        ("read_file", ".env", 400),
        ("write_file", "n.txt", 200),
    ]
    assert all(line["trace_id"] for line in lines)


def audited(root: Path) -> list[dict[str, Any]]:
    text = (root / ".nebula" / "audit.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


async def test_a_refusal_by_roots_leaves_exactly_one_line(connect: Connect, root: Path) -> None:
    elsewhere = {
        "readFile": {"path": "a.txt"},
        "list": {"path": "other"},
        "searchInDirectory": {"directory": "other", "keyword": "hello"},
        "writeFile": {"path": "n.txt", "content": "x"},
        "editFile": {"path": "a.txt", "new_content": "x"},
    }
    async with connect(list_roots_callback=offering((root / "src").as_uri())) as client:
        for number, (name, arguments) in enumerate(elsewhere.items(), start=1):
            await refused(client, name, **arguments)
            assert len(audited(root)) == number
    places = [next(iter(arguments.values())) for arguments in elsewhere.values()]
    assert [(line["path"], line["status"]) for line in audited(root)] == [(place, 400) for place in places]


async def test_a_call_over_several_roots_is_one_line(connect: Connect, root: Path) -> None:
    async with connect(list_roots_callback=offering((root / "src").as_uri(), (root / "other").as_uri())) as client:
        await call(client, "list", path=".", recursive=True)
        await call(client, "searchInDirectory", directory=".", keyword="hello")
    assert [(line["method"], line["path"], line["status"]) for line in audited(root)] == [
        ("list_files", ".", 200),
        ("search", ".", 200),
    ]


@pytest.mark.parametrize("connect", ["legacy"], indirect=True)  # newer clients give up by themselves, before they call
async def test_roots_that_are_promised_and_not_named_leave_a_line(connect: Connect, root: Path) -> None:
    async def silent(_: Any) -> types.ErrorData:
        return types.ErrorData(code=-32603, message="no")

    async with connect(list_roots_callback=silent) as client:
        assert "nothing was done" in await refused(client, "readFile", path="a.txt")
    assert [(line["path"], line["status"]) for line in audited(root)] == [("a.txt", 400)]


@pytest.fixture
def http_server(root: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", COMMAND, "mcp", "--root", str(root), "--http", "0"],
        stdout=subprocess.PIPE,
        env={**os.environ, "EC_TOKEN": "s3cret"},
        text=True,
        encoding="utf-8",
    )
    yield process
    process.kill()
    process.communicate()


@pytest.mark.slow
async def test_http_asks_for_the_token_and_refuses_strangers(http_server: subprocess.Popen[str]) -> None:
    assert http_server.stdout is not None
    url = http_server.stdout.readline().strip()
    assert url.startswith("http://127.0.0.1:") and url.endswith("/mcp")
    async with httpx2.AsyncClient(headers={"authorization": "Bearer s3cret"}, timeout=60) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            assert await call(client, "readFile", path="a.txt") == {"content": "日本語\n"}
        foreign = {"content-type": "application/json", "origin": "http://evil.example"}
        assert (await http.post(url, content=b"{}", headers=foreign)).status_code == 403
        assert (await http.post(url, content=b"{}", headers={"host": "evil.example"})).status_code == 403
    async with httpx2.AsyncClient(timeout=60) as http:
        assert (await http.post(url, content=b"{}")).status_code == 401
    http_server.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(http_server.wait, 60) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGHUP, 0), (None, 0)])
def test_stdio_ends_when_asked_to(root: Path, number: signal.Signals | None, code: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", COMMAND, "mcp", "--root", str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stdin is not None and process.stdout is not None
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n")
    process.stdin.flush()
    assert '"result"' in process.stdout.readline()
    if number is not None:
        process.send_signal(number)
        assert process.wait(60) == code
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code
    assert errors == ""
