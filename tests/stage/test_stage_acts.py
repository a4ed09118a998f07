"""The two acts: what is shown follows from structure alone."""

import json
from itertools import product

import pytest

from nebula.events import (
    Activity,
    Approval,
    CheckRun,
    Diff,
    Error,
    EventStream,
    Final,
    Message,
    Output,
    Plan,
    ProposedChange,
    Retry,
    Step,
    Task,
    ToolResult,
    Usage,
)
from nebula.language import Sentence
from nebula.messages import AssistantMessage, AssistantToolUse, Json, Text, ToolResultStatus, ToolUseResult
from nebula.stage import (
    Ask,
    Backstage,
    Close,
    Curtain,
    Remark,
    Say,
    Scene,
    Stage,
    StageOptions,
    closing_line,
    perform,
    staged_json,
)
from rows import each_row

TASK = Task("do it", "agent", "m")


def written(path, diff, **more):
    return Approval("a1", "write", "writeFile", (ProposedChange(path, "changed", diff=diff),), **more)


def calling(text, *ids):
    args = {"path": "secret/plan.py", "content": "SECRET BODY"}
    uses = [AssistantToolUse(each, "writeFile", "writeFile", args, args) for each in ids or ("c1",)]
    return Message(AssistantMessage.new_tool_use(None, text, uses))


def answering(text):
    return Message(AssistantMessage.new_response(None, text))


def step(call_id="c1"):
    return Step(call_id, "writeFile", {"path": "secret/plan.py", "content": "SECRET BODY"})


def result(call_id="c1", text="SECRET RESULT"):
    return ToolResult("writeFile", ToolUseResult(call_id, (Text(text),), ToolResultStatus.Success))


def final(text="", status="ok", **more):
    return Final(text, status, 0, **more)


QUIET = StageOptions()


def play(*events, options=QUIET):
    stage, stream = Stage(options), EventStream("s")
    return [cue for event in events for cue in stage.read(stream.emit(event))]


def tagged(cues):
    """For comparing: a named tuple alone would equal another kind with the same fields."""
    return [cue.to_json() for cue in cues]


def seen(cues):
    """What is read on the stage, without the last line."""
    return [(cue.act, cue.text) if isinstance(cue, Say) else cue.text for cue in cues if isinstance(cue, Say | Remark)]


def test_act_one_interlude_act_two():
    cues = play(TASK, calling("I will look."), step(), result(), answering("Done."), final("I will look.\n\nDone."))
    assert tagged(cues[:-1]) == tagged([Curtain(), Say("I will look.", 1), Curtain(), Say("Done.", 2)])
    assert isinstance(cues[-1], Close)


def test_a_command_that_runs_is_said_in_words_and_its_output_stays_behind():
    events = (calling(""), step(), Output("c1"), Output("c1", "SECRET LINE"), result(), step(), answering("Done."))
    cues = play(TASK, *events, options=StageOptions("ja"))
    assert tagged(cues) == tagged([Curtain(), Curtain(), Curtain(doing="コマンドを実行中"), Curtain(), Say("Done.", 2)])
    behind = play(TASK, *events, options=StageOptions(backstage=True))
    assert "SECRET LINE" in [cue.text for cue in behind if isinstance(cue, Backstage)]


def test_nothing_of_a_set_to_approve_is_hidden():
    change = ProposedChange("a\u202e.py", "created", 1, 0, "+x\u200b\n")
    (ask,) = [
        cue
        for cue in play(TASK, Approval("1", "command", "runCommand", (change,), remarks=(Sentence("odd\x1b"),)))
        if isinstance(cue, Ask)
    ]
    assert ask.approval.changes[0].path == "a<U+202E>.py"
    assert ask.approval.changes[0].diff == "+x<U+200B>\n"
    assert [str(each) for each in ask.approval.remarks] == ["odd␛"]


