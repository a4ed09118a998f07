"""Each tool against a real workspace: what it answers, what it refuses, and the sentence that says what to do."""

import asyncio

import pytest

from nebula.events import Approval, Diff
from nebula.messages import MAX_USER_MESSAGE_SIZE, AssistantToolUse, ToolResultStatus, ToolSpec
from nebula.tools.approval import Approvals, Decision, allow_all
from nebula.tools.contract import Call, Outcome, ToolFailure, text_argument
from nebula.tools.declaration import Checks, ToolKit
from nebula.tools.ledger import ReadLedger
from nebula.tools.registry import WRITERS, agent_tools, learn_from, plan_tools
from nebula.tools.toolset import ToolSet
from nebula.value import replace
from nebula.workspace import Policy, open_workspace


class Desk:
    """A tool set over a real folder, driven by name."""

    def __init__(self, root, approver=allow_all, plan=False, checks=(), allowed=(), after_change=()):
        self.root = root
        self.events = []
        self.room = MAX_USER_MESSAGE_SIZE
        self.ledger = ReadLedger()
        workspace = open_workspace(str(root), Policy(allowed=frozenset(allowed)), read_only=plan)
        kit = ToolKit(workspace, self.ledger, Checks(tuple(checks), str(root), 5), plan=plan)
        self.tools = plan_tools(kit) if plan else agent_tools(kit, Approvals(approver), after_change=after_change)

    def run(self, tool, peers=(), **args):
        use = AssistantToolUse("call_1", tool, tool, args, args)
        outcome = asyncio.run(self.tools.run(Call(use, self.events.append, peers or [use], self.room)))
        return outcome, outcome.content[0].value


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def put(root, path, text):
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8", newline="")


def test_list_marks_folders(desk, tmp_path):
    put(tmp_path, "src/a.py", "x")
    put(tmp_path, "b.txt", "x")
    assert desk.run("list", path=".")[1] == {"files": ["b.txt", "src/"]}
    assert "src/a.py" in desk.run("list", path=".", recursive=True)[1]["files"]


def test_read_gives_the_exact_content(desk, tmp_path):
    put(tmp_path, "a.txt", "\ufeffeins\r\nzwei\u2028三")
    assert desk.run("readFile", path="a.txt")[1] == {"content": "eins\r\nzwei\u2028三"}
    assert desk.run("readFile", path="a.txt", start_line=1, end_line=1)[1]["content"] == "eins\r\n"


def test_read_in_ranges(desk, tmp_path):
    put(tmp_path, "a.txt", "1\n2\n3\n4\n")
    part = desk.run("readFile", path="a.txt", start_line=2, end_line=3)[1]
    assert (part["content"], part["start_line"], part["end_line"], part["total_lines"]) == ("2\n3\n", 2, 3, 4)
    assert "error" in desk.run("readFile", path="a.txt", start_line=9)[1]
    assert desk.run("readFile", path="a.txt", start_line=" 4 ")[1]["content"] == "4\n"
    for odd in ("³", "9" * 5000, "two", "-1"):
        assert "whole number" in desk.run("readFile", path="a.txt", start_line=odd)[1]["error"]
    assert "error" in desk.run("readFile", path="a.txt", start_line=3, end_line=2)[1]


def test_search_names_the_files(desk, tmp_path):
    put(tmp_path, "a.py", "優先度 = 1\n")
    put(tmp_path, "b.py", "nothing\n")
    assert desk.run("searchInDirectory", directory=".", keyword="優先度")[1] == {"files": ["a.py"]}


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("readFile", {"path": "\ud83e.txt"}),
        ("list", {"path": "\udd80"}),
        ("searchInDirectory", {"directory": ".", "keyword": "\ud83e"}),
        ("editFile", {"path": "a.txt", "edits": [{"old_text": "1", "new_text": "\ud83e"}]}),
        ("editFile", {"path": "a.txt", "new_content": "\ud83e"}),
        ("writeFile", {"path": "b.txt", "content": "\ud83e"}),
    ],
)
def test_half_a_character_is_refused_and_ends_no_turn(desk, tmp_path, name, args):
    put(tmp_path, "a.txt", "1\n")
    desk.run("readFile", path="a.txt")
    assert "lone surrogate" in desk.run(name, **args)[1]["error"]
    with pytest.raises(ToolFailure, match="lone surrogate"):
        text_argument({"id": "\ud83e"}, "id")


