"""A secret file is read only by name, once for each yes, and never where nobody can be asked."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from nebula.events import Approval
from nebula.messages import AssistantToolUse, Json
from nebula.tools.approval import Approvals, Decision, allow_all
from nebula.tools.contract import Call, Outcome, ToolFailure
from nebula.tools.declaration import ToolKit
from nebula.tools.files import read_file
from nebula.tools.files.read_file import REFUSED, WARNING
from nebula.tools.ledger import ReadLedger
from nebula.workspace import open_workspace
from nebula.workspace.errors import SecretPath


class Desk:
    def __init__(self, root: Path, *answers: Decision, by_rule: str | None = None, read_only: bool = False) -> None:
        (root / ".env").write_text("KEY=1\n")
        (root / ".env.local").write_text("KEY=2\n")
        self.answers = list(answers)
        self.questions: list[Approval] = []
        self.events: list[Any] = []
        files = open_workspace(str(root), read_only=read_only)
        self.tool: Any = read_file.TOOL.build(ToolKit(files, ReadLedger(), approvals=Approvals(self._decide, by_rule)))

    async def _decide(self, question: Approval) -> Decision:
        self.questions.append(question)
        return self.answers.pop(0)

    def read(self, path: str) -> Outcome:
        use = AssistantToolUse("call-7", "read_file", "readFile", {"path": path}, {"path": path})
        outcome: Outcome = asyncio.run(self.tool.run(use.orig_args, Call(use, self.events.append)))
        return outcome


@pytest.mark.parametrize("read_only", [True, False])
def test_it_is_asked_about_each_time_and_each_file(tmp_path: Path, read_only: bool) -> None:
    desk = Desk(tmp_path, Decision(True, "session"), Decision(True), Decision(False), read_only=read_only)
    outcome = desk.read("./.env")
    assert outcome.content == (Json({"content": "KEY=1\n"}),) and outcome.secret
    assert desk.read(".env.local").content == (Json({"content": "KEY=2\n"}),)
    with pytest.raises(ToolFailure) as failure:
        desk.read(".env")
    assert (str(failure.value), failure.value.policy, failure.value.code) == (REFUSED, True, 403)
    assert [question.path for question in desk.questions] == [".env", ".env.local", ".env"]
    first = desk.questions[0]
    assert (first.kind, first.tool, first.once, first.tool_use_id) == ("read", "read_file", True, "call-7")
    assert [str(each) for each in first.remarks] == [WARNING.format(path=".env")]
    assert first.to_json()["path"] == first.to_json()["read"] == ".env" and desk.events == desk.questions


def test_a_link_to_a_secret_file_is_asked_about_by_the_name_of_the_file(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Decision(True), Decision(True), Decision(True))
    (tmp_path / "notes.txt").symlink_to(".env")
    (tmp_path / "key.pem").symlink_to(".env.local")
    for path, content in (("notes.txt", "KEY=1\n"), ("key.pem", "KEY=2\n")):
        outcome = desk.read(path)
        [shown] = outcome.content
        assert outcome.secret and isinstance(shown, Json) and shown.value["content"] == content
    assert [question.path for question in desk.questions] == [".env", "key.pem", ".env.local"]


def test_no_rule_answers_and_a_refusal_may_say_why(tmp_path: Path) -> None:
    desk = Desk(tmp_path, by_rule="yes")
    with pytest.raises(SecretPath):
        desk.read(".env")
    assert desk.questions == []
    with pytest.raises(ToolFailure, match="The user refused: mine"):
        Desk(tmp_path, Decision(False, reason="mine")).read(".env")


def test_an_ordinary_file_is_no_question(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    outcome = Desk(tmp_path).read("a.txt")
    assert outcome.content == (Json({"content": "a\n"}),) and not outcome.secret


def test_an_mcp_client_is_refused_as_ever(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=1\n")
    tool: Any = read_file.TOOL.build(ToolKit(open_workspace(str(tmp_path)), ReadLedger()))
    use = AssistantToolUse("1", "readFile", "readFile", {}, {})
    with pytest.raises(SecretPath):
        asyncio.run(tool.run({"path": ".env"}, Call(use)))
    assert asyncio.run(allow_all(Approval("i", "read", "readFile", once=True))) == Decision(False, "session")
