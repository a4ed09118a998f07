"""A question as the editor is asked it: all of it is there, and nothing in it gets out of its fence."""

from __future__ import annotations

import re
from typing import Any

import pytest

from nebula.events import Approval, ProposedChange, QuestionKind
from nebula.language import Sentence, use_language
from nebula.server.acp.permission import MOST_TEXT, agreement, chosen_option, options, show_question
from nebula.server.acp.questions import Question
from nebula.tools.approval import ASKED_AGAIN, Decision
from nebula.workspace.diff import diff_texts
from rows import each_row


def asked(kind: QuestionKind = "command", *changes: ProposedChange, **more: Any) -> Approval:
    return Approval("a1", kind, "runCommand", changes, **more)


def texts(question: Approval) -> list[str]:
    content = show_question(question, "/project", "en")["content"]
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
        "created  new.py (was old.py)",
    ]
    places = show_question(question, "/project", "en")["locations"]
    assert [each["path"] for each in places] == [f"/project/{path}" for path in ("a.py", "run.sh", "link", "new.py")]


def test_a_set_without_a_file_is_not_empty() -> None:
    question = asked("command", text="make", remarks=(Sentence("It changes the repository: commit main."),))
    assert [fenced(each) for each in texts(question)] == ["make", "It changes the repository: commit main."]


@each_row("row", ["```", "````", "`" * 40, " ```", "~~~"])
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
    told = show_question(asked("write", change, remarks=(Sentence("It changed."),)), "/project", "en")
    assert told["title"] == "Edit an existing file: a.py"
    assert told["content"][0] == {"type": "diff", "path": "/project/a.py", "oldText": "old\n", "newText": "new\n"}
    assert fenced(told["content"][1]["content"]["text"]) == "It changed."
    created = ProposedChange("b.py", "created", new="x")
    assert show_question(asked("write", created), "/project", "en")["title"] == "Create a new file: b.py"


def test_the_network_is_shown_with_what_it_means_and_a_secret_file_by_name() -> None:
    command, warning = texts(asked("network", text="curl x"))
    assert fenced(command) == "curl x" and "loopback included" in warning
    told = show_question(asked("read", text=".env", remarks=(Sentence("It may hold secrets."),)), "/project", "en")
    assert (told["title"], told["kind"]) == ("Read a secret file: .env", "read")
    assert told["locations"] == [{"path": "/project/.env"}]


@pytest.mark.parametrize("once", [True, False])
def test_a_yes_for_the_session_is_offered_where_there_is_one(once: bool) -> None:
    ids = [each["optionId"] for each in options(asked("write", once=once))]
    assert ids == (["yes", "no"] if once else ["yes", "all", "no"])
    assert all(Decision.read(each).allowed is (each != "no") for each in ids)


@each_row(
    ("answer", "means"),
    [
        ({"outcome": {"outcome": "selected", "optionId": "yes"}}, "yes"),
        ({"outcome": {"outcome": "selected", "optionId": "no"}}, "no"),
        ({"outcome": {"outcome": "selected", "optionId": "all"}}, ""),
        ({"outcome": {"outcome": "selected", "optionId": ["yes"]}}, ""),
        ({"outcome": {"outcome": "selected"}}, ""),
        ({"outcome": {"outcome": "cancelled", "optionId": "yes"}}, ""),
        ({"outcome": "yes"}, ""),
        (None, ""),
    ],
)
def test_what_was_not_offered_is_no_answer(answer: Any, means: str) -> None:
    assert chosen_option(answer, agreement()) == means


