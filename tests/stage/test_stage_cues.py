"""Each cue, scene and line to the letter: what a face is handed, and what stays of it for the next event."""

from typing import Any

import pytest

from nebula.events import (
    Activity,
    Approval,
    Checked,
    CheckRun,
    Citations,
    CommandRun,
    Delta,
    Diff,
    Error,
    Event,
    Final,
    Message,
    Notice,
    Output,
    Plan,
    ProposedChange,
    Retry,
    Steering,
    Step,
    ToolResult,
    Usage,
)
from nebula.language import Sentence
from nebula.messages import AssistantMessage, Text, ToolResultStatus, ToolUseResult
from nebula.stage import (
    Ask,
    Backstage,
    Close,
    Cue,
    Curtain,
    DraftText,
    Heard,
    Remark,
    Say,
    Scene,
    StageOptions,
    closing_line,
    neutralise,
    perform,
)
from nebula.value import replace
from rows import each_row

ASKED = Approval("a1", "write", "writeFile", (ProposedChange("p", "changed", diff="d"),))
WORKING = Scene(curtain_down=True, command_runs=True)
JAPANESE = StageOptions("ja")
NO_ANSWER = "The turn ended without an answer."


@each_row(
    ("cue", "body"),
    [
        (Say("A", 2), {"cue": "say", "act": 2, "show": "A"}),
        (Curtain(), {"cue": "curtain", "path": ""}),
        (Curtain("a.py", "running ruff"), {"cue": "curtain", "path": "a.py", "doing": "running ruff"}),
        (Remark("R"), {"cue": "remark", "text": "R"}),
        (Ask(ASKED), {"cue": "ask", **ASKED.to_json()}),
        (Close(Final("", "limit", 0), "L"), {"cue": "close", "status": "limit", "line": "L"}),
        (Backstage("T", "B"), {"cue": "backstage", "title": "T", "text": "B"}),
        (Heard("H"), {"cue": "heard", "text": "H"}),
    ],
)
def test_a_cue_on_the_wire(cue: Cue, body: dict[str, Any]) -> None:
    assert cue.to_json() == body


@pytest.mark.parametrize(
    ("event", "scene", "cue"),
    [
        (Message(AssistantMessage.new_response(None, "Done.")), Scene(True, True, False, True), Say("Done.", 2)),
        (ASKED, Scene(), Ask(ASKED)),
    ],
)
def test_what_lifts_the_curtain_is_seen_in_the_scene(event: Event, scene: Scene, cue: Cue) -> None:
    after, cues = perform(WORKING, event, JAPANESE)
    assert (after, cues) == (scene, (cue,))
    assert after.curtain_down is False


@pytest.mark.parametrize(
    ("notice", "remark"),
    [
        (Notice(Sentence("Look\x1b.")), "Look␛."),
        (Notice(Sentence("running {program}", program="ruff")), "ruff を実行中"),
    ],
)
def test_work_goes_on_behind_a_remark(notice: Notice, remark: str) -> None:
    after, cues = perform(WORKING, notice, JAPANESE)
    assert cues == (Remark(remark), Curtain())
    assert after == Scene(False, False, True, False, (str(notice.sentence),))
    assert perform(after, notice, JAPANESE) == (after, ())
    assert perform(Scene(), notice, JAPANESE)[1] == (Remark(remark),)


@pytest.mark.parametrize("before", [Scene(), WORKING, Scene(spoken=True, command_runs=True)])
def test_what_the_user_said_is_heard_and_work_goes_on(before: Scene) -> None:
    after, cues = perform(before, Steering("also\x1b[m tests"), StageOptions())
    assert cues == (Heard("also␛[m tests"), Curtain())
    assert (after.spoken, after.curtain_down, after.command_runs) == (before.spoken, True, False)


def test_the_program_that_runs_is_named_in_the_language_of_the_audience() -> None:
    scene = Scene(curtain_down=True)
    for options, doing in ((StageOptions(), "running ru␊ff"), (JAPANESE, "ru␊ff を実行中")):
        after, cues = perform(scene, Output("c", program="ru\nff"), options)
        assert (after, cues) == (Scene(curtain_down=True, command_runs=True), (Curtain("", doing),))


def test_a_message_with_calls_lets_the_curtain_down() -> None:
    from nebula.messages import AssistantToolUse

    use = AssistantToolUse("c", "list", "list", {}, {})
    scene, cues = perform(Scene(), Message(AssistantMessage.new_tool_use(None, "I look.", [use])), StageOptions())
    after = Scene(spoken=True, curtain_down=True, doing="searching")
    assert (scene, cues) == (after, (Say("I look.", 1), Curtain(doing="searching")))


