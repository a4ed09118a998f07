"""Five MCP servers of others, used as a session uses them, and the official inspector on `nebula mcp`.

    .venv/bin/python scripts/real_servers.py [FOLDER]

They are installed by npm and pip into FOLDER (about 260 MB; a temporary folder unless given, which is then removed) and
never into the project. Prints one line a check; the exit code is 0 where all passed.
"""

from __future__ import annotations

import asyncio
import http.server
import json
import subprocess
import sys
import tempfile
import threading
import venv
from collections.abc import Callable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from nebula.messages import AssistantToolUse
from nebula.tools.approval import Approvals, allow_all
from nebula.tools.contract import Call, Outcome
from nebula.tools.external.configured import ExternalServer
from nebula.tools.external.servers import ExternalServers
from nebula.tools.toolset import ToolSet

NPM = (
    "inspector@2.12.0",
    "server-everything@2026.8.31",
    "server-filesystem@2026.8.31",
    "server-memory@2026.8.31",
)
PYPI = ("mcp-server-git==2026.10.19", "mcp-server-fetch==2026.10.24")
NEBULA = [sys.executable, "-c", "import sys; from nebula.cli.nebula import main; sys.exit(main())", "mcp"]
failures: list[str] = []


def check(what: str, passed: bool, found: object = "") -> None:
    print(f"{'✓' if passed else '✗'} {what}" + ("" if passed else f": {str(found)[:300]}"), flush=True)
    if not passed:
        failures.append(what)


def install(folder: Path) -> None:
    if not (folder / "node_modules").exists():
        (folder / "package.json").write_text("{}", encoding="utf-8")
        packages = [f"@modelcontextprotocol/{name}" for name in NPM]
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", *packages], cwd=folder, check=True)
    if not (folder / "venv").exists():
        venv.create(folder / "venv", with_pip=True)
        subprocess.run([folder / "venv/bin/python", "-m", "pip", "install", "--quiet", *PYPI], check=True)


class Used:
    """One server in use."""

    def __init__(self, name: str, *command: str | Path) -> None:
        program, *args = map(str, command)
        self.name = name
        self.servers = ExternalServers([ExternalServer(name, program, tuple(args))])
        self.shown: list[str] = []

    async def __aenter__(self) -> Used:
        check(f"{self.name} starts", (problems := await self.servers.open()) == [], problems)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.servers.close()

    async def call(self, tool: str, **args: Any) -> Outcome:
        tools = ToolSet(self.servers.tools(Approvals(allow_all, "yes"), plan=False))
        name = f"{self.name}__{tool}"
        use = AssistantToolUse("1", name, name, args, args)
        return await tools.run(Call(use, show=lambda event: self.shown.append(str(event.sentence))))  # type: ignore[attr-defined]

    async def expect(self, tool: str, holds: Callable[[str, Outcome], bool], **args: Any) -> None:
        outcome = await self.call(tool, **args)
        said = "\n".join(block.as_text() for block in outcome.content)
        check(f"{self.name}__{tool}", holds(said, outcome), said)


def says(words: str) -> Callable[[str, Outcome], bool]:
    return lambda said, outcome: words in said and outcome.status.value == "Success"


def fails(said: str, outcome: Outcome) -> bool:
    return outcome.status.value == "Error" and bool(said)


async def use_everything(script: Path) -> None:
    async with Used("everything", "node", script) as server:
        await server.expect("echo", says("hello"), message="hello")
        await server.expect("get-tiny-image", lambda _, outcome: len(outcome.images) == 1)
        await server.expect("get-structured-content", says("temperature"), location="New York")
        await server.expect("get-resource-links", says("a resource: "), count=2)
        await server.expect("trigger-long-running-operation", says("completed"), duration=2, steps=4)
        check("everything reports progress", any("/4" in each for each in server.shown), server.shown)
        await server.expect("readResource", says("://"))
        listed = (await server.call("readResource")).content[0].as_text()
        await server.expect("readResource", lambda _, outcome: outcome.code == 200, uri=listed.split()[0])
        await server.expect("readResource", fails, uri="nobody://nothing")
        prompts = server.servers.prompts()
        check("everything has prompts", "everything__simple-prompt" in prompts, list(prompts))
        check("everything's prompt says something", bool(await prompts["everything__simple-prompt"].ask({})))