def block(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": text}}


def test_the_tool_calls_as_the_protocol_has_them() -> None:
    texts = {"type": "diff", "path": "/p/a.py", "oldText": "", "newText": "x"}
    change = ProposedChange("a.py", "changed", 1, 0, "--- a/a.py\n+++ b/a.py\n@@ -0,0 +1 @@\n+x\n", old="", new="x")
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
                "title": "What a command changed: make",
                "kind": "edit",
                "content": [command, told, texts],
                "locations": [{"path": "/p/a.py"}],
            },
        ),
        (
            asked("write", change, remarks=remark),
            {
                "title": "Edit an existing file: a.py",
                "kind": "edit",
                "content": [texts, told],
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
        assert show_question(question, "/p", "en") == call


DIFF = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y{}\n"


def test_what_two_texts_do_not_show_stands_beside_them() -> None:
    changes = (
        ProposedChange("run.sh", "changed", 1, 1, "mode 644 → 755\n" + DIFF.format(""), old="x\n", new="y\n"),
        ProposedChange("gone.py", "deleted", 0, 1, "--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", old="x\n"),
        ProposedChange("b.py", "changed", 1, 1, DIFF.format("\u202e"), old="x\n", new="y\u202e\n"),
    )
    content = show_question(asked("command", *changes, text="make"), "/p", "en")["content"][1:]
    assert [each["type"] for each in content] == ["content", "diff"] * 3
    beside = [fenced(each["content"]["text"]) for each in content[::2]]
    assert beside[:2] == ["changed  run.sh (+1 −1)\nmode 644 → 755", "deleted  gone.py (+0 −1)"]
    assert "+y<U+202E>" in beside[2], "what would not be seen is written out"
    assert [(each["oldText"], each["newText"]) for each in content[1::2]][1] == ("x\n", "")
    written = asked("write", changes[2])
    texts, seen = show_question(written, "/p", "en")["content"]
    assert texts["newText"] == "y\u202e\n" and "<U+202E>" in seen["content"]["text"]


def test_texts_beyond_the_limit_go_as_a_difference() -> None:
    large = "x" * (MOST_TEXT // 2)
    changes = [ProposedChange(f"{n}.py", "changed", 1, 1, DIFF.format(""), old=large, new="y") for n in range(3)]
    content = show_question(asked("command", *changes), "/p", "en")["content"][1:]
    assert [each["type"] for each in content] == ["diff", "content", "content"]


async def answered(question: Approval, *answers: str) -> tuple[Decision, list[dict[str, Any]]]:
    """Return what is decided by these answers, and the tool calls that were asked about."""
    given, seen = iter(answers), []

    async def choose(shown: Any, offered: Any) -> str:
        seen.append(shown)
        answer = next(given)
        assert answer in {"", *(each["optionId"] for each in offered)}
        return answer

    decided = await Question(question, "/p", "en").decide(choose)
    assert next(given, None) is None
    return decided, seen


async def test_hunks_are_asked_about_one_by_one() -> None:
    old = "".join(f"{number}\n" for number in range(30))
    new = old.replace("2\n3\n", "2\nthree\n", 1).replace("25\n", "twenty-five\n")
    change = ProposedChange("a.py", "changed", 2, 2, diff_texts("a.py", old, new).text, old=old, new=new)
    question = asked("write", change)
    assert [each["optionId"] for each in options(question)] == ["yes", "hunks", "all", "no"]
    decided, seen = await answered(question, "hunks", "no", "yes")
    assert decided == Decision(True, hunks=(2,))
    assert [each["title"] for each in seen[1:]] == ["Take hunk 1 of 2? a.py", "Take hunk 2 of 2? a.py"]
    (first,), (second,) = (each["content"] for each in seen[1:])
    assert "three" in first["newText"] and "twenty-five" not in first["newText"]
    assert "three" not in second["newText"] and "twenty-five" in second["newText"]
    assert (await answered(question, "hunks", "yes", "yes"))[0] == Decision(True)
    assert (await answered(question, "hunks", "no", "no"))[0] == Decision(False)
    assert (await answered(question, "hunks", "yes", ""))[0] == Decision(False), "closed: nothing of it"


async def test_a_hunk_that_hides_something_is_shown_written_out() -> None:
    old = "".join(f"{number}\n" for number in range(30))
    new = old.replace("2\n", "two\u200b\n", 1).replace("25\n", "twenty-five\n")
    change = ProposedChange("a.py", "changed", 2, 2, diff_texts("a.py", old, new).text, old=old, new=new)
    _, seen = await answered(asked("write", change), "hunks", "no", "no")
    assert "+two<U+200B>" in fenced(seen[1]["content"][0]["content"]["text"])


async def test_files_of_a_command_are_asked_about_one_by_one() -> None:
    changes = [
        ProposedChange(name, "created", 1, 0, f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n", new="x\n")
        for name in "abc"
    ]
    question = asked("command", *changes, text="make")
    assert [each["optionId"] for each in options(question)] == ["yes", "files", "all", "no"]
    decided, seen = await answered(question, "files", "yes", "no", "yes")
    assert decided == Decision(True, paths=("a", "c"))
    assert [each["locations"] for each in seen[1:]] == [[{"path": f"/p/{name}"}] for name in "abc"]
    assert (await answered(question, "files", "no", "no", "no"))[0] == Decision(False)


def test_the_answers_as_the_protocol_has_them() -> None:
    assert options(asked("call")) == [
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "all", "name": "Yes, for this session", "kind": "allow_always"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]


def test_a_remark_is_in_the_language_of_the_editors_user() -> None:
    _, remark = show_question(asked("call", remarks=(ASKED_AGAIN,)), "/p", "ja")["content"]
    assert "新しい差分" in remark["content"]["text"]


def test_a_count_on_one_side_alone_is_shown() -> None:
    removed = ProposedChange("a", "deleted", 0, 2)
    assert fenced(texts(asked("command", removed))[1]) == "deleted  a (+0 −2)"


def test_what_becomes_of_a_path_is_said_in_the_users_language() -> None:
    use_language("ja")
    try:
        moved = asked("command", ProposedChange("new.py", "created", renamed_from="old.py"))
        assert fenced(texts(moved)[-1]) == "作成  new.py（旧 old.py）"
    finally:
        use_language("en")