def test_write_creates_folders_and_refuses_what_exists(desk, tmp_path):
    assert desk.run("writeFile", path="new/deep/a.py", content="x\n")[1] == {"success": True}
    assert (tmp_path / "new/deep/a.py").read_text() == "x\n"
    outcome, value = desk.run("writeFile", path="new/deep/a.py", content="y\n")
    assert outcome.status is ToolResultStatus.Error
    assert "editFile" in value["error"]
    assert (tmp_path / "new/deep/a.py").read_text() == "x\n"


def test_edit_of_a_missing_file_names_write_file(desk):
    assert "writeFile" in desk.run("editFile", path="no.py", new_content="x")[1]["error"]


def test_edit_needs_a_read_first(desk, tmp_path):
    put(tmp_path, "a.txt", "old\n")
    assert "readFile" in desk.run("editFile", path="a.txt", new_content="new\n")[1]["error"]
    desk.run("readFile", path="./a.txt")
    outcome, value = desk.run("editFile", path="a.txt", new_content="new\n")
    assert value == {"success": True}
    assert (outcome.changes[0].added, outcome.changes[0].removed) == (1, 1)


def test_edit_is_refused_when_the_file_changed_since(desk, tmp_path):
    put(tmp_path, "a.txt", "old\n")
    desk.run("readFile", path="a.txt")
    put(tmp_path, "a.txt", "somebody else\n")
    assert "changed since" in desk.run("editFile", path="a.txt", new_content="new\n")[1]["error"]
    assert (tmp_path / "a.txt").read_text() == "somebody else\n"


def test_own_write_counts_as_read(desk):
    desk.run("writeFile", path="a.txt", content="one\n")
    assert desk.run("editFile", path="a.txt", new_content="two\n")[1] == {"success": True}
    assert desk.run("editFile", path="a.txt", new_content="three\n")[1] == {"success": True}


def test_an_edit_that_changes_nothing_is_told_as_such(desk):
    desk.run("writeFile", path="a.txt", content="one\n")
    assert "Nothing to change" in desk.run("editFile", path="a.txt", new_content="one\n")[1]["error"]


ROOM = 100_000


def size_of(outcome):
    return len(outcome.content[0].as_text().encode())


@pytest.fixture
def big(desk, tmp_path):
    desk.room = ROOM
    put(tmp_path, "big.txt", "".join(f"line {n} \t" + "x" * 90 + "\n" for n in range(1, 2001)))
    return desk


def test_a_cut_read_does_not_count_until_the_ranges_cover_the_file(big):
    outcome, value = big.run("readFile", path="big.txt")
    assert value["cut"]
    assert ROOM * 0.9 < size_of(outcome) <= ROOM
    assert "ranges" in big.run("editFile", path="big.txt", new_content="small\n")[1]["error"]
    for start in range(1, 2001, 500):
        big.run("readFile", path="big.txt", start_line=start, end_line=start + 499)
    assert big.run("editFile", path="big.txt", new_content="small\n")[1] == {"success": True}


def test_of_a_cut_read_the_lines_shown_count(big):
    value = big.run("readFile", path="big.txt")[1]
    (_, head), (tail, last) = value["shown"]
    assert last == value["total_lines"] == 2000
    assert f"[… lines {head + 1} to {tail - 1} left out …]" in value["content"]
    assert f"line {head} \t" in value["content"]
    assert f"line {head + 1} \t" not in value["content"]
    for start in range(head + 2, tail, 300):
        big.run("readFile", path="big.txt", start_line=start, end_line=min(start + 299, tail - 1))
    assert "ranges" in big.run("editFile", path="big.txt", new_content="small\n")[1]["error"]
    big.run("readFile", path="big.txt", start_line=head + 1, end_line=head + 1)
    assert big.run("editFile", path="big.txt", new_content="small\n")[1] == {"success": True}


def test_a_line_too_long_to_show_was_not_read(desk, tmp_path):
    desk.room = 10_000
    put(tmp_path, "long.txt", "\x01" * 9_000)
    outcome, value = desk.run("readFile", path="long.txt")
    assert "longer than what can be shown" in value["cut"]
    assert size_of(outcome) <= 10_000
    assert "only a part" in desk.run("editFile", path="long.txt", new_content="x")[1]["error"]


