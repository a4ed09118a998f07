"""A whole turn with the real tools over a real folder: what a turn may claim, and what its records hold."""

import asyncio
import json

import pytest

from nebula.agent.loop import Turn
from nebula.events import EventStream
from nebula.llm.replay import ReplayModel
from nebula.tools.approval import Approvals, allow_all
from nebula.tools.declaration import Checks, ToolKit
from nebula.tools.ledger import ReadLedger
from nebula.tools.registry import agent_tools
from nebula.tools.toolset import CallAudit
from nebula.workspace import Policy, open_workspace
from nebula.workspace.audit import AuditLog
from plain_turn import run_turn

WRITE = {"name": "writeFile", "args": {"path": "a.txt", "content": "x\n"}}
EDIT = {"name": "editFile", "args": {"path": "a.txt", "edits": [{"old_text": "x", "new_text": "y"}]}}
CHECK = {"name": "runCheck", "args": {"name": "true"}}
FAIL = {"name": "runCheck", "args": {"name": "false"}}


def run(root, *calls, allowed=(), answer="Done."):
    told = []
    stream = EventStream("s", audience=(told.append,))
    workspace = open_workspace(str(root), Policy(allowed=frozenset(allowed)))
    kit = ToolKit(workspace, ReadLedger(), Checks(("true", "false"), str(root), 10))
    audit = CallAudit(AuditLog(str(root)), stream.trace_id, stream.redactor.text)
    tools = agent_tools(kit, Approvals(allow_all), audit=audit)
    replies = [{"text": "", "tool_calls": [call]} for call in calls] + [{"text": answer}]
    turn = Turn(stream, ReplayModel(replies), "m", "system", [], tools)
    final = asyncio.run(run_turn(turn))
    return final, told, turn


@pytest.mark.parametrize(
    ("calls", "checks"),
    [
        ((WRITE, CHECK), [("true", True)]),
        ((WRITE, CHECK, EDIT), []),
        ((WRITE, CHECK, EDIT, CHECK), [("true", True)]),
        ((WRITE, CHECK, FAIL), [("true", True), ("false", False)]),
        ((WRITE, FAIL, EDIT, CHECK), [("true", True)]),
    ],
)
def test_a_turn_is_verified_only_by_checks_after_its_last_change(tmp_path, calls, checks):
    final, _, _ = run(tmp_path, *calls)
    assert [(check.name, check.passed) for check in final.checks] == checks


def test_what_was_read_from_a_secret_file_is_in_no_record(tmp_path):
    (tmp_path / ".env").write_text("PASSWORD=correct-horse-battery\n")
    read = {"name": "readFile", "args": {"path": ".env"}}
    strange = {"name": "readFile", "args": {"path": "correct-horse-battery"}}
    final, told, turn = run(tmp_path, read, strange, allowed=[".env"], answer="It is correct-horse-battery.")
    assert "correct-horse-battery" in str([message.to_json() for message in turn.history])  # the model has seen it
    assert "correct-horse-battery" not in json.dumps([stamped.to_json() for stamped in told])
    assert "correct-horse-battery" not in (tmp_path / ".nebula/audit.jsonl").read_text()
    assert final.status == "ok"
