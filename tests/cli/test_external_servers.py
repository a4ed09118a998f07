"""nebula mcp add | remove | list | test, and what a project's .mcp.json brings along."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import Bench
from in_process import run_here


def servers(bench: Bench) -> Any:
    return json.loads((bench.home / ".nebula" / "config.json").read_text()).get("mcp_servers")


def test_servers_are_added_changed_and_removed_in_the_users_own_file(bench: Bench) -> None:
    (bench.home / ".nebula").mkdir(exist_ok=True)
    (bench.home / ".nebula" / "config.json").write_text('{"lang": "en"}')
    ran = run_here(bench, "nebula", "mcp", "add", "notes", "--env", "KEY=${NOTES}", "--", "npx", "notes", "--env", "x")
    assert ran.code == 0 and "notes was added to" in ran.out and "nebula mcp test notes" in ran.out
    assert servers(bench) == {"notes": {"command": "npx", "args": ["notes", "--env", "x"], "env": {"KEY": "${NOTES}"}}}
    wiki = ("https://wiki.example/mcp", "--header", "Authorization: Bearer ${T}", "--reads", "find", "--timeout", "5")
    assert run_here(bench, "nebula", "mcp", "add", "wiki", *wiki).code == 0
    assert servers(bench)["wiki"] == {
        "url": "https://wiki.example/mcp",
        "headers": {"Authorization": "Bearer ${T}"},
        "read_only": ["find"],
        "timeout_s": 5.0,
    }
    assert "notes was changed" in run_here(bench, "nebula", "mcp", "add", "notes", "notes-server").out
    listed = run_here(bench, "nebula", "mcp", "list").out
    assert "notes-server" in listed and "https://wiki.example/mcp" in listed and "Bearer" not in listed
    assert run_here(bench, "nebula", "mcp", "list", "--json").json[0]["name"] == "notes"
    assert run_here(bench, "nebula", "mcp", "remove", "notes").code == 0
    assert list(servers(bench)) == ["wiki"]
    assert run_here(bench, "nebula", "mcp", "remove", "notes").code == 64
    assert json.loads((bench.home / ".nebula" / "config.json").read_text())["lang"] == "en"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add", "notes"], "say what to start or where it is"),
        (["add", "a__b", "x"], "a server's name has letters"),
        (["add", "a", "x", "--env", "KEY"], "--env: expected NAME=VALUE"),
        (["add", "a", "x", "--header", "A: b"], "--header goes with an address"),
        (["add", "a", "https://x", "y"], "takes neither arguments nor --env"),
        (["test", "nobody"], "there is no MCP server nobody"),
    ],
)
def test_what_makes_no_sense_is_said_and_changes_nothing(bench: Bench, words: list[str], said: str) -> None:
    ran = run_here(bench, "nebula", "mcp", *words)
    assert ran.code == 64 and said in ran.err and "Traceback" not in ran.err
    assert not (bench.home / ".nebula" / "config.json").exists()


def test_without_any_it_says_how_to_add_one(bench: Bench) -> None:
    assert "nebula mcp add NAME -- COMMAND" in run_here(bench, "nebula", "mcp", "list").out


@pytest.mark.slow
def test_a_server_is_tried_out(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(
        "from mcp.server import MCPServer\nserver = MCPServer('s')\n"
        "@server.tool()\ndef look() -> str:\n    return ''\n"
        "@server.prompt()\ndef ask(who: str) -> str:\n    return 'Ask ' + who\nserver.run()\n"
    )
    run_here(bench, "nebula", "mcp", "add", "s", "--", sys.executable, str(tmp_path / "server.py"))
    ran = run_here(bench, "nebula", "mcp", "test")
    assert ran.code == 0 and "✓ s        s__look" in ran.out and "prompts: s__ask" in ran.out
    run_here(bench, "nebula", "mcp", "add", "gone", "--", "no-such-program")
    ran = run_here(bench, "nebula", "mcp", "test")
    assert ran.code == 1 and "gone cannot be used: no-such-program is not installed" in ran.out and "✓ s" in ran.out
    assert run_here(bench, "nebula", "mcp", "test", "s").code == 0


def test_a_projects_shared_file_is_listed_once_it_is_trusted(bench: Bench) -> None:
    shared = {"mcpServers": {"theirs": {"type": "stdio", "command": "run-me", "args": ["${HOME}"], "disabled": False}}}
    (bench.project / ".mcp.json").write_text(json.dumps(shared))
    bench.write(".nebula/commands/greet.md", "Greet.")
    ran = run_here(bench, "nebula", "mcp", "list")
    assert "skills and commands" not in ran.err, "they have nothing to do with servers"
    assert "run-me" not in ran.out and "MCP servers are not started: its folder is not trusted" in ran.err
    assert (
        ran.err.rstrip().endswith("add --trust.")
        and "run-me" in run_here(bench, "nebula", "mcp", "list", "--trust").out
    )
    ran = run_here(bench, "nebula", "mcp", "list", NEBULA_TRUST="1")
    assert "run-me ${HOME}" in ran.out and ".mcp.json" in ran.out, "a project is given nothing of the environment"
