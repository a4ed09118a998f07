"""Which words are a yes, how far it reaches, and what is written because of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nebula.events import Approval, Notice, ProposedChange, QuestionKind
from nebula.messages import AssistantToolUse, Json
from nebula.sandbox.contract import Entry, LayerChange
from nebula.tools.approval import (
    ASKED_AGAIN,
    BY_NAME,
    MAX_LEFT_OUT,
    MAX_QUESTIONS,
    MAX_TRIES,
    REFUSED,
    Approvals,
    Approved,
    Decision,
    WritersOfTurn,
    agrees,
    allow_all,
    has_part,
    reaches_too_far,
)
from nebula.tools.commands.change_set import CommandChanges
from nebula.tools.commands.settling import Settling
from nebula.tools.contract import Call, Outcome, ToolFailure
from nebula.tools.files.edit_file import EditFile
from nebula.tools.files.write_file import WriteFile
from nebula.tools.ledger import ReadLedger
from nebula.tools.permissions import EVERY_FILE, NETWORK, YES_TO_ALL, Permission
from nebula.tools.result_limits import cut_middle
from nebula.tools.writing import WritingTool
from nebula.value import replace
from nebula.workspace import open_workspace
from nebula.workspace.diff import diff_texts
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.proposing import propose_text
from rows import each_row

YES = [
    "y", "yes", "yep", "yeah", "sure", "ok", "okay", "yes please", "ok go", "go ahead", "do it", "please do",
    "はい", "うん", "ええ", "オーケー", "了解", "承認", "許可", "どうぞ", "いいよ", "いいです", "お願いします",
    "はい お願いします", "はい、お願いします", "はい、 お願いします。", "YES", " Yes. ", "ok!", "OK, go", "yes,please!",
    "ｙｅｓ", "Ｙ", "はい。", "ｵｰｹｰ", "yes . ", "go\tahead", "y.!。",
]  # fmt: skip
NO = [
    "", " ", "no", "n", "N", "No", "no.", "nope", "ｎｏ", "いいえ", "やめて",
]  # fmt: skip
REASONS = [
    "yes but rename it", "yes no", "not ok", "okay?", "yesx", "xyes", ".yes", "!ok", "yy", "y y", "いい",
    "はいいいえ", "はい 違う", "allow", "all of it", "aa", "ok go ahead", "do", "please",
]  # fmt: skip


@each_row("text", YES)
def test_a_word_of_agreement(text: str) -> None:
    assert agrees(text)
    assert Decision.read(text) == Decision(True, "once")


@each_row("text", ["all", "ALL", " a ", "Ａ", "A"])
def test_a_yes_for_the_session(text: str) -> None:
    assert not agrees(text)
    assert Decision.read(text) == Decision(True, "session")


@each_row("text", NO)
def test_a_plain_no(text: str) -> None:
    assert not agrees(text)
    assert Decision.read(text) == Decision(False, "once", reason="")


@each_row("text", REASONS)
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


def proposal(path: str, old: str | None = None, new: str = "new\n") -> ProposedChange:
    return propose_text(path, old, new)


def asked_about(kind: QuestionKind, *changes: ProposedChange, once: bool = False) -> Approval:
    return Approval("i", kind, "tool", changes, once=once)


def test_what_a_decision_names_has_to_be_there() -> None:
    lines = [f"{number}\n" for number in range(40)]
    changed = [*lines]
    changed[3] = changed[30] = "@@ x\n"
    question = asked_about("write", proposal("a.txt", "".join(lines), "".join(changed)))
    changes = asked_about("command", *(ProposedChange(path, "created", diff=question.diff) for path in ("a", "b")))
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
    for other in (asked_about("network"), asked_about("call")):
        assert has_part(other, Decision(True))
        assert not has_part(other, Decision(True, hunks=(1,)))
        assert not has_part(other, Decision(True, paths=("a",)))


async def test_a_rule_that_allows_all_allows_neither_the_network_nor_what_is_asked_by_name() -> None:
    reaching_out: tuple[QuestionKind, ...] = ("network", "fetch", "folders")
    for kind in reaching_out:
        assert await allow_all(asked_about(kind)) == Decision(False, "session")
    assert await allow_all(asked_about("write", once=True)) == Decision(False, "session")
    kinds: tuple[QuestionKind, ...] = ("write", "command", "call")
    for kind in kinds:
        assert await allow_all(asked_about(kind)) == Decision(True, "session")


@pytest.mark.parametrize("scope", ["once", "message", "pattern", "session"])
def test_a_yes_by_name_is_for_once(scope: Any) -> None:
    assert reaches_too_far(asked_about("write", once=True), Decision(True, scope)) is (scope != "once")
    assert not reaches_too_far(asked_about("write"), Decision(True, scope))


# asking

CALL = Call(AssistantToolUse("call-1", "t", "t", {}, {}))
TOOL = Permission("call", "notes__add", "as described")


def asked_for(
    decision: Decision, lasting: Permission | None, by_rule: str | None = None, attended: bool = False
) -> tuple[Approvals, list[Approval], list[Approval]]:
    """Put one question; what is held afterwards, the events that were emitted, and those the approver was handed."""
    emitted: list[Any] = []
    handed: list[Approval] = []

    async def approver(question: Approval) -> Decision:
        handed.append(question)
        return decision

    approvals = Approvals(approver, by_rule, attended)
    call = Call(CALL.use, emitted.append)
    assert asyncio.run(approvals.ask(asked_about("write"), call, lasting)) == decision
    return approvals, emitted, handed


def test_the_approver_is_handed_the_event_that_was_emitted() -> None:
    _, (emitted,), (handed,) = asked_for(Decision(True), TOOL)
    assert handed is emitted
    assert (handed.tool_use_id, handed.decision, handed.once) == ("call-1", None, False)


@pytest.mark.parametrize(
    ("by_rule", "allowed", "doing"), [(None, True, ["changing files"]), (None, False, ["working"]), ("yes", True, [])]
)
async def test_what_is_done_with_an_answer_is_shown(by_rule: str | None, allowed: bool, doing: list[str]) -> None:
    shown: list[Any] = []

    async def approver(_: Approval) -> Decision:
        assert shown == []
        return Decision(allowed)

    question = asked_about("write", proposal("a.txt"))
    await Approvals(approver, by_rule).ask(question, Call(CALL.use, show=shown.append), Permission("write", "*"))
    assert [str(each.sentence) for each in shown] == doing


@each_row("scope", ["once", "message", "pattern", "session"])
@each_row("allowed", [True, False])
@each_row("lasting", [TOOL, NETWORK, Permission("write", "*")])
def test_a_yes_for_the_session_is_held_and_nothing_else_is(scope: Any, allowed: bool, lasting: Permission) -> None:
    approvals, _, _ = asked_for(Decision(allowed, scope, pattern="*.py"), lasting)
    held = {"session": (lasting,), "pattern": (Permission("write", "*.py"),) if lasting.kind == "write" else ()}
    assert approvals.permissions.listed == approvals.granted == (held.get(scope, ()) if allowed else ())


def test_a_question_without_a_yes_for_the_session_is_asked_whatever_the_rule() -> None:
    approvals, (emitted,), _ = asked_for(Decision(True, "session"), None, "yes", True)
    assert emitted.once and emitted.decision is None
    assert approvals.permissions.listed == ()


def test_a_rule_is_told_and_leaves_nothing_behind_but_itself() -> None:
    for lasting in (TOOL, Permission("write", "*")):
        approvals, (emitted,), _ = asked_for(Decision(True, "session"), lasting, "yes")
        assert emitted.decision == "yes" and not approvals.permissions.listed
        assert approvals.granted == (YES_TO_ALL,)
    _, (emitted,), _ = asked_for(Decision(False), NETWORK, "yes", True)
    assert emitted.decision is None, "no rule answers for the network"


@pytest.mark.parametrize(
    ("by_rule", "attended", "there"), [(None, False, True), ("yes", False, False), ("yes", True, True)]
)
def test_who_can_be_asked(by_rule: str | None, attended: bool, there: bool) -> None:
    assert Approvals(allow_all, by_rule, attended).somebody_is_there is there


def test_what_is_taken_back_is_asked_about_again() -> None:
    approvals = Approvals(allow_all, "yes")
    for each in (TOOL, NETWORK):
        approvals.permissions.give(each)
    assert approvals.revoke("nothing") == () and approvals.granted == (YES_TO_ALL, TOOL, NETWORK)
    assert approvals.revoke("network") == (NETWORK,) and approvals.granted == (YES_TO_ALL, TOOL)
    assert approvals.revoke("--yes") == (YES_TO_ALL,) and approvals.by_rule is None and approvals.granted == (TOOL,)
    approvals.by_rule = "yes"
    assert approvals.revoke() == (YES_TO_ALL, TOOL) and approvals.granted == () and approvals.by_rule is None
    approvals.by_rule = "no"
    assert approvals.revoke() == () and approvals.by_rule == "no"


# a tool that asks


class Asked:
    """Answers in turn, and remembers the questions."""

    def __init__(self, *answers: Decision | Callable[[Approval], Decision]) -> None:
        self.answers = list(answers)
        self.questions: list[Approval] = []

    async def __call__(self, question: Approval) -> Decision:
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
        root.mkdir(exist_ok=True)
        self._tool = tool(open_workspace(str(root)), self.ledger)
        self.writers = WritersOfTurn()

    def use(self, path: str, use_id: str = "1", content: str = "x\n", tool: str = "writeFile") -> AssistantToolUse:
        args = {"path": path, "content": content, "new_content": content}
        return AssistantToolUse(use_id, tool, tool, args, args)

    def next_turn(self) -> None:
        self.writers = WritersOfTurn()

    def write(self, use: AssistantToolUse, *peers: AssistantToolUse) -> Outcome:
        tool = Approved(self._tool, self.approvals, self.writers)
        assert tool.spec is self._tool.spec
        return asyncio.run(tool.run(use.args, Call(use, self.events.append, peers or (use,))))


def test_the_question_is_told_as_an_event(tmp_path: Path) -> None:
    asked = Asked(Decision(True))
    bench = Bench(tmp_path, asked, by_rule="yes")
    outcome = bench.write(bench.use("a.txt", "call-7"))
    (question,) = asked.questions
    change = proposal("a.txt", new="x\n")
    assert bench.events == [
        Approval(
            question.approval_id,
            "write",
            "writeFile",
            (change,),
            together=(replace(change, new=None),),
            tool_use_id="call-7",
            decision="yes",
        )
    ]
    assert question.approval_id and question.path == "a.txt" and "+x" in question.diff
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


def test_a_hook_of_the_user_judges_what_was_allowed_and_only_makes_it_stricter(tmp_path: Path) -> None:
    judged: list[tuple[str, Any]] = []
    answers: list[str | None] = ["not\non Fridays", None]

    async def hook(tool: str, changes: Any) -> str | None:
        judged.append((tool, [(each.path, each.new) for each in changes]))
        return answers.pop(0)

    bench = Bench(tmp_path, Asked(Decision(True), Decision(True), Decision(False)))
    bench.approvals.before_write = hook
    with pytest.raises(ToolFailure) as refused:
        bench.write(bench.use("a.txt"))
    assert str(refused.value) == "The user refused: not\non Fridays" and refused.value.policy
    assert [str(each.sentence) for each in bench.events if isinstance(each, Notice)] == [
        "Your hook before_write refused it: not\non Fridays"
    ]
    assert not (tmp_path / "a.txt").exists()
    assert bench.write(bench.use("a.txt")).decision == "yes" and (tmp_path / "a.txt").read_text() == "x\n"
    with pytest.raises(ToolFailure):
        bench.write(bench.use("b.txt"))
    assert judged == [("writeFile", [("a.txt", "x\n")])] * 2, "what was refused already is not judged"


def test_a_hook_judges_the_part_of_a_change_that_was_allowed(tmp_path: Path) -> None:
    judged: list[str] = []

    async def hook(_: str, changes: Any) -> str | None:
        judged.extend(each.new for each in changes)
        return None

    bench = Bench(tmp_path, Asked(Decision(True, hunks=(1,))), tool=EditFile)
    bench.approvals.before_write = hook
    lines = [f"{number}\n" for number in range(40)]
    (tmp_path / "a.txt").write_text("".join(lines))
    bench.ledger.saw("a.txt", "".join(lines))
    lines[3] = "three\n"
    first = "".join(lines)
    lines[30] = "thirty\n"
    bench.write(bench.use("a.txt", content="".join(lines)))
    assert judged == [first] == [(tmp_path / "a.txt").read_text()]


def test_what_was_said_for_a_message_holds_for_it_alone(tmp_path: Path) -> None:
    asked = Asked(Decision(True, "message"), Decision(False))
    bench = Bench(tmp_path, asked)
    first, second, later = bench.use("a", "1"), bench.use("b", "2"), bench.use("c", "12")
    assert bench.write(first, first, second).decision == "yes"
    assert bench.write(second, first, second).decision == "all"
    with pytest.raises(ToolFailure):
        bench.write(later, later)
    assert len(asked.questions) == len(bench.events) == 2


def test_what_was_said_for_the_session_holds_for_every_later_write(tmp_path: Path) -> None:
    asked = Asked(Decision(True, "session"))
    bench = Bench(tmp_path, asked)
    assert [bench.write(bench.use(name)).decision for name in ("a", "src/b")] == ["all", "all"]
    assert bench.approvals.granted == (Permission("write", EVERY_FILE),)


def test_a_later_message_with_the_same_ids_is_asked_about(tmp_path: Path) -> None:
    for next_turn in (True, False):
        asked = Asked(Decision(True, "message"), Decision(False), Decision(False))
        bench = Bench(tmp_path / str(next_turn), asked)
        first = [bench.use("a.py", "call_1"), bench.use("b.py", "call_2")]
        later = [bench.use("deploy.sh", "call_1"), bench.use("c.py", "call_2")]
        for use in first:
            bench.write(use, *first)
        if next_turn:
            bench.next_turn()
        for use in later:
            with pytest.raises(ToolFailure):
                bench.write(use, *later)
        assert [question.path for question in asked.questions] == ["a.py", "deploy.sh", "c.py"]


def test_the_other_writes_of_the_message_are_shown_beside_it(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("old")
    asked = Asked(Decision(True))
    bench = Bench(tmp_path, asked)
    own = bench.use("b", "2", "two\n")
    fails, refused = bench.use("there", "3"), bench.use("../out", "4")
    other = bench.use("d", "5", tool="readFile")
    broken = AssistantToolUse("6", "writeFile", "writeFile", {}, "no object")  # type: ignore[arg-type]
    renamed = AssistantToolUse("7", "write_file", "writeFile", {}, {"path": "e", "content": "five\n\n"})
    bench.write(own, bench.use("a", "1", "one\n"), own, fails, refused, other, broken, renamed)
    (question,) = asked.questions
    assert [(each.path, each.added) for each in question.together] == [("a", 1), ("b", 1), ("e", 2)]
    assert question.together[1] == replace(question.changes[0], new=None)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != ".nebula") == ["b", "there"]


class CountingTool(WriteFile):
    proposed = 0
    on_the_loop = 0

    def propose(self, args: Any) -> ProposedChange:
        CountingTool.proposed += 1
        CountingTool.on_the_loop += threading.current_thread() is threading.main_thread()
        return super().propose(args)


def test_the_writes_of_a_message_are_looked_at_once_each_and_not_on_the_loop(tmp_path: Path) -> None:
    count = 20
    asked = Asked(*[Decision(True)] * count)
    bench = Bench(tmp_path, asked, tool=CountingTool)
    uses = [bench.use(f"{number}.txt", str(number)) for number in range(count)]
    CountingTool.proposed = CountingTool.on_the_loop = 0
    for use in uses:
        bench.write(use, *uses)
    assert len(asked.questions) == count, "a yes to one is none to the others"
    assert CountingTool.on_the_loop == 0
    assert CountingTool.proposed == 2 * count, "each for the list of the message, and each when its turn comes"


def test_a_file_that_keeps_changing_is_given_up(tmp_path: Path) -> None:
    def meanwhile(question: Approval) -> Decision:
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
    again = [bool(question.remarks) for question in asked.questions]
    assert again == [False] + [True] * (MAX_QUESTIONS - 1) and asked.questions[-1].remarks == (ASKED_AGAIN,)
    assert len({question.approval_id for question in asked.questions}) == MAX_QUESTIONS


@pytest.mark.parametrize("others", [MAX_QUESTIONS + 3, pytest.param(MAX_TRIES, marks=pytest.mark.slow)])
def test_where_a_rule_answers_a_write_waits_until_others_are_done(tmp_path: Path, others: int) -> None:
    def meanwhile(question: Approval) -> Decision:
        if len(asked.questions) <= others:
            with open(tmp_path / "a.txt", "a", encoding="utf-8") as file:
                file.write("another's\n")
        return Decision(True)

    asked = Asked(*[meanwhile] * MAX_TRIES)
    bench = Bench(tmp_path, asked, tool=EditFile, by_rule="yes")
    (tmp_path / "a.txt").write_text("old\n")
    args = {"path": "a.txt", "append": "mine\n"}
    use = AssistantToolUse("1", "editFile", "editFile", args, args)
    if others < MAX_TRIES:
        bench.write(use)
        assert (tmp_path / "a.txt").read_text() == "old\n" + "another's\n" * others + "mine\n"
    else:
        with pytest.raises(ToolFailure, match="keeps changing"):
            bench.write(use)
        assert len(asked.questions) == MAX_TRIES


def test_a_write_as_it_is_asked_about() -> None:
    created, edited = proposal("a", None, "x\ny\n"), proposal("a", "x\n", "y\nz\n")
    assert (created.path, created.kind, created.added, created.removed) == ("a", "created", 2, 0)
    assert (edited.path, edited.kind, edited.added, edited.removed) == ("a", "changed", 2, 1)
    assert (created.old, created.new, edited.old, edited.new) == (None, "x\ny\n", "x\n", "y\nz\n")
    assert edited.diff == diff_texts("a", "x\n", "y\nz\n").text


# by name


@pytest.mark.parametrize("path", ["AGENTS.md", ".github/workflows/ci.yml", ".env"])
def test_a_control_or_secret_file_is_one_question_that_nothing_else_answers(tmp_path: Path, path: str) -> None:
    asked = Asked(
        Decision(True, "session"), Decision(False), Decision(True, "message"), Decision(False, reason="no CI")
    )
    bench = Bench(tmp_path, asked, by_rule="yes")
    bench.approvals.attended = True
    bench.approvals.permissions.give(Permission("write", "*"))
    assert bench.write(bench.use(path, "call-7")).decision == "all"
    assert (tmp_path / path).read_text() == "x\n"
    (question,) = asked.questions
    assert (question.kind, question.tool, question.path, question.once) == ("write", "writeFile", path, True)
    assert (question.tool_use_id, question.decision, question.together) == ("call-7", None, ())
    assert question.changes == (proposal(path, new="x\n"),)
    assert [str(each) for each in question.remarks] == [BY_NAME.format(path=path)]
    assert bench.events == [question] and bench.approvals.permissions.listed == (Permission("write", "*"),)
    (tmp_path / path).unlink()
    for use_id in ("1", "2", "3"):
        uses = [bench.use(path, use_id), bench.use("a.txt", "other")]
        if use_id == "2":
            bench.write(uses[0], *uses)
            (tmp_path / path).unlink()
        else:
            with pytest.raises(ToolFailure):
                bench.write(uses[0], *uses)
    assert len({each.approval_id for each in asked.questions}) == 4 and not (tmp_path / path).exists()


def test_where_nobody_can_be_asked_it_is_refused_as_ever(tmp_path: Path) -> None:
    asked = Asked()
    for path in ("AGENTS.md", ".env"):
        bench = Bench(tmp_path, asked, by_rule="yes")
        with pytest.raises(WorkspaceError, match="the user must allow"):
            bench.write(bench.use(path))
    assert asked.questions == []


@pytest.mark.parametrize("path", [".git/config", ".nebula/config.json"])
def test_what_no_name_allows_is_no_question(tmp_path: Path, path: str) -> None:
    bench = Bench(tmp_path, Asked())
    with pytest.raises(WorkspaceError, match="never written"):
        bench.write(bench.use(path))


def test_a_control_file_that_changes_meanwhile_is_asked_about_again(tmp_path: Path) -> None:
    def meanwhile(_: Approval) -> Decision:
        (tmp_path / "AGENTS.md").write_text("two\n")
        bench.ledger.saw("AGENTS.md", "two\n")
        return Decision(True)

    asked = Asked(meanwhile, Decision(True))
    bench = Bench(tmp_path, asked, tool=EditFile)
    (tmp_path / "AGENTS.md").write_text("one\n")
    bench.ledger.saw("AGENTS.md", "one\n")
    bench.write(bench.use("AGENTS.md"))
    first, second = asked.questions
    assert len(first.remarks) == 1 and second.remarks[1:] == (ASKED_AGAIN,) and second.once
    assert "-two" in second.diff and (tmp_path / "AGENTS.md").read_text() == "x\n"


# a command


def changed(*paths: str) -> tuple[LayerChange, ...]:
    return tuple(LayerChange(path, "created", after=Entry("file", 0o644)) for path in paths)


@each_row(
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
    questions: list[Approval] = []

    async def no(question: Approval) -> Decision:
        questions.append(question)
        return Decision(False)

    approvals, layer = Approvals(no), None
    approvals.permissions.give(Permission("write", "src/*"))
    shown = tuple(ProposedChange(path, "created") for path in proposed)
    changes = CommandChanges(layer, shown, {}, ignored=changed(*ignored), repository=changed(*repository))  # type: ignore[arg-type]
    use = AssistantToolUse("1", "runCommand", "runCommand", {}, {})
    call = Call(use, lambda _: None, (use,))
    settling = Settling("make", None, None, approvals, call, lambda *_: {})  # type: ignore[arg-type]
    decision = await settling.decide(changes)
    assert (decision.allowed, bool(questions)) == (stands, not stands)
    assert all(question.text == "make" and question.changes == shown for question in questions)


@pytest.mark.parametrize(
    "args", [{"append": "b\n"}, {"new_content": "b\n", "makes": True}], ids=["append", "overwrite"]
)
async def test_a_file_that_is_made_while_somebody_thinks_is_looked_at_again(
    tmp_path: Path, args: dict[str, Any]
) -> None:
    ledger, asked = ReadLedger(), []
    tool = EditFile(open_workspace(str(tmp_path)), ledger)

    async def approver(question: Approval) -> Decision:
        asked.append(question)
        if len(asked) == 1:
            (tmp_path / "log.txt").write_text("a\n")  # another task, at the same time
            ledger.saw("log.txt", "a\n")
        return Decision(True)

    use = AssistantToolUse("1", "editFile", "editFile", {}, {"path": "log.txt", **args})
    outcome = await Approved(tool, Approvals(approver), WritersOfTurn()).run(use.orig_args, Call(use, peers=(use,)))
    assert outcome.code == 200 and len(asked) == 2
    assert (tmp_path / "log.txt").read_text() == ("a\nb\n" if "append" in args else "b\n")


def test_only_the_dialect_s_overwrite_makes_a_file(tmp_path: Path) -> None:
    tool = EditFile(open_workspace(str(tmp_path)), ReadLedger())
    with pytest.raises(ToolFailure, match="does not exist"):
        tool.propose({"path": "a.txt", "new_content": "x"})
    with pytest.raises(ToolFailure, match="does not exist"):
        tool.propose({"path": "a.txt", "edits": [{"old_text": "x", "new_text": "y"}], "makes": True})
    assert tool.propose({"path": "a.txt", "new_content": "x", "makes": True}).old is None