@pytest.mark.parametrize(
    ("names", "english", "japanese"),
    [
        (["readFile"], "reading a file", "ファイルを読み込み中"),
        (["readFile"] * 3, "reading 3 files", "3 個のファイルを読み込み中"),
        (["list", "searchCode"], "searching", "検索中"),
        (["readFile", "writeFile"], "", ""),
    ],
)
def test_what_tools_do_is_said_where_they_all_do_the_same(names: list[str], english: str, japanese: str) -> None:
    from nebula.messages import AssistantToolUse

    uses = [AssistantToolUse(str(n), "named_otherwise", name, {}, {}) for n, name in enumerate(names)]
    message = Message(AssistantMessage.new_tool_use(None, "", uses))
    for options, doing in ((StageOptions(), english), (JAPANESE, japanese)):
        assert perform(Scene(), message, options)[1] == (Curtain(doing=doing),)


def test_what_goes_on_is_said_with_how_much_there_is_and_stays_said_after_a_remark() -> None:
    answering = Activity(Sentence("answering"), words=1340)
    after, cues = perform(Scene(), answering, StageOptions())
    assert cues == (Curtain("", "answering", "1,340 words"),) and cues[0].to_json()["amount"] == "1,340 words"
    assert perform(Scene(), answering, JAPANESE)[1] == (Curtain("", "回答を作成中", "1,340 語"),)
    assert perform(after, Notice(Sentence("Look.")), StageOptions())[1] == (Remark("Look."), Curtain(doing="answering"))
    assert perform(after, Activity(Sentence("writing"), characters=20), StageOptions())[1][0].amount == "20 characters"


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        (StageOptions(), ("✗ pytest -q␊x · exit 1", "✗ sleep 9 · stopped (time)", "✗ ruff check · exit 2")),
        (
            JAPANESE,
            ("✗ pytest -q␊x · 終了コード 1", "✗ sleep 9 · 制限により停止 (time)", "✗ ruff check · 終了コード 2"),
        ),
    ],
)
def test_what_failed_is_a_line_each_when_the_turn_ends(options: StageOptions, lines: tuple[str, ...]) -> None:
    commands = CommandRun("pytest -q\nx", 1), CommandRun("true", 0), CommandRun("sleep 9", stopped="time")
    checks = CheckRun("ruff check", passed=False, exit_code=2), CheckRun("mypy", passed=True)
    final = Final("All passed.", "ok", 0, commands=commands, checks=checks)
    (*_, close) = perform(Scene(spoken=True, answered=True), final, options)[1]
    assert isinstance(close, Close) and close.failed == lines and close.to_json()["failed"] == list(lines)
    changed = replace(final, files_changed=(Diff("a", "", 1, 0),))
    (*_, close) = perform(Scene(), changed, options)[1]
    assert isinstance(close, Close) and close.failed == lines, "with and without changed files"


def test_the_draft_is_for_backstage_alone() -> None:
    delta = Delta("wor\x1bd", anew=True)
    assert perform(Scene(), delta, StageOptions())[1] == ()
    assert perform(Scene(), delta, StageOptions(backstage=True))[1] == (DraftText("wor␛d", anew=True),)


@pytest.mark.parametrize(
    ("final", "lang", "said"),
    [
        (Final("", "ok", 0), "en", NO_ANSWER),
        (Final("", "ok", 0), "ja", "回答のないまま終わりました。"),
        (Final("", "limit", 0, remark=Sentence("no file changed")), "ja", "変更されたファイルなし"),
    ],
)
def test_the_end_is_explained_and_closed_in_the_language_of_the_audience(final: Final, lang: str, said: str) -> None:
    scene, cues = perform(WORKING, final, StageOptions(lang))
    assert cues == (Remark(said), Close(final, closing_line(final, lang)))
    told = str(final.remark) if final.remark else NO_ANSWER
    assert (scene, scene.curtain_down) == (Scene(command_runs=True, remarks=(told,)), False)


def test_an_end_that_needs_no_remark_leaves_the_scene_without_a_curtain() -> None:
    before = Scene(spoken=True, answered=True, curtain_down=True)
    final = Final("A", "ok", 0)
    assert perform(before, final, StageOptions()) == (
        Scene(spoken=True, answered=True),
        (Close(final, "0.0 s"),),
    )


def test_a_remark_made_in_another_language_is_not_made_twice() -> None:
    known = Sentence("no file changed")
    scene, cues = perform(Scene(), Error("x", known), JAPANESE)
    assert cues == (Remark("変更されたファイルなし"),)
    _, cues = perform(scene, Final("", "error", 1, remark=known), JAPANESE)
    assert [type(cue) for cue in cues] == [Close]


