"""One declaration feeds everybody: the agent, plan mode, MCP, the dialect, the ledger."""

import asyncio
import json
import time

import pytest
from tests.tools.test_tools import Answers, Desk, put

from nebula.config import load_settings
from nebula.llm.dialect.tools import make_offer
from nebula.messages import AssistantToolUse, snake_case
from nebula.tools.approval import Approvals, Decision, allow_all
from nebula.tools.code.code_index import code_search
from nebula.tools.contract import Call
from nebula.tools.declaration import Checks, ToolKit
from nebula.tools.ledger import ReadLedger
from nebula.tools.registry import TOOLS, agent_tools, mcp_tools, plan_tools
from nebula.value import replace
from nebula.workspace import open_workspace


def kit(root, read_only=False):
    workspace = open_workspace(str(root), read_only=read_only)
    code = code_search(load_settings(str(root)))
    return ToolKit(workspace, ReadLedger(), Checks(("true",), str(root)), lambda _: None, read_only, code=code)


def test_names_and_built_tools_agree(tmp_path):
    tools = agent_tools(kit(tmp_path), Approvals(allow_all))
    lacking = ("runCommand", "delegate", "useSkill")  # this kit has no layers, session and skills for them
    named = [tool.name for tool in TOOLS if tool.name not in lacking]
    assert named == [spec.name for spec in tools.specs] == list(tools.tools)


OFFERED = """
list               plan mcp  path recursive?
readFile           plan mcp  path start_line? end_line?
searchInDirectory  plan mcp  directory keyword
searchCode         plan mcp  query top_k? path_prefix?
writeFile          mcp       path content
editFile           mcp       path edits? new_content?
runCommand         plan
runCheck                     name
readNode           plan      id
whyLines           plan      path start_line end_line
todo                         items
fetchUrl           plan      url
delegate           plan
useSkill           plan
"""
"""Every tool: who offers it beside the agent, and its arguments; `?` marks those that a call may leave out."""


def row_of(tool, specs):
    doors = "plan " * tool.in_plan + "mcp" * tool.over_mcp
    spec = specs.get(tool.name)
    arguments = spec.parameters["properties"] if spec else ()
    marked = [name if name in spec.parameters["required"] else f"{name}?" for name in arguments]
    return f"{tool.name:18} {doors:9} {' '.join(marked)}".rstrip()


def test_the_tools_are_our_interface(tmp_path):
    specs = {spec.name: spec for spec in agent_tools(kit(tmp_path), Approvals(allow_all)).specs}
    rows = [row_of(tool, specs) for tool in TOOLS]
    assert rows == OFFERED.strip().splitlines(), "a new tool has its row in OFFERED"
    for spec in specs.values():
        assert len(spec.description) > 40
        json.dumps(spec.parameters)


def test_each_front_door_has_what_is_declared_for_it(tmp_path):
    asking = Approvals(allow_all)
    plan = plan_tools(replace(kit(tmp_path, read_only=True), approvals=asking))
    agent, mcp = agent_tools(kit(tmp_path), asking), mcp_tools(kit(tmp_path))
    reading = mcp_tools(kit(tmp_path, read_only=True), read_only="No writing here.")
    assert [*plan.tools] == [tool.name for tool in TOOLS if tool.in_plan and tool.name in agent.tools]
    assert {*plan.missing} == {tool.name for tool in TOOLS if not tool.in_plan}
    assert [*mcp.tools] == [tool.name for tool in TOOLS if tool.over_mcp]
    assert [*reading.tools] == [tool.name for tool in TOOLS if tool.over_mcp and not tool.writes]
    assert reading.missing == {"writeFile": "No writing here.", "editFile": "No writing here."}


def test_no_two_tools_go_by_one_name(tmp_path):
    specs = agent_tools(kit(tmp_path), Approvals(allow_all)).specs
    spoken = [(form.name, form.mode) for spec in specs for form in spec.forms]
    assert len({*spoken}) == len(spoken), "leave a `DialectForm` out that was copied from another tool"
    audited = [tool.method or snake_case(tool.name) for tool in TOOLS if tool.name != "editFile"]
    assert len({*audited}) == len(audited), "leave a `method` out that was copied from another tool"


