"""Tool calls in an editor: each has a kind, its files, an id of its own, and an end."""

from __future__ import annotations

from typing import Any

from nebula.server.acp.tool_calls import LONGEST_TITLE, ToolCalls, describe_call
from nebula.tools.registry import TOOLS


def test_a_call_has_the_kind_that_its_tool_declares() -> None:
    kinds = {tool.name: describe_call(tool.name, {}, "/p")["kind"] for tool in TOOLS}
    assert [name for name, kind in kinds.items() if kind == "other"] == ["delegate"], "say `kind` in its `TOOL`"
    assert (kinds["list"], kinds["editFile"], kinds["todo"]) == ("search", "edit", "think")


def test_a_call_names_its_subject_and_its_file() -> None:
    assert describe_call("readFile", {"path": "a/b.py", "start_line": 7}, "/p") == {
        "title": "readFile a/b.py",
        "kind": "read",
        "locations": [{"path": "/p/a/b.py", "line": 7}],
    }
    assert describe_call("runCommand", {"command": "ls\n\x1b"}, "/p") == {"title": "runCommand ls␊␛", "kind": "execute"}
    assert describe_call("files__x", ["no", "object"], "/p") == {"title": "files__x", "kind": "other"}
    assert describe_call("readFile", {"path": 5, "start_line": "x"}, "/p") == {"title": "readFile", "kind": "read"}
    assert len(describe_call("searchCode", {"query": "x" * 500}, "/p")["title"]) == LONGEST_TITLE


def test_an_id_that_a_model_sends_twice_is_two_calls() -> None:
    sent: list[Any] = []
    calls = ToolCalls(sent.append)
    first = calls.begin("call_0")
    assert calls.find_id("call_0") == first
    second = calls.begin("call_0")
    assert second != first == calls.announce(first, {"title": "t"}, "pending")["toolCallId"]
    assert first not in {ToolCalls(sent.append).begin("call_0"), second}


def test_a_call_is_shown_once_and_ends_once() -> None:
    sent: list[Any] = []
    calls = ToolCalls(sent.append)
    hidden, shown, asked = (calls.begin(each) for each in "abc")
    calls.end(hidden, True, "result")
    assert sent == []
    calls.announce(shown, {"title": "t"}, "in_progress")
    calls.announce(shown, {"title": "u"}, "in_progress")
    calls.announce(asked, {"title": "q", "content": ["diff"]}, "pending", is_question=True)
    calls.end(shown, True, "result")
    calls.end(shown, True, "result")
    calls.end(asked, True, "result")
    calls.end_all()
    assert [(each["sessionUpdate"], each.get("status")) for each in sent] == [
        ("tool_call", "in_progress"),
        ("tool_call_update", "in_progress"),
        ("tool_call", "pending"),
        ("tool_call_update", "completed"),
        ("tool_call_update", "completed"),
    ]
    assert sent[3]["content"][0]["content"]["text"] == "result"
    assert "content" not in sent[4], "what was asked about keeps its difference"


def test_what_is_still_open_at_the_end_has_failed() -> None:
    sent: list[Any] = []
    calls = ToolCalls(sent.append)
    calls.announce(calls.begin("a"), {"title": "t"}, "in_progress")
    calls.end_all()
    assert sent[-1]["status"] == "failed"