@each_row(
    ("event", "behind"),
    [
        (Step("c", "list", {"path": "日本"}), Backstage("list", '{"path": "日本"}')),
        (Output("c", "a line\n"), Backstage("…", "a line\n")),
        (Output("c"), None),
        (
            ToolResult("list", ToolUseResult("c", (Text("a"), Text("b")), ToolResultStatus.Success)),
            Backstage("list → Success", "a\nb"),
        ),
        (replace(ASKED, tool="list", decision="all"), Backstage("list p: all")),
        (Diff("p", "+x\n", 1, 0), Backstage("p +1 −0", "+x\n")),
        (Retry(Sentence("busy"), 2), Backstage("retry 2: busy")),
        (Checked(CheckRun("ruff", True, "fine")), Backstage("ruff → passed", "fine")),
        (Plan({"tasks": ["日本"]}), Backstage("plan", '{"tasks": ["日本"]}')),
        (Output("c", program="ruff"), None),
    ],
)
def test_what_is_behind_the_curtain(event: Event, behind: Backstage | None) -> None:
    scene = Scene(curtain_down=True, command_runs=isinstance(event, Output))
    assert perform(scene, event, StageOptions(backstage=True)) == (scene, (behind,) if behind else ())


def test_every_part_of_what_is_to_be_approved_is_seen() -> None:
    hidden, shown = "a\u200b\n", "a<U+200B>"
    change = ProposedChange(hidden, "created", 1, 2, hidden, hidden)
    remark = Sentence("running {program}", program="x\n")
    approval = Approval("a", "command", hidden, (change,), hidden, (remark,), (change,))
    for options, said in ((StageOptions(), "running x␊"), (JAPANESE, "x␊ を実行中")):
        (cue,) = perform(Scene(), approval, options)[1]
        assert isinstance(cue, Ask)
        seen = cue.approval
        assert (seen.path, seen.tool, seen.diff) == (f"{shown}␊", f"{shown}␊", f"{shown}\n")
        assert seen.text == f"{shown}\n"
        assert (
            seen.changes == seen.together == (ProposedChange(f"{shown}␊", "created", 1, 2, f"{shown}\n", f"{shown}␊"),)
        )
        assert [str(each) for each in seen.remarks] == [said]


FILES = tuple(Diff(f"f{number}", "", 1, 0) for number in range(6))
FIVE = "f0 +1 −0、f1 +1 −0、f2 +1 −0、f3 +1 −0、f4 +1 −0"


def ended(**more: Any) -> Final:
    return Final("", "ok", 0, **more)


@each_row(
    ("final", "english", "japanese"),
    [
        (ended(changes_failed=1), "no file changed · 1 change failed", "変更されたファイルなし · 失敗した変更 1 件"),
        (ended(changes_failed=2), "no file changed · 2 changes failed", "変更されたファイルなし · 失敗した変更 2 件"),
        (
            ended(changes_failed=1, files_changed=FILES[:1]),
            "1 file changed: f0 +1 −0 · unverified · 1 change failed",
            "変更 1 ファイル: f0 +1 −0 · 未検証 · 失敗した変更 1 件",
        ),
        (ended(citations=Citations(2, 3)), "2 of 3 citations hold", "引用 3 件中 2 件が一致"),
        (ended(usage=Usage(1, 0)), "1 tokens in, 0 out", "入力 1・出力 0 トークン"),
        (ended(usage=Usage(0, 1)), "0 tokens in, 1 out", "入力 0・出力 1 トークン"),
        (
            ended(files_changed=FILES[:5]),
            f"5 files changed: {FIVE.replace('、', ', ')} · unverified",
            f"変更 5 ファイル: {FIVE} · 未検証",
        ),
        (
            ended(files_changed=FILES),
            f"6 files changed: {FIVE.replace('、', ', ')}, and 1 more · unverified",
            f"変更 6 ファイル: {FIVE}、ほか 1 件 · 未検証",
        ),
        (
            ended(files_changed=FILES[:1], checks=(CheckRun("a", False), CheckRun("b", False), CheckRun("c", True))),
            "1 file changed: f0 +1 −0 · unverified",
            "変更 1 ファイル: f0 +1 −0 · 未検証",
        ),
    ],
)
def test_the_closing_line_in_both_languages(final: Final, english: str, japanese: str) -> None:
    assert closing_line(final) == f"{english} · 0.0 s"
    assert closing_line(final, "ja") == f"{japanese} · 0.0 秒"


@pytest.mark.parametrize(
    ("seconds", "said"), [(59.9, "59.9 s"), (60, "1 min 0 s"), (60.6, "1 min 1 s"), (3599.6, "60 min 0 s")]
)
def test_time_is_told_in_minutes_from_the_first_on(seconds: float, said: str) -> None:
    assert closing_line(ended(duration_s=seconds)) == said


def test_a_flag_of_tags_stays_whole_beside_tags_that_are_none() -> None:
    flag = "🏴\U000e0067\U000e0062\U000e007f"
    assert neutralise(f"{flag}\U000e0041") == f"{flag}<U+E0041>"
