"""A tool of an MCP server, on our side of the wire: what is asked, what a yes holds for, what the model is told."""

from __future__ import annotations

import asyncio
import base64
import json
from types import SimpleNamespace
from typing import Any

import pytest

from nebula.events import Approval
from nebula.messages import AssistantToolUse, ImageBlock, Json, Text, ToolResultStatus
from nebula.tools.approval import Approvals, Decision, allow_all
from nebula.tools.contract import Call, Outcome, ToolFailure
from nebula.tools.external.configured import ExternalServer
from nebula.tools.external.connection import ServerConnection
from nebula.tools.external.content import MAX_RESULT
from nebula.tools.external.tool import DESCRIBED_ANEW, MAX_DESCRIPTION, NOT_ALLOWED, ExternalTool, ProgressReport

WELL = SimpleNamespace(content=[SimpleNamespace(type="text", text="well")], is_error=False, structured_content=None)


def declared(name: str = "add", description: str | None = "Adds a note.", **more: Any) -> Any:
    facts: dict[str, Any] = {"title": None, "input_schema": {"type": "object"}} | more
    return SimpleNamespace(name=name, description=description, **facts)


class Near(ServerConnection):
    """The connection to a server that answers at once."""

    def __init__(self, *tools: Any, name: str = "notes", answer: Any = WELL, read_only: str = "") -> None:
        super().__init__(ExternalServer(name, "notes", read_only=frozenset({read_only})))
        self.tools = tools
        self.answer = answer
        self.calls: list[tuple[str, dict[str, Any]]] = []

    async def open(self) -> None:
        return None

    async def call(self, tool: str, args: dict[str, Any], report: Any = None) -> Any:
        self.calls.append((tool, args))
        if report is not None:
            await report(1, 2, "half")
        return self.answer


class Asked:
    def __init__(self, *answers: Decision) -> None:
        self.answers = list(answers)
        self.questions: list[Approval] = []

    async def __call__(self, question: Approval) -> Decision:
        self.questions.append(question)
        return self.answers.pop(0)


def run(tool: ExternalTool, args: dict[str, Any] | None = None, room: int = 400_000) -> Outcome:
    use = AssistantToolUse("call_1", tool.spec.name, tool.spec.name, args or {}, args or {})
    return asyncio.run(tool.run(use.orig_args, Call(use, room=room)))


def test_half_a_character_is_not_sent_for_it_would_end_the_connection() -> None:
    connection = Near(declared("search"), read_only="search")
    with pytest.raises(ToolFailure, match="lone surrogate"):
        run(ExternalTool(connection, connection.tools[0], None), {"word": ["\ud83e"]})
    assert connection.calls == []


def test_each_call_is_asked_about_with_its_arguments() -> None:
    connection = Near(declared())
    asked = Asked(Decision(True), Decision(True))
    tool = ExternalTool(connection, connection.tools[0], Approvals(asked))
    assert run(tool, {"text": "牛乳"}).content == (Text("well"),)
    assert run(tool, {"text": "bread"}).content == (Text("well"),)
    assert connection.calls == [("add", {"text": "牛乳"}), ("add", {"text": "bread"})]
    first, second = asked.questions
    assert (first.kind, first.tool, first.text) == ("call", "notes__add", '{\n  "text": "牛乳"\n}')
    assert "bread" in second.text and first.approval_id != second.approval_id and not first.once


@pytest.mark.parametrize(
    "other",
    [
        declared("remove"),
        declared(description="Sends your notes away."),
        declared(title="Other"),
        declared(input_schema={"type": "object", "properties": {"to": {}}}),
    ],
)
def test_a_yes_for_the_session_holds_for_this_tool_as_it_is_described(other: Any) -> None:
    asked = Asked(Decision(True, "session"), Decision(False))
    approvals = Approvals(asked)
    for _ in range(2):  # each turn makes its tools anew
        connection = Near(declared())
        run(ExternalTool(connection, connection.tools[0], approvals))
    assert len(asked.questions) == 1
    assert [each.name for each in approvals.granted] == ["notes__add"]
    connection = Near(other)
    with pytest.raises(ToolFailure):
        run(ExternalTool(connection, other, approvals))
    assert len(asked.questions) == 2 and connection.calls == []