def test_plain_talk_is_one_act():
    assert seen(play(TASK, answering("Hello."), final("Hello."))) == [(2, "Hello.")]


@pytest.mark.parametrize("nothing", ["", "  \n"])
def test_an_empty_act_one_shows_nothing(nothing):
    cues = play(TASK, calling(nothing), step(), result(), answering("Done."), final("Done."))
    assert seen(cues) == [(2, "Done.")]


def test_two_calls_in_one_message_are_one_interlude():
    events = (calling("Both.", "c1", "c2"), step("c1"), result("c1"), step("c2"), result("c2"), answering("Done."))
    cues = play(TASK, *events, final("Both.\n\nDone."))
    assert tagged(cues[:-1]) == tagged([Curtain(), Say("Both.", 1), Curtain(), Say("Done.", 2)])


def test_three_rounds():
    rounds = [each for n in "123" for each in (calling(f"Round {n}", f"c{n}"), step(f"c{n}"), result(f"c{n}"))]
    cues = play(TASK, *rounds, answering("End"), final("…"))
    assert seen(cues) == [(1, "Round 1"), (1, "Round 2"), (1, "Round 3"), (2, "End")]


def test_a_message_without_calls_is_act_two_whatever_it_says():
    for text in ("【検索結果】\n- a", '{"tool_calls": [{"name": "x"}]}', "<tool_call>x</tool_call>", "[tool_call] {}"):
        assert seen(play(TASK, answering(text), final(text))) == [(2, text)]
        assert seen(play(TASK, calling(text), result(text=text), answering("."), final("."))) == [(1, text), (2, ".")]


def test_a_call_list_that_is_empty_is_no_call():
    bare = Message(AssistantMessage.new_tool_use(None, "Done.", []))
    assert seen(play(TASK, bare, final("Done."))) == [(2, "Done.")]


def test_a_stop_on_a_tool_call_keeps_what_was_said_and_remarks():
    cues = play(TASK, calling("I will look."), step(), final("I will look."))
    assert seen(cues) == [(1, "I will look."), "The turn ended without an answer."]


def test_an_error_after_a_tool_is_told_once():
    sentence = "The model cannot be reached; check OLLAMA_HOST."
    ending = final("I will look.", "error", remark=Sentence(sentence))
    cues = play(TASK, calling("I will look."), step(), result(), Error("llm", Sentence(sentence)), ending)
    assert seen(cues) == [(1, "I will look."), sentence]


@each_row(
    ("status", "lang", "part"),
    [
        ("interrupted", "en", "Interrupted"),
        ("interrupted", "ja", "中断"),
        ("limit", "en", "reached its limit"),
        ("limit", "ja", "上限"),
        ("error", "en", "error"),
        ("error", "ja", "エラー"),
        ("refused", "en", "refused and not done"),
        ("refused", "ja", "拒否"),
    ],
)
def test_every_bad_end_has_a_plain_remark(status, lang, part):
    cues = play(TASK, calling("Said."), step(), final("Said.", status), options=StageOptions(lang=lang))
    assert seen(cues)[0] == (1, "Said.")
    assert part in seen(cues)[1]
    assert len(seen(cues)) == 2


def test_the_harness_may_give_its_own_remark():
    cues = play(TASK, calling("Said."), final("Said.", "limit", remark=Sentence("100 model calls were made.")))
    assert seen(cues) == [(1, "Said."), "100 model calls were made."]


def test_an_empty_answer_is_remarked_upon():
    assert seen(play(TASK, answering(""), final(""))) == ["The turn ended without an answer."]


def test_a_turn_seen_only_at_its_end_still_has_its_answer():
    assert seen(play(final("Whole answer."))) == [(2, "Whole answer.")]


def test_nothing_is_said_twice():
    cues = play(TASK, calling("A"), result(), answering("B"), final("A\n\nB"))
    assert seen(cues) == [(1, "A"), (2, "B")]


