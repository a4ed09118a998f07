"""`/name ARGUMENTS` over the socket: commands from Markdown files and prompts of MCP servers."""

from __future__ import annotations

import json
import sys
from contextlib import asynccontextmanager

import pytest

from conversation_rig import Failed, serving, talk
from scripted_model import ScriptedModel

pytestmark = pytest.mark.slow

NOTES = '''
from mcp.server import MCPServer

server = MCPServer("notes")

@server.prompt()
def review(path: str, how: str = "") -> str:
    """Reviews a file."""
    return f"Review {path} {how}".strip()

server.run()
'''


@asynccontextmanager
async def asking(bench, *args):
    with ScriptedModel([]) as model, serving(bench, "nebula", *args, **model.env()) as server:
        async with talk(server) as client:
            yield client
        server.stop()
        assert all(b"not trusted" in line for line in server.errors)
        server.errors.clear()


async def prompt_of(client, text):
    return (await client.ask("expand_command", text=text))["data"]["prompt"]


async def refused(client, text):
    with pytest.raises(Failed) as failed:
        await client.ask("expand_command", text=text)
    return str(failed.value)


def own_command(bench, name, text):
    folder = bench.home / ".nebula" / "commands"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text, "utf-8")


async def test_commands_of_files_are_listed_and_expanded(bench):
    own_command(bench, "fix", "---\ndescription: Repairs a file\n---\nRepair $1, and nothing but $1.")
    own_command(bench, "plan", "a word of the terminal")
    bench.write(".nebula/commands/team/ship.md", "Ship it.")
    bench.write(".nebula/commands/fix.md", "the project's does not replace the user's")
    async with asking(bench, "--trust") as client:
        found = (await client.ask("list_commands"))["data"]
        names = [(each["name"], each["about"], each["owner"]) for each in found["commands"]]
        assert names == [("fix", "Repairs a file", "user"), ("team:ship", "Ship it.", "project")]
        assert await prompt_of(client, "/fix 'a b.py'") == "Repair a b.py, and nothing but a b.py."
        assert await prompt_of(client, "/team:ship now\nplease") == "Ship it.\n\nnow\nplease"
        for text in ("no command", "/usr/bin/env is where?", " /fix"):
            assert await prompt_of(client, text) == text
        assert "did you mean /fix?" in await refused(client, "/fixx a.py")
        assert "There is no command /nonsense; it was not sent" in await refused(client, "/nonsense\na.py")
        assert "/plan is a command of the terminal" in await refused(client, "/plan all of it")


async def test_a_project_that_is_not_trusted_brings_no_command(bench):
    bench.write(".nebula/commands/ship.md", "Ship it.")
    async with asking(bench) as client:
        assert (await client.ask("list_commands"))["data"]["commands"] == []
        assert "no command /ship" in await refused(client, "/ship")
        await client.ask("hello", lang="ja")
        assert "コマンド /ship はありません" in await refused(client, "/ship")


async def test_prompts_of_mcp_servers_are_commands(bench, tmp_path):
    (tmp_path / "notes.py").write_text(NOTES, "utf-8")
    (bench.home / ".nebula").mkdir(exist_ok=True)
    entry = {"command": sys.executable, "args": [str(tmp_path / "notes.py")]}
    broken = {"command": str(tmp_path / "missing")}
    settings = {"mcp_servers": {"notes": entry, "broken": broken}}
    (bench.home / ".nebula" / "config.json").write_text(json.dumps(settings), "utf-8")
    async with asking(bench) as client:
        assert (await client.ask("list_commands"))["data"]["commands"] == []  # nothing was started for that
        found = (await client.ask("list_commands", servers=True))["data"]
        assert found["commands"] == [
            {"name": "notes__review", "about": "Reviews a file.", "usage": "path [how]", "owner": "server"}
        ]
        assert len(found["problems"]) == 1 and "broken" in found["problems"][0]
        assert await prompt_of(client, "/notes__review a.py how=strictly") == "Review a.py strictly"
        assert "/notes__review path [how]" in await refused(client, "/notes__review")
        assert "broken" in await refused(client, "/broken__do it")