def test_an_empty_file_is_read_whole_in_a_range(desk, tmp_path):
    put(tmp_path, "empty.txt", "")
    desk.run("readFile", path="empty.txt", start_line=1, end_line=1)
    assert desk.run("editFile", path="empty.txt", new_content="x")[1] == {"success": True}


class HalfDone:
    """Changes a file, then fails."""

    spec = ToolSpec("half", "", {})

    async def run(self, args, call):
        made = Diff("a.txt", "+x", 1, 0, "", "after")
        return replace(Outcome.failed(ToolFailure("The rest failed.")), changes=(made,))


def test_what_a_failing_call_changed_is_heard_of():
    heard = []

    async def hear(change, call):
        heard.append(change.path)

    tools = replace(ToolSet.of([HalfDone()]), after_change=(hear,))
    call = Call(AssistantToolUse("call_1", "half", "half", {}, {}))
    outcome = asyncio.run(tools.run(call))
    assert [change.path for change in outcome.changes] == heard == ["a.txt"]


def test_an_edit_succeeds_once_the_file_was_read(desk, tmp_path):
    put(tmp_path, "a.txt", "old\n")
    for _ in range(2):
        desk.run("editFile", path="a.txt", new_content="new\n")
    desk.run("readFile", path="a.txt")
    assert desk.run("editFile", path="a.txt", new_content="new\n")[1] == {"success": True}


def test_unknown_tools_and_odd_arguments_are_errors_not_crashes(desk):
    assert desk.run("frobnicate")[1] == {"error": "Unknown tool: frobnicate"}
    for args in ({}, {"path": 3}, {"path": None}, {"path": ["a"]}):
        assert "error" in desk.run("readFile", **args)[1]
    assert "error" in desk.run("list", path=".", recursive="yes")[1]
    assert "error" in desk.run("searchInDirectory", directory=".", keyword="")[1]
    assert "error" in desk.run("readFile", path="../../etc/passwd")[1]


def test_plan_mode_has_no_writers_and_says_so(tmp_path):
    desk = Desk(tmp_path, plan=True)
    assert not {spec.name for spec in desk.tools.specs} & WRITERS
    outcome, value = desk.run("writeFile", path="a", content="x")
    assert value == {"error": "Tool 'writeFile' is not allowed in plan mode. Plan mode is read-only."}
    assert outcome.refused
    assert list(tmp_path.iterdir()) == []