async def use_files(script: Path, place: Path) -> None:
    (place / "a.txt").write_text("of a file\n", encoding="utf-8")
    async with Used("filesystem", "node", script, place) as server:
        await server.expect("list_directory", says("a.txt"), path=str(place))
        await server.expect("read_text_file", says("of a file"), path=str(place / "a.txt"))
        await server.expect("read_text_file", fails, path="/etc/hostname")


async def use_memory(script: Path) -> None:
    async with Used("memory", "node", script) as server:
        entity = {"name": "nebula", "entityType": "agent", "observations": ["it remembers"]}
        await server.expect("create_entities", says("nebula"), entities=[entity])
        await server.expect("search_nodes", says("it remembers"), query="nebula")
        await server.expect("delete_entities", says(""), entityNames=["nebula"])


def make_repository(place: Path) -> None:
    git = ["git", "-C", str(place), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "init", "--quiet", place], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "the first one"], check=True)


async def use_git(program: Path, place: Path) -> None:
    async with Used("git", program) as server:
        await server.expect("git_log", says("the first one"), repo_path=str(place))
        await server.expect("git_status", says("a.txt"), repo_path=str(place))
        await server.expect("git_log", fails, repo_path="/nowhere")


@contextmanager
def page() -> Any:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<html><body><h1>A page</h1><p>with words</p></body></html>")

        def log_message(self, *_: Any) -> None:
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


async def use_fetch(program: Path) -> None:
    with page() as url:
        async with Used("fetch", program, "--ignore-robots-txt", "--allow-private-ips") as server:
            await server.expect("fetch", says("A page"), url=url)
            await server.expect("fetch", fails, url="http://127.0.0.1:9/")


def inspect(script: Path, place: Path) -> None:
    """Have the official inspector look at `nebula mcp`, each method in a process of its own."""
    asked: list[tuple[list[str], Callable[[Any], bool]]] = [
        (["tools/list"], lambda found: [each["name"] for each in found["tools"]][:2] == ["list", "readFile"]),
        (
            ["tools/call", "--tool-name", "readFile", "--tool-arg", "path=a.txt"],
            lambda found: not found["isError"] and found["structuredContent"] == {"content": "of a file\n"},
        ),
        (["tools/call", "--tool-name", "readFile", "--tool-arg", "path=../x"], lambda found: found["isError"]),
        (["resources/list"], lambda found: found == {"resources": []}),
        (["resources/templates/list"], lambda found: len(found["resourceTemplates"]) == 2),
        (
            ["resources/read", "--uri", "nebula://files/a.txt"],
            lambda found: found["contents"][0]["text"] == "of a file\n",
        ),
    ]
    for words, holds in asked:
        line = [script, "--cli", *NEBULA, "--root", str(place), "--method", *words]
        ran = subprocess.run(line, capture_output=True, text=True, encoding="utf-8")
        found: Any = None
        with suppress(ValueError):
            found = json.loads(ran.stdout)
        # A tool's error is a good answer, and for the inspector a reason to end with another code.
        ended_well = ran.returncode == 0 or (isinstance(found, dict) and found.get("isError"))
        passed = bool(ended_well and isinstance(found, dict) and holds(found))
        check(f"inspector: {' '.join(words)}", passed, ran.stdout + ran.stderr)


async def use_all(folder: Path, place: Path) -> None:
    scripts = folder / "node_modules/@modelcontextprotocol"
    await use_everything(scripts / "server-everything/dist/index.js")
    await use_files(scripts / "server-filesystem/dist/index.js", place)
    await use_memory(scripts / "server-memory/dist/index.js")
    await use_git(folder / "venv/bin/mcp-server-git", place)
    await use_fetch(folder / "venv/bin/mcp-server-fetch")


def main() -> int:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        install(folder)
        place = Path(temporary) / "project"
        place.mkdir()
        make_repository(place)
        asyncio.run(use_all(folder, place))
        inspect(folder / "node_modules/.bin/mcp-inspector", place)
    print(f"{len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