def test_a_yes_for_the_session_is_kept_as_one_to_calls_of_that_tool() -> None:
    approvals = Approvals(Asked(Decision(True, "session")))
    schema = {"type": "object", "properties": {"to": {}, "from": {}}}
    same = {"properties": {"from": {}, "to": {}}, "type": "object"}
    for each in (schema, same):
        connection = Near(declared("Add", input_schema=each), name="Notes")
        run(ExternalTool(connection, connection.tools[0], approvals))
    assert [(each.kind, each.name) for each in approvals.granted] == [("call", "Notes__Add")]


def test_how_far_a_call_is_is_told_where_the_call_is_shown() -> None:
    connection = Near(declared(), read_only="add")
    tool = ExternalTool(connection, connection.tools[0], None)
    use = AssistantToolUse("call_1", tool.spec.name, tool.spec.name, {}, {})
    shown: list[Any] = []
    asyncio.run(tool.run({}, Call(use, show=shown.append)))
    assert [str(event.sentence) for event in shown] == ["notes__add: 1/2 half"]


def test_a_yes_holds_for_the_tool_of_that_server() -> None:
    asked = Asked(Decision(True, "session"), Decision(False))
    approvals = Approvals(asked)
    for connection in (Near(declared("b__c"), name="a"), Near(declared("c"), name="a__b")):
        tool = ExternalTool(connection, connection.tools[0], approvals)
        assert tool.spec.name == "a__b__c"
        if connection.server.name == "a":
            run(tool)
        else:
            with pytest.raises(ToolFailure):
                run(tool)


def test_what_was_taken_back_is_asked_about_again() -> None:
    asked = Asked(Decision(True, "session"), Decision(False))
    approvals = Approvals(asked)
    connection = Near(declared())
    tool = ExternalTool(connection, connection.tools[0], approvals)
    run(tool)
    approvals.revoke("notes__add")
    with pytest.raises(ToolFailure):
        run(tool)
    assert len(asked.questions) == 2 and len(connection.calls) == 1


@pytest.mark.parametrize(
    ("decision", "said", "word"),
    [(Decision(False), NOT_ALLOWED, "no"), (Decision(False, reason="later"), "The user refused: later", "later")],
)
def test_a_no_reaches_the_model_and_not_the_server(decision: Decision, said: str, word: str) -> None:
    connection = Near(declared())
    with pytest.raises(ToolFailure) as failure:
        run(ExternalTool(connection, connection.tools[0], Approvals(Asked(decision))))
    assert (str(failure.value), failure.value.decision) == (said, word)
    assert (failure.value.code, failure.value.policy, connection.calls) == (403, True, [])


def test_where_nobody_decides_only_what_reads_is_called() -> None:
    reading = Near(declared("search"), declared("add"), read_only="search")
    assert run(ExternalTool(reading, reading.tools[0], None)).content == (Text("well"),)
    with pytest.raises(ToolFailure, match="did not allow") as failure:
        run(ExternalTool(reading, reading.tools[1], None))
    assert (failure.value.code, failure.value.policy) == (403, True)
    assert reading.calls == [("search", {})]


@pytest.mark.parametrize("now", [[], [declared(description="Other.")], [declared(), declared()]])
def test_a_tool_that_is_no_longer_what_was_offered_is_not_called(now: list[Any]) -> None:
    connection = Near(declared())
    tool = ExternalTool(connection, connection.tools[0], Approvals(allow_all))
    connection.tools = tuple(now)
    with pytest.raises(ToolFailure) as failure:
        run(tool)
    assert (str(failure.value), failure.value.code, connection.calls) == (DESCRIBED_ANEW, 409, [])


def test_a_yes_to_a_tool_is_none_to_what_its_server_makes_of_it_while_somebody_thinks() -> None:
    connection = Near(declared())

    async def think(_: Approval) -> Decision:
        connection.tools = (declared(description="Sends your notes away."),)
        return Decision(True, "session")

    with pytest.raises(ToolFailure) as failure:
        run(ExternalTool(connection, connection.tools[0], Approvals(think)))
    assert (str(failure.value), connection.calls) == (DESCRIBED_ANEW, [])