def test_the_dialect_offers_what_the_tools_declare(tmp_path):
    offer = make_offer(agent_tools(kit(tmp_path), Approvals(allow_all)).specs)
    offered = {spec.name for spec in offer.specs}
    assert {"list_files", "read_file", "search_in_directory", "write_file", "edit_file", "todo"} <= offered
    assert all(name.islower() for name in offered)
    assert offer.readers.isdisjoint({"write_file", "edit_file", "run_check", "writeFile", "editFile", "runCheck"})
    written = {"path": "a", "content": "x"}
    assert offer.translate("write_file", {**written, "mode": "create"})[:2] == ("writeFile", written)
    assert offer.translate("write_file", {**written, "mode": "overwrite"})[0] == "editFile"
    edits = [{"old_text": "a", "new_text": "b"}]
    assert offer.translate("edit_file", {"path": "a", "edits": edits})[0] == "editFile"
    assert offer.spoken("editFile", {"path": "a", "new_content": "x"}) == (
        "write_file",
        {**written, "mode": "overwrite"},
    )
    assert offer.spoken("editFile", {"path": "a", "edits": edits}) == ("edit_file", {"path": "a", "edits": edits})
    (edit_file,) = [spec for spec in offer.specs if spec.name == "edit_file"]
    assert list(edit_file.parameters["properties"]) == edit_file.parameters["required"] == ["path", "edits"]


def test_after_each_change_whoever_asked_hears_of_it(tmp_path):
    heard = []

    async def told(change, call):
        heard.append((change.path, change.added, change.removed, call.use.name, (tmp_path / change.path).read_text()))

    desk = Desk(tmp_path, after_change=[told])
    desk.run("writeFile", path="a.txt", content="one\n")
    desk.run("writeFile", path="a.txt", content="fails\n")
    desk.run("readFile", path="a.txt")
    desk.run("editFile", path="a.txt", edits=[{"old_text": "one", "new_text": "1\n2"}])
    assert heard == [("a.txt", 1, 0, "writeFile", "one\n"), ("a.txt", 2, 1, "editFile", "1\n2\n")]


class Counting:
    """A workspace that counts how often a file is looked into."""

    def __init__(self, inner):
        self.inner = inner
        self.looks = []

    def __getattr__(self, name):
        def called(*args, **kwargs):
            self.looks.append(name)
            return getattr(self.inner, name)(*args, **kwargs)

        return called


def test_a_proposal_reads_its_file_once(tmp_path):
    put(tmp_path, "a.txt", "one\n")
    workspace = Counting(open_workspace(str(tmp_path)))
    ledger = ReadLedger()
    tools = agent_tools(ToolKit(workspace, ledger), Approvals(allow_all))
    ledger.saw("a.txt", "one\n")
    for args in ({"new_content": "two\n"}, {"edits": [{"old_text": "two", "new_text": "2"}]}):
        use = AssistantToolUse("1", "editFile", "editFile", {"path": "a.txt", **args}, {"path": "a.txt", **args})
        workspace.looks.clear()
        asyncio.run(tools.run(Call(use, peers=[use])))
        assert workspace.looks == ["check_write", "write_file"]
    assert (tmp_path / "a.txt").read_text() == "2\n"


def test_the_approval_of_a_change_in_a_long_file_shows_it(tmp_path):
    answers = Answers(Decision(True), Decision(True))
    desk = Desk(tmp_path, answers)
    desk.room = 10_000_000
    lines = [f"{number}\n" for number in range(25_000)]
    put(tmp_path, "long.txt", "".join(lines))
    desk.run("readFile", path="long.txt")
    started = time.process_time()
    lines[3], lines[24_000] = "three\n", "many\nmore\n"
    assert desk.run("editFile", path="long.txt", new_content="".join(lines))[1] == {"success": True}
    assert time.process_time() - started < 2
    (proposal,) = answers.questions[0].changes
    assert (proposal.added, proposal.removed) == (3, 2)
    for shown in ("-3\n", "+three\n", "-24000\n", "+many\n+more\n"):
        assert shown in proposal.diff


def test_an_answer_holds_for_the_content_that_was_shown(tmp_path):
    """Asked again with the new difference if the file changed, to something the model knows as well."""
    put(tmp_path, "a.txt", "old\n")

    def meanwhile(_):
        put(tmp_path, "a.txt", "other\n")
        desk.ledger.saw("a.txt", "other\n")
        return Decision(True)

    answers = Answers(meanwhile, Decision(False))
    desk = Desk(tmp_path, answers)
    desk.run("readFile", path="a.txt")
    outcome, _ = desk.run("editFile", path="a.txt", new_content="new\n")
    first, second = answers.questions
    assert (bool(first.remarks), bool(second.remarks)) == (False, True)
    assert first.approval_id != second.approval_id
    assert "-old" in first.diff
    assert "-other" in second.diff
    assert outcome.refused
    assert (tmp_path / "a.txt").read_text() == "other\n"


