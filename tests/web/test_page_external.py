"""A question about a tool of an MCP server, on the page. Real browser, real servers."""

from __future__ import annotations

import json
import sys

import pytest
from playwright.async_api import expect

from conversation_rig import serving
from page_rig import agree, browsing, send
from scripted_model import Call, ScriptedModel, Turn

pytestmark = pytest.mark.slow

NOTES = '''
from mcp.server import MCPServer

server = MCPServer("notes")

@server.tool()
def add(text: str) -> str:
    """Adds a note."""
    return "added"

server.run()
'''


async def test_a_call_of_an_mcp_server_is_asked_about_with_what_it_is_given(bench, tmp_path):
    (tmp_path / "notes.py").write_text(NOTES, "utf-8")
    (bench.home / ".nebula").mkdir(exist_ok=True)
    entry = {"command": sys.executable, "args": [str(tmp_path / "notes.py")]}
    (bench.home / ".nebula" / "config.json").write_text(json.dumps({"mcp_servers": {"notes": entry}}), "utf-8")
    script = [Turn("I'll note it.", [Call("notes__add", {"text": "milk & <b>eggs</b>"})]), Turn("Noted.")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server) as page:
            await send(page, "note milk")
            question = page.locator(".question")
            await expect(question).to_contain_text("Call notes__add with:")
            await expect(question).to_contain_text('"text": "milk & <b>eggs</b>"')
            await expect(question.locator("b")).to_have_count(0)
            await agree(page)
            await expect(page.locator("#transcript")).to_contain_text("Noted.")
    assert "added" in str(model.turns[1].json["messages"])