def test_what_the_model_is_told_of_a_tool() -> None:
    connection = Near()
    for tool, about in (
        (declared(description="Adds\U000e0041."), "Adds."),
        (declared(description=None, title="Add"), "Add"),
        (declared(description=None), "add"),
        (declared(description="x" * 5_000), "x" * MAX_DESCRIPTION),
    ):
        spec = ExternalTool(connection, tool, None).spec
        assert (spec.name, spec.description, spec.parameters) == ("notes__add", about, {"type": "object"})


def test_a_server_that_fails_is_an_error_of_the_call() -> None:
    class Broken(Near):
        async def call(self, tool: str, args: dict[str, Any], report: Any = None) -> Any:
            raise self.failed("it is tired")

    connection = Broken(declared())
    with pytest.raises(ToolFailure) as failure:
        run(ExternalTool(connection, connection.tools[0], Approvals(allow_all, "yes")))
    assert str(failure.value) == "The MCP server notes cannot be used: it is tired"
    assert (failure.value.code, failure.value.policy) == (502, False)


def test_a_result_takes_no_more_than_its_room() -> None:
    connection = Near(
        declared(), answer=SimpleNamespace(content=[text("x" * 9_000)], is_error=False, structured_content=None)
    )
    tool = ExternalTool(connection, connection.tools[0], Approvals(allow_all, "yes"))
    assert run(tool, room=9_000).content == (Text("x" * 9_000),)
    cut, _ = run(tool, room=8_999).content
    assert 8_000 < len(cut.as_text()) < 8_999


def answered(*content: Any, **more: Any) -> Outcome:
    answer = SimpleNamespace(**{"content": list(content), "is_error": False, "structured_content": None} | more)
    connection = Near(declared(), answer=answer)
    return run(ExternalTool(connection, connection.tools[0], Approvals(allow_all, "yes")))


def text(said: str) -> Any:
    return SimpleNamespace(type="text", text=said)


def test_what_a_server_answers() -> None:
    assert answered(text("a\U000e0041"), text("b")).content == (Text("a"), Text("b"))
    assert answered().content == (Text("(no output)"),)
    assert answered(structured_content={"n": 1}).content == (Json({"n": 1}),)
    assert answered(text("a\x1b[2Jb\x00\n")).content == (Text("a[2Jb\n"),), "no control bytes"
    resource = SimpleNamespace(text="of a\U000e0041 file", mime_type="text/plain")
    assert answered(SimpleNamespace(type="resource", resource=resource)).content == (Text("of a file"),)
    blob = SimpleNamespace(blob="AA", mime_type="image/png")
    assert answered(SimpleNamespace(type="resource", resource=blob)).content == (Text("(image/png: not shown)"),)
    picture = SimpleNamespace(type="image", data="AA", mime_type="image/gif")
    assert answered(picture).content == (Text("(image/gif: not shown)"),)
    assert answered(SimpleNamespace(type="audio")).content == (Text("(audio: not shown)"),)


def test_data_is_shown_once_and_never_lost() -> None:
    data = {"n": 1, "name": "牛乳\U000e0041\x07"}
    assert answered(text(json.dumps(data)), structured_content=data).content == (Text(json.dumps(data)),)
    for said, result in (([text("well")], "well"), ([text("1"), text("b")], [1, "b"]), ([text("[1]")], [1])):
        assert len(answered(*said, structured_content={"result": result}).content) == len(said)
    assert len(answered(text("2 lines"), structured_content={"result": 2}).content) == 2
    assert answered(text("2 lines"), structured_content=data).content == (
        Text("2 lines"),
        Json({"n": 1, "name": "牛乳"}),
    )
    assert answered(text("x" * MAX_RESULT), structured_content=data).content[1].as_text().startswith("[The result had")


PNG = b"\x89PNG\r\n\x1a\n" + bytes(60)


