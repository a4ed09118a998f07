"""Settings of other agents are shown, asked about, and taken over without their keys."""

import json

import pytest

from in_process import run_here

KEY = "sk-proj-abcdefghijklmnopqrstuvwx1234567890"


@pytest.fixture
def claude(bench):
    odd = {"a__b": {"command": "x"}, "": {"command": "x"}, "none": {}, "not": 7}
    servers = {
        **odd,
        "notes": {"url": "", "command": "notes", "args": ["-v"], "env": {"NOTES_TOKEN": KEY, "MODE": "fast"}},
    }
    (bench.home / ".claude.json").write_text(json.dumps({"mcpServers": servers, "projects": []}))
    folder = bench.home / ".claude"
    folder.mkdir()
    allowed = {"permissions": {"allow": ["WebFetch(domain:docs.example.org)", "Bash(rm:*)"]}}
    (folder / "settings.json").write_text(json.dumps(allowed))
    (folder / "CLAUDE.md").write_text("Be brief.")
    return bench


def config_of(bench):
    return json.loads((bench.home / ".nebula/config.json").read_text())


def test_shown_and_not_taken_where_nobody_agrees(claude):
    ran = run_here(claude, "nebula", "import", "settings", "claude")
    assert ran.code == 2 and "MCP server notes" in ran.out and "docs.example.org" in ran.out
    assert KEY not in ran.out + ran.err and not (claude.home / ".nebula/config.json").exists()


def test_taken_over_without_keys(claude):
    ran = run_here(claude, "nebula", "import", "settings", "claude", "--yes")
    assert ran.code == 0 and "NOTES_TOKEN" in ran.err
    held = config_of(claude)
    entry = {"command": "notes", "args": ["-v"], "env": {"NOTES_TOKEN": "${NOTES_TOKEN}", "MODE": "fast"}}
    assert held == {"mcp_servers": {"notes": entry}, "sandbox_network": ["docs.example.org"]}
    assert (claude.home / ".nebula/AGENTS.md").read_text() == "Be brief.\n"
    again = run_here(claude, "nebula", "import", "settings", "claude", "--yes")
    assert again.code == 0 and "nothing to take over" in again.err and config_of(claude) == held


def test_where_there_is_nothing_it_does_not_say_that_all_is_here(bench):
    ran = run_here(bench, "nebula", "import", "settings", "codex")
    assert ran.code == 0 and ran.err == "Nothing that could be taken over is among the settings of codex.\n"


def test_codex(bench):
    folder = bench.home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(
        '[mcp_servers.docs]\nurl = "https://e.org/mcp"\n[mcp_servers.docs.http_headers]\nAuthorization = "Bearer abc"\n'
    )
    run_here(bench, "nebula", "import", "settings", "codex", "--yes")
    entry = {"url": "https://e.org/mcp", "headers": {"Authorization": "Bearer ${AUTHORIZATION}"}}
    assert config_of(bench)["mcp_servers"] == {"docs": entry}


def test_what_makes_no_sense_does_no_harm(bench):
    (bench.home / ".claude.json").write_text('{"mcpServers": [1], "projects": {"x": 3}')
    assert run_here(bench, "nebula", "import", "settings", "claude", "--yes").code == 0
    assert run_here(bench, "nebula", "import", "settings", "emacs").code == 64