@pytest.mark.parametrize(
    ("said", "applied", "left"),
    [("hunks 1", [5], [50, 95]), ("hunks 1, 3", [5, 95], [50]), ("Hunk 2", [50], [5, 95]), ("yes", [5, 50, 95], [])],
)
def test_a_change_can_be_approved_hunk_by_hunk(tmp_path, said, applied, left):
    answers = Answers(Decision.read(said))
    desk = Desk(tmp_path, answers)
    lines = [f"line {number}\n" for number in range(1, 101)]
    put(tmp_path, "a.txt", "".join(lines))
    desk.run("readFile", path="a.txt")
    edits = [{"old_text": f"line {number}\n", "new_text": f"new {number}\n"} for number in (5, 50, 95)]
    outcome, value = desk.run("editFile", path="a.txt", edits=edits)
    for number in applied:
        lines[number - 1] = f"new {number}\n"
    assert (tmp_path / "a.txt").read_text() == "".join(lines)
    assert answers.questions[0].hunks == 3
    assert (outcome.changes[0].added, outcome.changes[0].removed) == (len(applied), len(applied))
    assert value["success"] is True
    assert all(f"+new {number}\n" in value["remark"] for number in left)
    assert ("remark" in value) == bool(left)
    assert outcome.decision == said.lower().replace("hunk 2", "hunks 2")
    again = [{"old_text": f"new {applied[0]}\n", "new_text": "x\n"}]  # what came of it counts as read
    answers.answers.append(Decision(True))
    assert desk.run("editFile", path="a.txt", edits=again)[1] == {"success": True}


def test_hunks_that_do_not_exist_are_a_no(tmp_path):
    desk = Desk(tmp_path, Answers(Decision.read("hunks 2, 3")))
    outcome, value = desk.run("writeFile", path="a.txt", content="x\n")
    assert outcome.refused
    assert "error" in value
    assert not (tmp_path / "a.txt").exists()


@pytest.mark.parametrize("said", ["hunks", "hunks 0", "hunks one", "hunk by hunk please"])
def test_other_words_about_hunks_are_a_reason(said):
    assert Decision.read(said) == Decision(False, reason=said)


def test_what_the_dialect_tells_names_the_tools_as_they_were_offered(tmp_path):
    offer = make_offer(agent_tools(kit(tmp_path), Approvals(allow_all)).specs)
    told = " ".join([spec.description for spec in offer.specs])
    for ours in ("readFile", "writeFile", "editFile", "searchInDirectory", "new_content"):
        assert ours not in told
    said = "Use editFile after readFile, not `list`; make a list. Give new_content."
    assert offer.in_its_words(said) == (
        "Use write_file with mode overwrite after read_file, not `list_files`; make a list. Give content."
    )
    plain = make_offer(agent_tools(kit(tmp_path), Approvals(allow_all)).specs, under_own_names=True)
    assert plain.in_its_words(said) == said


@pytest.mark.parametrize("tool_role", [True, False])
def test_an_error_reaches_a_model_of_the_dialect_in_its_words(tmp_path, tool_role):
    from nebula.llm.contract import ModelRequest
    from nebula.llm.dialect.json_dialect import JsonDialect
    from nebula.llm.ollama import OllamaModel
    from nebula.messages import AssistantMessage, Json, ToolResultStatus, ToolUseResult, UserMessage
    from scripted_model import ScriptedModel, Turn

    specs = agent_tools(kit(tmp_path), Approvals(allow_all)).specs
    use = AssistantToolUse("1", "write_file", "writeFile", {"path": "a"}, {"path": "a"})
    error = Json({"error": "a exists already. Use editFile to change it, after readFile."})
    messages = (
        UserMessage.new_prompt("go"),
        AssistantMessage.new_tool_use(None, "", [use]),
        UserMessage.new_tool_use_results([ToolUseResult("1", (error,), ToolResultStatus.Error)]),
    )

    async def ask(url):
        model = JsonDialect(OllamaModel(url, environ={}), tool_role=tool_role)
        request = ModelRequest("m", "Use `readFile` first.", messages, specs)
        assert [item async for item in model.stream(request)]
        await model.aclose()

    with ScriptedModel([Turn('{"final_answer": "ok"}')]) as server:
        asyncio.run(ask(server.url))
        sent = str(server.turns[0].json["messages"])
    assert "Use write_file with mode overwrite to change it, after read_file." in sent
    assert "Use `read_file` first." in sent
    assert "editFile" not in sent
