"""Every call of a tool leaves exactly one line in the audit log, however it ends."""

import asyncio
import json

import pytest

from nebula.messages import AssistantToolUse
from nebula.messages.redaction import Redactor
from nebula.tools.approval import Approvals, Decision, allow_all
from nebula.tools.contract import Call
from nebula.tools.declaration import Checks, ToolKit
from nebula.tools.ledger import ReadLedger
from nebula.tools.registry import agent_tools, mcp_tools, plan_tools
from nebula.tools.toolset import CallAudit
from nebula.workspace import open_workspace
from nebula.workspace.audit import AuditLog

KEY = "sk-live-0123456789abcdef"


async def refuse(_):
    return Decision(False)


class Audited:
    def __init__(self, root, approver=allow_all, kind="agent", log=None, after_change=()):
        self.root = root
        log = log or AuditLog(str(root))
        audit = CallAudit(log, "trace-1", Redactor([KEY]).text)
        workspace = open_workspace(str(root), read_only=kind == "plan")
        kit = ToolKit(workspace, ReadLedger(), Checks(("true",), str(root)), lambda _: None, kind == "plan")
        self.tools = {
            "agent": lambda: agent_tools(kit, Approvals(approver), audit=audit, after_change=after_change),
            "plan": lambda: plan_tools(kit, audit=audit),
            "mcp": lambda: mcp_tools(kit, audit=audit),
        }[kind]()

    def run(self, tool, invalid=None, **args):
        use = AssistantToolUse("call_1", tool, tool, args, args)
        return asyncio.run(self.tools.run(Call(use, peers=[use], invalid=invalid)))

    @property
    def lines(self):
        return [json.loads(line) for line in (self.root / ".nebula/audit.jsonl").read_text().splitlines()]


@pytest.fixture
def project(tmp_path):
    (tmp_path / "a.txt").write_text("あ\n")
    return tmp_path


def of(audited):
    return [(line["method"], line["path"], line["size"], line["status"]) for line in audited.lines]


@pytest.mark.parametrize(
    ("tool", "args", "line"),
    [
        ("list", {"path": "."}, ("list_files", ".", None, 200)),
        ("readFile", {"path": "a.txt"}, ("read_file", "a.txt", 4, 200)),
        ("readFile", {"path": "../x"}, ("read_file", "../x", None, 400)),
        ("readFile", {"path": "none"}, ("read_file", "none", None, 404)),
        ("readFile", {}, ("read_file", "", None, 422)),
        ("searchInDirectory", {"directory": ".", "keyword": "あ"}, ("search", ".", None, 200)),
        ("writeFile", {"path": "b.txt", "content": "x"}, ("write_file", "b.txt", 1, 200)),
        ("writeFile", {"path": "a.txt", "content": "x"}, ("write_file", "a.txt", None, 409)),
        ("writeFile", {"path": ".git/config", "content": "x"}, ("write_file", ".git/config", None, 400)),
        ("editFile", {"path": "none", "new_content": "x"}, ("write_file", "none", None, 404)),
        ("editFile", {"path": "a.txt", "new_content": "x"}, ("write_file", "a.txt", None, 409)),
        ("runCheck", {"name": "true"}, ("run_check", "true", None, 200)),
        ("readNode", {"id": "none"}, ("read_node", "none", None, 404)),
        ("unknown", {"path": "p"}, ("unknown", "p", None, 404)),
    ],
)
def test_one_call_one_line(project, tool, args, line):
    audited = Audited(project)
    audited.run(tool, **args)
    assert of(audited) == [line]
    assert [list(each) for each in audited.lines] == [["ts", "trace_id", "method", "path", "size", "status"]]


def test_a_change_that_cannot_be_recorded_is_not_made(project):
    audited = Audited(project, log=AuditLog("", "/dev/full"))
    outcome = audited.run("writeFile", path="b.txt", content="x")
    assert outcome.changes == () and "audit" in str(outcome.content)
    assert not (project / "b.txt").exists()


def test_an_edit_is_one_line(project):
    audited = Audited(project)
    audited.run("readFile", path="a.txt")
    audited.run("editFile", path="a.txt", edits=[{"old_text": "あ", "new_text": "い"}])
    assert of(audited) == [("read_file", "a.txt", 4, 200), ("write_file", "a.txt", 4, 200)]


def test_a_refusal_a_forged_call_and_one_that_cannot_be_read_are_one_line_each(project):
    audited = Audited(project, refuse)
    audited.run("writeFile", path="b.txt", content="x")
    audited.run("readFile", invalid="The arguments are no JSON.", path="a.txt")
    Audited(project, kind="plan").run("writeFile", path="b.txt", content="x")
    Audited(project, kind="mcp").run("readNode", id="n")
    assert of(audited) == [
        ("write_file", "b.txt", None, 403),
        ("read_file", "a.txt", None, 422),
        ("write_file", "b.txt", None, 403),
        ("read_node", "n", None, 404),
    ]


def test_a_call_that_is_given_up_is_one_line(project):
    asked = asyncio.Event()

    async def never(_):
        asked.set()
        await asyncio.Event().wait()

    audited = Audited(project, never)

    async def cancelled():
        args = {"path": "b.txt", "content": "x"}
        use = AssistantToolUse("call_1", "writeFile", "writeFile", args, args)
        task = asyncio.create_task(audited.tools.run(Call(use, peers=[use])))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert of(audited) == [("write_file", "b.txt", None, 499)]


def test_a_write_is_recorded_as_made_though_it_is_given_up_while_others_hear_of_it(project):
    async def given_up(change, call):
        raise asyncio.CancelledError

    audited = Audited(project, after_change=[given_up])
    with pytest.raises(asyncio.CancelledError):
        audited.run("writeFile", path="b.txt", content="x")
    assert of(audited) == [("write_file", "b.txt", 1, 200)]


def test_a_key_used_as_a_path_is_not_recorded(project):
    audited = Audited(project)
    audited.run("readFile", path=f"notes/{KEY}.txt")
    audited.run(KEY, path="a.txt")
    assert KEY not in (project / ".nebula/audit.jsonl").read_text()
    assert [line["path"] for line in audited.lines] == ["notes/[redacted].txt", "a.txt"]


def test_a_log_that_cannot_be_written_is_no_success(project):
    place = project / "kept" / "audit.jsonl"
    audited = Audited(project, log=AuditLog("", str(place)))
    place.unlink()
    place.mkdir()
    outcome = audited.run("writeFile", path="b.txt", content="x")
    assert "audit log" in outcome.content[0].value["error"]
    assert outcome.changes == ()
    assert not (project / "b.txt").exists()
