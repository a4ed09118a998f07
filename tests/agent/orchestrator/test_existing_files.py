"""A file that is in the way is shown whole or not at all, and counts as read only where it was shown."""

from __future__ import annotations

import pytest

from nebula.agent.orchestrator.tool_steps import CONFLICT, ShowsExisting
from nebula.messages import AssistantToolUse, Json
from nebula.tools.approval import Approvals, allow_all
from nebula.tools.contract import Call
from nebula.tools.declaration import ToolKit
from nebula.tools.ledger import ReadLedger
from nebula.tools.registry import agent_tools
from nebula.workspace import Policy, open_workspace


async def attempt(root, path, *, content="new\n", room=1000, tool="writeFile", allowed=()):
    files, ledger = open_workspace(str(root), Policy(allowed=frozenset(allowed))), ReadLedger()
    tools = ShowsExisting(agent_tools(ToolKit(files, ledger), Approvals(allow_all, "yes")), files, ledger)
    args = {"path": path, "content" if tool == "writeFile" else "new_content": content}
    use = AssistantToolUse("1", tool, tool, args, args)
    outcome = await tools.run(Call(use, peers=(use,), room=room))
    shown = [
        block.value["content"] for block in outcome.content if isinstance(block, Json) and "content" in block.value
    ]
    return outcome, shown, ledger, files


async def test_a_file_in_the_way_is_shown_and_counts_as_read(tmp_path):
    (tmp_path / "a.txt").write_text("old\n")
    outcome, shown, ledger, files = await attempt(tmp_path, "a.txt")
    assert (outcome.code, shown) == (CONFLICT, ["old\n"])
    assert ledger.knows("a.txt", files.read_file("a.txt").sha256)


@pytest.mark.parametrize(("size", "is_shown"), [(500, True), (501, False)])
async def test_one_too_large_for_half_of_the_room_is_not_shown_and_was_not_read(tmp_path, size, is_shown):
    (tmp_path / "a.txt").write_text("x" * size)
    outcome, shown, ledger, files = await attempt(tmp_path, "a.txt")
    assert (outcome.code, bool(shown)) == (CONFLICT, is_shown)
    assert ledger.knows("a.txt", files.read_file("a.txt").sha256) is is_shown


async def test_a_secret_one_is_not_shown_though_it_may_be_written(tmp_path):
    (tmp_path / ".env").write_text("KEY=secret-value\n")
    outcome, shown, ledger, files = await attempt(tmp_path, ".env", allowed=[".env"])
    assert (outcome.code, shown) == (CONFLICT, [])
    assert "secret-value" not in str(outcome) and not ledger.knows(".env", files.read_file(".env").sha256)


async def test_one_that_may_not_be_read_is_not_shown(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"\xff\x00")
    _, shown, _, _ = await attempt(tmp_path, "a.bin")
    assert shown == []


async def test_only_a_new_file_that_is_in_the_way_of_another_is_shown(tmp_path):
    (tmp_path / "a.txt").write_text("old\n")
    outcome, shown, *_ = await attempt(tmp_path, "a.txt", tool="editFile")
    assert (outcome.code, shown) == (CONFLICT, [])  # not read: the model is told to read it
    outcome, shown, *_ = await attempt(tmp_path, "b.txt")
    assert (outcome.code, shown) == (200, [])