def test_a_new_turn_starts_with_a_clean_scene():
    stage, stream = Stage(), EventStream("s")
    for _ in range(2):
        turn = [TASK, Error("x", Sentence("Same.")), final("", "error")]
        assert seen([cue for event in turn for cue in stage.read(stream.emit(event))]) == ["Same."]


INTERLUDE = (
    step(),
    result(),
    written("secret/plan.py", "SECRET DIFF", decision="all"),
    Diff("secret/plan.py", "SECRET DIFF", 1, 0),
    Retry(Sentence("SECRET 503"), 1),
    Plan({"tasks": ["SECRET"]}),
)


def test_the_quiet_curtain_hides_names_arguments_and_results():
    cues = play(TASK, calling("A"), *INTERLUDE, answering("B"), final("A\n\nB"))
    shown = json.dumps([cue.to_json() for cue in cues], ensure_ascii=False)
    assert not any(hidden in shown for hidden in ("SECRET", "secret", "writeFile", "c1"))


def test_the_curtain_may_name_the_file_at_work_and_nothing_else():
    cues = play(TASK, calling("A"), *INTERLUDE, options=StageOptions(curtain="paths"))
    assert tagged(cues) == tagged([Curtain(), Say("A", 1), Curtain(), Curtain("secret/plan.py")])


def test_the_file_stays_named_while_the_model_reads_what_came_of_it():
    step = Step("c", "readFile", {"path": "src/a.py"})
    waiting = Activity(Sentence("waiting for the model"))
    cues = play(TASK, calling("A"), step, waiting, calling("B"), waiting, options=StageOptions(curtain="paths"))
    named = [cue.path for cue in cues if isinstance(cue, Curtain)]
    assert named == ["", "", "src/a.py", "src/a.py", "", ""], "until the model says something else"


@each_row("args", [None, [], "text", {}, {"path": 3}, {"path": ""}, {"query": "x"}])
def test_odd_arguments_name_no_file(args):
    assert tagged(play(TASK, Step("c", "t", args), options=StageOptions(curtain="paths"))) == tagged([Curtain()])


def test_a_directory_at_work_is_named_too():
    cues = play(TASK, Step("c", "t", {"directory": "src\x1b[2J\n"}), options=StageOptions(curtain="paths"))
    assert tagged(cues[-1:]) == tagged([Curtain("src␛[2J␊")])


def test_backstage_shows_what_the_curtain_hides_beside_the_same_stage():
    events = (TASK, calling("A"), *INTERLUDE, answering("B"), final("A\n\nB"))
    cues = play(*events, options=StageOptions(backstage=True))
    behind = [cue for cue in cues if isinstance(cue, Backstage)]
    assert tagged(cue for cue in cues if not isinstance(cue, Backstage)) == tagged(play(*events))
    assert len(behind) == len(INTERLUDE)
    assert behind[0].title == "writeFile"
    assert json.loads(behind[0].text)["content"] == "SECRET BODY"
    assert behind[1] == Backstage("writeFile → Success", "SECRET RESULT")


def test_backstage_text_is_neutralised():
    cues = play(TASK, result(text="\x1b]0;owned\x07"), options=StageOptions(backstage=True))
    assert tagged(cues[-1:]) == tagged([Backstage("writeFile → Success", "␛]0;owned␇")])


def test_an_approval_lifts_the_curtain_and_work_lets_it_down_again():
    asked = written("a\u202eb.py", "+x\r\n+\u200b\U000e0041\n")
    cues = play(TASK, calling("A"), asked, step(), result())
    assert tagged(cues[3:4]) == tagged([Ask(written("a<U+202E>b.py", "+x␍\n+<U+200B><U+E0041>\n"))])
    assert tagged(cues[4:]) == tagged([Curtain()])


def test_perform_is_pure():
    for scene, event in product([Scene(), Scene(spoken=True)], [TASK, calling("A"), answering("B"), final("x")]):
        assert perform(scene, event, StageOptions()) == perform(scene, event, StageOptions())