def picture(data: bytes = PNG, kind: str = "image/png") -> Any:
    return SimpleNamespace(type="image", data=base64.b64encode(data).decode(), mime_type=kind)


def shown(*content: Any, peers: int = 1, takes: bool = True, **more: Any) -> Outcome:
    """Return what comes of a call with such content, one of `peers` calls of a message."""

    async def takes_images() -> bool:
        return takes

    answer = SimpleNamespace(**{"content": list(content), "is_error": False, "structured_content": None} | more)
    connection = Near(declared(), answer=answer)
    tool = ExternalTool(connection, connection.tools[0], Approvals(allow_all, "yes"), takes_images)
    use = AssistantToolUse("call_1", tool.spec.name, tool.spec.name, {}, {})
    return asyncio.run(tool.run({}, Call(use, peers=[use] * peers)))


def test_images_reach_a_model_that_takes_them() -> None:
    blob = SimpleNamespace(type="resource", resource=SimpleNamespace(blob=picture().data, mime_type="image/png"))
    outcome = shown(text("Look:"), picture(kind="image/lies"), blob)
    named = Text("(image/png, 68 bytes: shown below the results)")
    assert outcome.content == (Text("Look:"), named, named)
    assert outcome.images == (ImageBlock("png", PNG), ImageBlock("png", PNG))
    assert shown(picture(), is_error=True).images == (ImageBlock("png", PNG),)


def test_images_are_named_where_they_cannot_be_shown() -> None:
    outcome = shown(picture(), takes=False)
    assert outcome.images == ()
    assert outcome.content == (Text("(image/png, 68 bytes: not shown, because this model takes no images)"),)
    for odd in (picture(b"MZ\x90"), SimpleNamespace(type="image", data="A", mime_type="image/png")):
        assert shown(odd).content == (Text("(image/png: not shown)"),)
    assert shown(picture(PNG + bytes(10 * 1024 * 1024))).content == (Text("(image/png: not shown)"),)


@pytest.mark.parametrize(("peers", "count"), [(1, 10), (3, 3), (11, 0)])
def test_the_calls_of_a_message_share_the_images_that_it_takes(peers: int, count: int) -> None:
    outcome = shown(*[picture()] * 12, peers=peers)
    assert len(outcome.images) == count
    assert outcome.content[-1].as_text().endswith("not shown, because a message takes 10 images)")


def test_a_link_to_a_resource_is_named_so_that_it_can_be_read() -> None:
    link = SimpleNamespace(type="resource_link", uri="notes://1", name="milk\x1b", mime_type=None)
    assert shown(link).content == (Text("(a resource: notes://1 milk)"),)


def test_how_far_a_call_is_is_shown_as_seldom_as_it_can_be_read() -> None:
    said: list[str] = []
    report = ProgressReport("notes__add", lambda event: said.append(str(event.sentence)))

    async def flood() -> None:
        for number in range(1_000):
            await report(number, 1_000, "line\x1b one\n" + "x" * 500)

    asyncio.run(flood())
    assert said[0].startswith("notes__add: 0/1000 line one xxx") and len(said[0]) < 150 and len(said) < 10


def test_what_a_server_calls_an_error_is_one() -> None:
    for content, said in (([text("locked"), text("up")], "locked up"), ([], "The tool failed without a word.")):
        outcome = answered(*content, is_error=True)
        assert outcome.content == (Json({"error": said}),)
        assert (outcome.status, outcome.code) == (ToolResultStatus.Error, 502)


def test_a_result_is_cut_only_where_it_is_too_long() -> None:
    assert answered(text("x" * MAX_RESULT)).content == (Text("x" * MAX_RESULT),)
    half = "é" * (MAX_RESULT // 4)
    assert answered(text(half), text(half)).content == (Text(half), Text(half))
    cut, advice = answered(text("begin" + "x" * MAX_RESULT + "end")).content
    assert cut.as_text().startswith("beginx") and cut.as_text().endswith("xend")
    assert f"had {MAX_RESULT + 8} bytes" in advice.as_text() and "Ask for less" in advice.as_text()
    assert len(cut.as_text()) + len(advice.as_text()) <= MAX_RESULT
