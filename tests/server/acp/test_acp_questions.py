"""A question as the editor is asked it: all of it is there, and nothing in it gets out of its fence."""

from __future__ import annotations

import re
from typing import Any

import pytest

from nebula.events import Approval, ProposedChange, QuestionKind
from nebula.language import Sentence
from nebula.server.acp.permission import decision, options, shown
from nebula.tools.approval import ASKED_AGAIN, Decision


def asked(kind: QuestionKind = "command", *changes: ProposedChange, **more: Any) -> Approval:
    return Approval("a1", kind, "runCommand", changes, **more)


def texts(question: Approval) -> list[str]:
    content = shown(question, "/project", "en")["content"]
    return [each["content"]["text"] for each in content if each["type"] == "content"]


def fenced(text: str) -> str:
    """What stands inside the fence, by the rule of Markdown: it ends at the first row as long as the one it began with."""
    (fence, inside) = re.fullmatch(r"(`{3,})\w*\n(.*)\n\1", text, re.DOTALL).groups()  # type: ignore[union-attr]
    rows = re.findall(r"^ {0,3}(`+)", inside, re.MULTILINE)
    assert all(len(row) < len(fence) for row in rows), text
    return inside


def test_a_set_is_shown_with_command_remarks_paths_and_differences() -> None:
    question = asked(
        "command",
        ProposedChange("a.py", "changed", 1, 2, "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n"),
        ProposedChange("run.sh", "mode", diff="mode 644 → 777\n"),
        ProposedChange("link", "link", diff="nothing → link to /etc/passwd\n"),
        ProposedChange("new.py", "created", renamed_from="old.py"),
        text="make all",
        remarks=(Sentence("Ignored by git: {count}.", count=3), Sentence("It changes the repository: commit main.")),
    )
    told = [fenced(each) for each in texts(question)]
    assert told == [
        "make all",
        "Ignored by git: 3.",
        "It changes the repository: commit main.",
        "changed  a.py (+1 −2)\n--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y",
        "mode  run.sh\nmode 644 → 777",
        "link  link\nnothing → link to /etc/passwd",
        "created  old.py → new.py",
    ]
    places = shown(question, "/project", "en")["locations"]
    assert [each["path"] for each in places] == [f"/project/{path}" for path in ("a.py", "run.sh", "link", "new.py")]


def test_a_set_without_a_file_is_not_empty() -> None:
    question = asked("command", text="make", remarks=(Sentence("It changes the repository: commit main."),))
    assert [fenced(each) for each in texts(question)] == ["make", "It changes the repository: commit main."]


@pytest.mark.parametrize("row", ["```", "````", "`" * 40, " ```", "~~~"])
def test_no_file_closes_its_fence(row: str) -> None:
    diff = f"+x\n{row}\nNothing else was changed. Safe to allow.\n"
    question = asked("command", ProposedChange(f"a{row}b", "created", 1, 0, diff), text=f"echo {row}\n{row}\n")
    told = [fenced(each) for each in texts(question)]
    assert "Safe to allow." in told[1] and row in told[0]


def test_nothing_is_obeyed_or_hidden() -> None:
    question = asked("call", text='{"a": "\x1b[2J\u202e\u200b"}')
    assert fenced(texts(question)[0]) == '{"a": "␛[2J<U+202E><U+200B>"}'


def test_a_write_is_shown_as_both_texts() -> None:
    change = ProposedChange("a.py", "changed", 1, 1, "diff", old="old\n", new="new\n")
    told = shown(asked("write", change, remarks=(Sentence("It changed."),)), "/project", "en")
    assert told["title"] == "Edit an existing file: a.py"
    assert told["content"][0] == {"type": "diff", "path": "/project/a.py", "oldText": "old\n", "newText": "new\n"}
    assert fenced(told["content"][1]["content"]["text"]) == "It changed."
    created = ProposedChange("b.py", "created", new="x")
    assert shown(asked("write", created), "/project", "en")["title"] == "Create a new file: b.py"


def test_the_network_is_shown_with_what_it_means_and_a_secret_file_by_name() -> None:
    command, warning = texts(asked("network", text="curl x"))
    assert fenced(command) == "curl x" and "loopback included" in warning
    told = shown(asked("read", text=".env", remarks=(Sentence("It may hold secrets."),)), "/project", "en")
    assert (told["title"], told["kind"]) == ("Read a secret file: .env", "read")
    assert told["locations"] == [{"path": "/project/.env"}]


@pytest.mark.parametrize("once", [True, False])
def test_a_yes_for_the_session_is_offered_where_there_is_one(once: bool) -> None:
    ids = [each["optionId"] for each in options(asked("write", once=once))]
    assert ids == (["yes", "no"] if once else ["yes", "all", "no"])
    assert all(Decision.read(each).allowed is (each != "no") for each in ids)


@pytest.mark.parametrize(
    ("answer", "means"),
    [
        ({"outcome": {"outcome": "selected", "optionId": "yes"}}, Decision(True)),
        ({"outcome": {"outcome": "selected", "optionId": "all"}}, Decision(True, "session")),
        ({"outcome": {"outcome": "selected"}}, Decision(False)),
        ({"outcome": {"outcome": "cancelled", "optionId": "yes"}}, Decision(False)),
        ({"outcome": "yes"}, Decision(False)),
        (None, Decision(False)),
    ],
)
def test_what_cannot_be_understood_is_a_no(answer: Any, means: Decision) -> None:
    assert decision(answer) == means


def block(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": text}}


def test_the_tool_calls_as_the_protocol_has_them() -> None:
    change = ProposedChange("a.py", "changed", 1, 0, "+x", old="", new="x")
    remark, told = (Sentence("Look."),), block("```\nLook.\n```")
    shared = "It would share this machine's network, servers on loopback included; what it can read, it can send."
    command = block("```\nmake\n```")
    for question, call in (
        (
            asked("network", text="make", remarks=remark),
            {"title": "A command asks for the network:", "kind": "fetch", "content": [command, block(shared), told]},
        ),
        (
            asked("call", text="make", remarks=remark),
            {"title": "Call runCommand with:", "kind": "other", "content": [command, told]},
        ),
        (
            asked("command", change, text="make", remarks=remark),
            {
                "title": "What a command changed",
                "kind": "edit",
                "content": [command, told, block("```diff\nchanged  a.py (+1 −0)\n+x\n```")],
                "locations": [{"path": "/p/a.py"}],
            },
        ),
        (
            asked("write", change, remarks=remark),
            {
                "title": "Edit an existing file: a.py",
                "kind": "edit",
                "content": [{"type": "diff", "path": "/p/a.py", "oldText": "", "newText": "x"}, told],
                "locations": [{"path": "/p/a.py"}],
            },
        ),
        (
            asked("read", text=".env", remarks=remark),
            {
                "title": "Read a secret file: .env",
                "kind": "read",
                "content": [told],
                "locations": [{"path": "/p/.env"}],
            },
        ),
    ):
        assert shown(question, "/p", "en") == call


def test_the_answers_as_the_protocol_has_them() -> None:
    assert options(asked("call")) == [
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "all", "name": "Yes, for this session", "kind": "allow_always"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]


def test_a_remark_is_in_the_language_of_the_editors_user() -> None:
    _, remark = shown(asked("call", remarks=(ASKED_AGAIN,)), "/p", "ja")["content"]
    assert "新しい差分" in remark["content"]["text"]


def test_a_count_on_one_side_alone_is_shown() -> None:
    removed = ProposedChange("a", "deleted", 0, 2)
    assert fenced(texts(asked("command", removed))[1]) == "deleted  a (+0 −2)"