def test_cues_for_the_wire():
    stream, stage = EventStream("s"), Stage()
    stamped = stream.emit(calling("A\x1b[m"))
    body = staged_json(stamped, stage.read(stamped))
    assert (body["type"], body["act"], body["show"]) == ("message", 1, "A␛[m")
    assert body["stage"] == [{"cue": "say", "act": 1, "show": "A␛[m"}, {"cue": "curtain", "path": ""}]
    ending = stream.emit(final("A", "interrupted"))
    body = staged_json(ending, stage.read(ending))
    assert "show" not in body
    assert [cue["cue"] for cue in body["stage"]] == ["remark", "close"]
    asked = stream.emit(written("p", "d"))
    assert json.loads(json.dumps(staged_json(asked, stage.read(asked))))["stage"][0]["approval_id"] == "a1"


CHANGES = (Diff("src/a.py", "", 3, 1), Diff("b\n.md", "", 1200, 0))


@each_row(
    ("ending", "lang", "line"),
    [
        (final(duration_s=1.25), "en", "1.2 s"),
        (
            final(files_changed=CHANGES, usage=Usage(12345, 67), duration_s=125.4),
            "en",
            "2 files changed: src/a.py +3 −1, b␊.md +1200 −0 · unverified · 12,345 tokens in, 67 out · 2 min 5 s",
        ),
        (
            final(files_changed=CHANGES[:1], checks=(CheckRun("pytest -q", True), CheckRun("ruff", True))),
            "en",
            "1 file changed: src/a.py +3 −1 · verified by pytest -q, ruff · 0.0 s",
        ),
        (
            final(files_changed=CHANGES[:1], checks=(CheckRun("pytest -q", False), CheckRun("ruff", True))),
            "en",
            "1 file changed: src/a.py +3 −1 · unverified · 0.0 s",
        ),
        (final(checks=(CheckRun("pytest -q", True),)), "en", "0.0 s"),
        (
            final(files_changed=CHANGES[:1], checks=(CheckRun("pytest -q", True),), usage=Usage(1, 2), duration_s=61),
            "ja",
            "変更 1 ファイル: src/a.py +3 −1 · 検証済み: pytest -q · 入力 1・出力 2 トークン · 1 分 1 秒",
        ),
        (final(files_changed=CHANGES[:1]), "ja", "変更 1 ファイル: src/a.py +3 −1 · 未検証 · 0.0 秒"),
        (final(files_changed=CHANGES[:1]), "xx", "1 file changed: src/a.py +3 −1 · unverified · 0.0 s"),
    ],
)
def test_the_closing_line(ending, lang, line):
    assert closing_line(ending, lang) == line


def test_many_files_are_counted_not_listed():
    many = final(files_changed=tuple(Diff(f"f{n}", "", n, 0) for n in range(8)))
    assert closing_line(many).startswith("8 files changed: f0 +0 −0, ")
    assert "f4 +4 −0, and 3 more · " in closing_line(many)


def test_json_results_are_text_backstage():
    shown = ToolResult("list", ToolUseResult("c", (Json({"files": ["日本.py"]}),), ToolResultStatus.Success))
    assert play(TASK, shown, options=StageOptions(backstage=True))[-1].text == '{"files":["日本.py"]}'


def test_checks_and_repairs_are_for_those_who_look_backstage():
    from nebula.events import Checked, CheckRun, Repair

    failed = Checked(CheckRun("pytest -q", False, "1 failed"))
    repair = Repair(1, 2, ("pytest -q",), "This failed.")
    scene = Scene(curtain_down=True)
    for event, title, text in ((failed, "pytest -q → failed", "1 failed"), (repair, "repair 1/2", "This failed.")):
        assert perform(scene, event, StageOptions())[1] == ()
        assert perform(scene, event, StageOptions(backstage=True))[1] == (Backstage(title, text),)
