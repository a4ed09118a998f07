"""Which words are a yes, how far it reaches, and what is written because of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nebula.events import Approval, ProposedChange
from nebula.messages import AssistantToolUse, Json
from nebula.sandbox.contract import LayerChange
from nebula.tools.approval import (
    MAX_LEFT_OUT,
    MAX_QUESTIONS,
    REFUSED,
    AnyQuestion,
    Approvals,
    Approved,
    CallQuestion,
    Decision,
    NetworkQuestion,
    Question,
    SetQuestion,
    agrees,
    allow_all,
    has_part,
)
from nebula.tools.commands.change_set import CommandChanges
from nebula.tools.commands.run_command import RunCommand
from nebula.tools.contract import Call, Outcome, ToolFailure
from nebula.tools.files.edit_file import EditFile
from nebula.tools.files.write_file import WriteFile
from nebula.tools.ledger import ReadLedger
from nebula.tools.result_limits import cut_middle
from nebula.tools.writing import Proposal, WritingTool
from nebula.workspace import open_workspace
from nebula.workspace.diff import diff_texts

YES = [
    "y", "yes", "yep", "yeah", "sure", "ok", "okay", "yes please", "ok go", "go ahead", "do it", "please do",
    "はい", "うん", "ええ", "オーケー", "了解", "承認", "許可", "どうぞ", "いいよ", "いいです", "お願いします",
    "はい お願いします", "はい、お願いします", "はい、 お願いします。", "YES", " Yes. ", "ok!", "OK, go", "yes,please!",
    "ｙｅｓ", "Ｙ", "はい。", "ｵｰｹｰ", "yes . ", "go\tahead", "y.!。",
]  # fmt: skip
NO = [
    "", " ", "no", "n", "N", "No", "ｎｏ", "いいえ",
]  # fmt: skip
REASONS = [
    "nope", "yes but rename it", "yes no", "not ok", "okay?", "yesx", "xyes", ".yes", "!ok", "no.", "yy", "y y", "いい",
    "はいいいえ", "はい 違う", "allow", "all of it", "aa", "ok go ahead", "do", "please",
]  # fmt: skip


@pytest.mark.parametrize("text", YES)
def test_a_word_of_agreement(text: str) -> None:
    assert agrees(text)
    assert Decision.read(text) == Decision(True, "once")


@pytest.mark.parametrize("text", ["all", "ALL", " a ", "Ａ", "A"])
def test_a_yes_for_the_session(text: str) -> None:
    assert not agrees(text)
    assert Decision.read(text) == Decision(True, "session")


@pytest.mark.parametrize("text", NO)
def test_a_plain_no(text: str) -> None:
    assert not agrees(text)
    assert Decision.read(text) == Decision(False, "once", reason="")


@pytest.mark.parametrize("text", REASONS)
def test_anything_else_is_a_no_with_its_reason(text: str) -> None:
    assert not agrees(text)
    assert Decision.read(f" {text} ") == Decision(False, reason=text)


@pytest.mark.parametrize(
    ("text", "hunks"),
    [("hunks 1, 3", (1, 3)), (" HUNK 2 ", (2,)), ("hunks 10 2,,3", (10, 2, 3)), ("ｈｕｎｋ ７", (7,))],
)
def test_a_yes_to_some_hunks(text: str, hunks: tuple[int, ...]) -> None:
    assert Decision.read(text) == Decision(True, hunks=hunks)
    assert Decision.read(text).word() == f"hunks {', '.join(map(str, hunks))}"


WORDS = [*YES, *NO, *REASONS, "all", "a", "hunks 1", "hunk 2, 3", "hunks 0", "hunks 10 2,,3"]


@given(st.sampled_from(WORDS) | st.text())
def test_what_is_recorded_of_an_answer_reads_back_as_it(text: str) -> None:
    decision = Decision.read(text)
    assert Decision.read(decision.word()) == decision


def test_the_words_of_decisions_that_no_text_makes() -> None:
    assert Decision(True, "message").word() == Decision(True, "pattern", pattern="*").word() == "yes"
    assert Decision(True, paths=("a",)).word() == "some"
    assert Decision(True, "session").word() == "all"
    assert Decision(False).word() == "no"


def proposal(path: str, old: str | None = None, new: str = "new\n") -> Proposal:
    return Proposal.of("writeFile", path, old, new, "")


PATTERNS = ["src/*", "*.md", "a.txt", "*"]
DECISIONS = st.builds(
    Decision,
    st.booleans(),
    st.sampled_from(["once", "message", "pattern", "session"]),
    pattern=st.sampled_from(PATTERNS[:3]),
)


@given(st.lists(st.tuples(DECISIONS, st.sampled_from(["m1", "m2"])) | st.none(), max_size=6))
def test_a_yes_reaches_as_far_as_it_says_until_it_is_taken_back(history: list[tuple[Decision, str] | None]) -> None:
    approvals = Approvals(allow_all)
    for step in history:
        if step is None:
            approvals.revoke()
        else:
            approvals.remember(*step)
    last = len(history) - [*reversed(history), None].index(None)
    held = [step for step in history[last:] if step is not None and step[0].allowed]
    session = any(decision.scope == "session" for decision, _ in held)
    patterns = [decision.pattern for decision, _ in held if decision.scope == "pattern"]
    messages = {key for decision, key in held if decision.scope == "message"}
    assert approvals.granted == (("*",) if session else tuple(patterns))
    for path in ("src/a.py", "src/b/c.py", "docs/x.md", "a.txt", "b.txt"):
        matched = session or any(fnmatchcase(path, pattern) for pattern in patterns)
        assert approvals.stands_for([path]) is matched
        for key in ("m1", "m2"):
            assert approvals.standing(proposal(path), key) is (matched or key in messages)


def test_a_yes_stands_for_several_paths_if_it_reaches_each() -> None:
    approvals = Approvals(allow_all)
    approvals.remember(Decision(True, "pattern", pattern="src/*"), "m")
    approvals.remember(Decision(True, "pattern", pattern="*.md"), "m")
    assert approvals.stands_for(["src/a.py", "b.md"])
    assert not approvals.stands_for(["src/a.py", "b.txt"])


def test_what_a_decision_names_has_to_be_there() -> None:
    lines = [f"{number}\n" for number in range(40)]
    changed = [*lines]
    changed[3] = changed[30] = "x\n"
    question = Question("i", proposal("a.txt", "".join(lines), "".join(changed)))
    changes = SetQuestion("i", tuple(ProposedChange(path, "created") for path in ("a", "b")))
    for hunks in ((), (1,), (2,), (1, 2)):
        assert has_part(question, Decision(True, hunks=hunks))
        assert has_part(changes, Decision(True, hunks=hunks)) is (hunks == ())
    for hunks in ((0,), (3,), (1, 3), (-1,)):
        assert not has_part(question, Decision(True, hunks=hunks))
    assert has_part(question, Decision(True, paths=("a.txt",)))
    assert not has_part(question, Decision(True, paths=("b.txt",)))
    assert not has_part(question, Decision(True, hunks=(1,), paths=("b.txt",)))
    assert has_part(changes, Decision(True, paths=("a", "b")))
    assert not has_part(changes, Decision(True, paths=("a", "c")))
    for other in (NetworkQuestion("i", "curl x"), CallQuestion("i", "tool", "{}")):
        assert has_part(other, Decision(True))
        assert not has_part(other, Decision(True, hunks=(1,)))
        assert not has_part(other, Decision(True, paths=("a",)))


async def test_a_rule_that_allows_all_allows_no_network() -> None:
    assert await allow_all(NetworkQuestion("i", "curl x")) == Decision(False, "session")
    for question in (Question("i", proposal("a")), SetQuestion("i", ()), CallQuestion("i", "t", "{}")):
        assert await allow_all(question) == Decision(True, "session")


# a tool that asks


class Asked:
    """Answers in turn, and remembers the questions."""

    def __init__(self, *answers: Decision | Callable[[Question], Decision]) -> None:
        self.answers = list(answers)
        self.questions: list[Question] = []

    async def __call__(self, question: AnyQuestion) -> Decision:
        assert isinstance(question, Question)
        self.questions.append(question)
        answer = self.answers.pop(0)
        return answer if isinstance(answer, Decision) else answer(question)


class Bench:
    def __init__(
        self, root: Path, asked: Asked, by_rule: str | None = None, tool: type[WritingTool] = WriteFile
    ) -> None:
        self.events: list[Any] = []
        self.ledger = ReadLedger()
        self.approvals = Approvals(asked, by_rule)
        self._tool = tool(open_workspace(str(root)), self.ledger)

    def use(self, path: str, use_id: str = "1", content: str = "x\n", tool: str = "writeFile") -> AssistantToolUse:
        args = {"path": path, "content": content, "new_content": content}
        return AssistantToolUse(use_id, tool, tool, args, args)

    def write(self, use: AssistantToolUse, *peers: AssistantToolUse) -> Outcome:
        tool = Approved(self._tool, self.approvals, {"writeFile": self._tool})
        assert tool.spec is self._tool.spec
        return asyncio.run(tool.run(use.args, Call(use, self.events.append, peers or (use,))))


def test_the_question_is_told_as_an_event(tmp_path: Path) -> None:
    asked = Asked(Decision(True))
    bench = Bench(tmp_path, asked, by_rule="yes")
    outcome = bench.write(bench.use("a.txt", "call-7"))
    (question,) = asked.questions
    assert bench.events == [
        Approval(question.approval_id, "a.txt", "writeFile", question.proposal.diff, "call-7", "yes")
    ]
    assert question.approval_id
    assert (outcome.decision, outcome.content) == ("yes", (Json({"success": True}),))


def test_a_no_writes_nothing_and_says_why(tmp_path: Path) -> None:
    for decision, said, word in (
        (Decision(False), REFUSED, "no"),
        (Decision(False, reason="rename it"), "The user refused: rename it", "rename it"),
        (Decision(True, paths=("b.txt",)), REFUSED, "some"),
        (Decision(True, hunks=(2,)), REFUSED, "hunks 2"),
        (Decision(False, hunks=(1,)), REFUSED, "hunks 1"),
    ):
        bench = Bench(tmp_path, Asked(decision))
        with pytest.raises(ToolFailure) as failure:
            bench.write(bench.use("a.txt"))
        assert str(failure.value) == said
        assert (failure.value.code, failure.value.policy, failure.value.decision) == (403, True, word)
        assert not (tmp_path / "a.txt").exists()


def test_the_model_is_told_what_was_left_out_of_its_change(tmp_path: Path) -> None:
    bench = Bench(tmp_path, Asked(Decision(True, hunks=(1,))), tool=EditFile)
    lines = [f"{number}\n" for number in range(40)]
    (tmp_path / "a.txt").write_text("".join(lines))
    bench.ledger.saw("a.txt", "".join(lines))
    lines[3] = "three\n"
    first = "".join(lines)
    lines[30] = "long " * MAX_LEFT_OUT + "\n"
    outcome = bench.write(bench.use("a.txt", content="".join(lines)))
    assert (tmp_path / "a.txt").read_text() == first
    left_out, _ = cut_middle(diff_texts("a.txt", first, "".join(lines)).text, MAX_LEFT_OUT)
    assert outcome.content == (
        Json({"success": True, "remark": "The user left out a part of this change:\n" + left_out}),
    )


def test_a_yes_to_a_path_writes_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path, Asked(Decision(True, paths=("a.txt", "b.txt"))))
    assert bench.write(bench.use("a.txt")).decision == "some"
    assert (tmp_path / "a.txt").read_text() == "x\n"


def test_what_was_said_for_a_message_holds_for_it_alone(tmp_path: Path) -> None:
    asked = Asked(Decision(True, "message"), Decision(False))
    bench = Bench(tmp_path, asked)
    first, second, later = bench.use("a", "1"), bench.use("b", "2"), bench.use("c", "12")
    assert bench.write(first, first, second).decision == "yes"
    assert bench.write(second, first, second).decision == "all"
    with pytest.raises(ToolFailure):
        bench.write(later, later)
    assert len(asked.questions) == len(bench.events) == 2


def test_two_messages_are_told_apart_by_all_their_calls(tmp_path: Path) -> None:
    asked = Asked(Decision(True, "message"), Decision(False))
    bench = Bench(tmp_path, asked)
    one, two, both = bench.use("a", "1"), bench.use("b", "2"), bench.use("c", "12")
    bench.write(one, one, two)
    with pytest.raises(ToolFailure):
        bench.write(both, both)


def test_the_other_writes_of_the_message_are_shown_beside_it(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("old")
    asked = Asked(Decision(True))
    bench = Bench(tmp_path, asked)
    own = bench.use("b", "2", "two\n")
    fails, refused = bench.use("there", "3"), bench.use("../out", "4")
    other = bench.use("d", "5", tool="readFile")
    broken = AssistantToolUse("6", "writeFile", "writeFile", {}, "no object")  # type: ignore[arg-type]
    renamed = AssistantToolUse("7", "write_file", "writeFile", {}, {"path": "e", "content": "five\n"})
    bench.write(own, bench.use("a", "1", "one\n"), own, fails, refused, other, broken, renamed)
    (question,) = asked.questions
    assert [(each.path, each.new) for each in question.together] == [("a", "one\n"), ("b", "two\n"), ("e", "five\n")]
    assert question.together[1] is question.proposal
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != ".nebula") == ["b", "there"]


def test_a_file_that_keeps_changing_is_given_up(tmp_path: Path) -> None:
    def meanwhile(question: Question) -> Decision:
        text = f"{len(asked.questions)}\n"
        (tmp_path / "a.txt").write_text(text)
        bench.ledger.saw("a.txt", text)
        return Decision(True)

    asked = Asked(*[meanwhile] * (MAX_QUESTIONS + 1))
    bench = Bench(tmp_path, asked, tool=EditFile)
    (tmp_path / "a.txt").write_text("old\n")
    bench.ledger.saw("a.txt", "old\n")
    with pytest.raises(ToolFailure) as failure:
        bench.write(bench.use("a.txt"))
    assert str(failure.value) == "a.txt keeps changing while it is being approved. Read it again later."
    assert failure.value.code == 409
    assert [question.asked_again for question in asked.questions] == [False] + [True] * (MAX_QUESTIONS - 1)
    assert len({question.approval_id for question in asked.questions}) == MAX_QUESTIONS


# a command


def changed(*paths: str) -> tuple[LayerChange, ...]:
    return tuple(LayerChange(path, "created") for path in paths)


@pytest.mark.parametrize(
    ("proposed", "ignored", "repository", "stands"),
    [
        (["src/a"], [], [], True),
        (["src/a"], ["src/build/x"], [], True),
        (["src/a"], [".venv/bin/python"], [], False),
        (["src/a"], [], [".git/index"], False),
        (["src/a", "b"], [], [], False),
        ([], ["b"], [], False),
        ([], [], [".git/index"], False),
    ],
)
async def test_an_earlier_yes_reaches_a_command_only_if_it_reaches_all_that_would_be_written(
    proposed: list[str], ignored: list[str], repository: list[str], stands: bool
) -> None:
    questions: list[AnyQuestion] = []

    async def no(question: AnyQuestion) -> Decision:
        questions.append(question)
        return Decision(False)

    approvals, layer = Approvals(no), None
    approvals.remember(Decision(True, "pattern", pattern="src/*"), "m")
    shown = tuple(ProposedChange(path, "created") for path in proposed)
    changes = CommandChanges(layer, shown, {}, ignored=changed(*ignored), repository=changed(*repository))  # type: ignore[arg-type]
    use = AssistantToolUse("1", "runCommand", "runCommand", {}, {})
    command = RunCommand.__new__(RunCommand)
    decision = await command._decide(changes, approvals, Call(use, lambda _: None, (use,)))
    assert (decision.allowed, bool(questions)) == (stands, not stands)