class Answers:
    """An approver that plays its answers and remembers the questions."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.questions = []

    async def __call__(self, question):
        self.questions.append(question)
        answer = self.answers.pop(0)
        return answer(question) if callable(answer) else answer


def test_a_refusal_reaches_the_model_with_its_reason(tmp_path):
    desk = Desk(tmp_path, Answers(Decision.read("use another name, please")))
    outcome, value = desk.run("writeFile", path="a.txt", content="x")
    assert value == {"error": "The user refused: use another name, please"}
    assert (outcome.refused, outcome.decision) == (True, "use another name, please")
    assert not (tmp_path / "a.txt").exists()


def test_nobody_is_asked_about_what_must_fail(tmp_path):
    answers = Answers()
    desk = Desk(tmp_path, answers)
    put(tmp_path, "a.txt", "x")
    for name, args in [
        ("writeFile", {"path": "a.txt", "content": "y"}),
        ("editFile", {"path": "missing.txt", "new_content": "y"}),
        ("editFile", {"path": "a.txt", "new_content": "y"}),
        ("writeFile", {"path": ".git/hooks/pre-commit", "content": "y"}),
        ("writeFile", {"path": "../out.txt", "content": "y"}),
    ]:
        assert "error" in desk.run(name, **args)[1]
    assert answers.questions == []


def test_yes_to_all_holds_for_the_session(tmp_path):
    answers = Answers(Decision.read("all"))
    desk = Desk(tmp_path, answers)
    for name in ("a", "b", "c"):
        assert desk.run("writeFile", path=name, content="x")[1] == {"success": True}
    assert len(answers.questions) == 1


def test_yes_to_a_pattern_reaches_only_that(tmp_path):
    answers = Answers(Decision(True, "pattern", pattern="src/*.py"), Decision(False))
    desk = Desk(tmp_path, answers)
    assert desk.run("writeFile", path="src/a.py", content="x")[1] == {"success": True}
    assert desk.run("writeFile", path="src/b.py", content="x")[1] == {"success": True}
    assert "error" in desk.run("writeFile", path="other.py", content="x")[1]
    assert len(answers.questions) == 2


def test_writes_of_one_message_are_shown_together(tmp_path):
    answers = Answers(Decision(True, "message"))
    desk = Desk(tmp_path, answers)
    uses = [
        AssistantToolUse(f"c{n}", "writeFile", "writeFile", args, args)
        for n, args in enumerate([{"path": "a.txt", "content": "1\n"}, {"path": "b.txt", "content": "2\n"}])
    ]
    for use in uses:
        assert asyncio.run(desk.tools.run(Call(use, desk.events.append, uses))).status is ToolResultStatus.Success
    assert len(answers.questions) == 1
    assert [proposal.path for proposal in answers.questions[0].together] == ["a.txt", "b.txt"]


def test_if_the_file_changes_while_somebody_thinks_the_question_is_asked_again(tmp_path):
    def meanwhile(_):
        put(tmp_path, "a.txt", "somebody else\n")
        return Decision(True)

    answers = Answers(meanwhile)
    desk = Desk(tmp_path, answers)
    put(tmp_path, "a.txt", "old\n")
    desk.run("readFile", path="a.txt")
    value = desk.run("editFile", path="a.txt", new_content="new\n")[1]
    assert "changed since" in value["error"]
    assert (tmp_path / "a.txt").read_text() == "somebody else\n"


def test_a_file_that_is_made_while_somebody_thinks_is_told_of_as_one_that_was_there(tmp_path):
    def meanwhile(_):
        put(tmp_path, "a.txt", "somebody else\n")
        return Decision(True)

    value = Desk(tmp_path, Answers(meanwhile)).run("writeFile", path="a.txt", content="new\n")[1]
    assert value == {"error": "a.txt exists already. Use editFile to change it, after readFile."}
    assert (tmp_path / "a.txt").read_text() == "somebody else\n"


def test_the_question_is_an_event_with_the_difference(tmp_path):
    desk = Desk(tmp_path)
    desk.run("writeFile", path="a.txt", content="x\n")
    (event,) = [event for event in desk.events if isinstance(event, Approval)]
    assert (event.path, event.tool) == ("a.txt", "writeFile")
    assert "+x" in event.diff


def test_a_check_runs_only_if_configured(tmp_path):
    desk = Desk(tmp_path, checks=["true", "false"])
    outcome, value = desk.run("runCheck", name="true")
    assert value["passed"] is True
    assert outcome.check.passed
    assert desk.run("runCheck", name="false")[1]["passed"] is False
    assert "no check" in desk.run("runCheck", name="rm -rf /")[1]["error"]
    assert "runCheck" not in {spec.name for spec in Desk(tmp_path).tools.specs}


def worked(desk, calls):
    """The messages of a conversation in which these calls were made, all of them on a.txt."""
    from nebula.messages import AssistantMessage, Json, ToolUseResult, UserMessage

    messages = []
    for number, (name, args) in enumerate(calls):
        outcome, value = desk.run(name, path="a.txt", **args)
        use = AssistantToolUse(str(number), name, name, {}, {"path": "a.txt", **args})
        results = [ToolUseResult(use.id, [Json(value)], outcome.status)]
        messages += [AssistantMessage.new_tool_use(None, "", [use]), UserMessage.new_tool_use_results(results)]
    return messages


def test_the_ledger_learns_from_a_conversation(tmp_path):
    from nebula.messages import AssistantMessage, Json, ToolUseResult, UserMessage

    put(tmp_path, "a.txt", "old\n")
    use = AssistantToolUse("1", "readFile", "readFile", {"path": "a.txt"}, {"path": "a.txt"})
    result = ToolUseResult("1", [Json({"content": "old\n"})], ToolResultStatus.Success)
    desk = Desk(tmp_path)
    learn_from(
        desk.ledger, [AssistantMessage.new_tool_use(None, "", [use]), UserMessage.new_tool_use_results([result])]
    )
    assert desk.run("editFile", path="a.txt", new_content="new\n")[1] == {"success": True}


@pytest.mark.parametrize(
    "change",
    [{"edits": [{"old_text": "b", "new_text": "B\nC"}]}, {"new_content": "\ufeffa\r\nB\r\nC"}, {"append": "\r\nd"}],
)
def test_edits_of_an_earlier_sitting_count_as_read(tmp_path, change):
    (tmp_path / "a.txt").write_bytes("\ufeffa\r\nb".encode())
    now = Desk(tmp_path)
    learn_from(
        now.ledger, worked(Desk(tmp_path), [("readFile", {}), ("editFile", change), ("editFile", {"edits": []})])
    )
    assert now.run("editFile", path="a.txt", edits=[{"old_text": "a", "new_text": "A"}])[1] == {"success": True}
    assert now.run("editFile", path="a.txt", new_content="all of it")[1] == {"success": True}


@pytest.mark.parametrize("hunks", [(1,), (2,), (1, 3)])
@pytest.mark.parametrize("whole", [False, True])
def test_hunks_left_out_in_an_earlier_sitting_are_not_taken_for_done(tmp_path, hunks, whole):
    text = "".join(f"line {number}\n" for number in range(60))
    wanted = text.replace("line 3\n", "line 3\nand more\n").replace("line 30\n", "").replace("line 50\n", "LINE 50\n")
    edits = [("line 3\n", "line 3\nand more\n"), ("line 30\n", ""), ("line 50\n", "LINE 50\n")]
    change = {"edits": [{"old_text": old, "new_text": new} for old, new in edits]}
    put(tmp_path, "a.txt", text)

    async def some(question):
        return Decision(True, hunks=hunks)

    calls = [("readFile", {}), ("editFile", {"new_content": wanted} if whole else change)]
    now = Desk(tmp_path)
    learn_from(now.ledger, worked(Desk(tmp_path, some), calls))
    assert now.run("editFile", path="a.txt", new_content="all of it")[1] == {"success": True}


def test_ranges_of_a_file_of_any_size_can_be_read_and_edited_around(tmp_path):
    desk = Desk(tmp_path)
    put(tmp_path, "huge.txt", "".join(f"line {number}\n" for number in range(1, 100_001)))
    assert "start_line" in desk.run("readFile", path="huge.txt")[1]["error"]
    value = desk.run("readFile", path="huge.txt", start_line=99_999, end_line=200_000)[1]
    assert value["content"] == "line 99999\nline 100000\n"
    assert (value["start_line"], value["end_line"], value["total_lines"]) == (99_999, 100_000, 100_000)
    value = desk.run("readFile", path="huge.txt", start_line=50_000)[1]
    assert value["content"].startswith("line 50000\n")
    assert "left out" in value["cut"]
    assert desk.ledger.knows_lines("huge.txt", value["sha256"], *value["shown"][0])
    edits = [{"old_text": "line 99999\n", "new_text": "x\n"}]
    assert desk.run("editFile", path="huge.txt", edits=edits)[1] == {"success": True}
    assert (tmp_path / "huge.txt").read_text(encoding="utf-8").endswith("line 99998\nx\nline 100000\n")
    too_much = [{"old_text": "x\n", "new_text": "y" * 600_000}]
    assert "bytes" in desk.run("editFile", path="huge.txt", edits=too_much)[1]["error"]  # told before anybody is asked


def test_a_write_keeps_the_byte_order_mark_of_the_file_and_brings_none(tmp_path):
    desk = Desk(tmp_path)
    for name, mark in (("with.txt", "\ufeff"), ("without.txt", "")):
        put(tmp_path, name, f"{mark}one\n")
        desk.run("readFile", path=name)
        for content in ("two\n", "\ufeffthree\n"):
            assert desk.run("editFile", path=name, new_content=content)[1] == {"success": True}
            now = (tmp_path / name).read_text(encoding="utf-8")
            assert now == mark + content.removeprefix("\ufeff")


def test_what_was_read_without_its_byte_order_mark_counts_in_a_later_session(tmp_path):
    desk = Desk(tmp_path)
    put(tmp_path, "a.txt", "\ufeffone\n")
    desk.ledger.saw("a.txt", "one\n")  # as the conversation shows it
    assert desk.run("editFile", path="a.txt", new_content="two\n")[1] == {"success": True}
