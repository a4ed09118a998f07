"""`nebula trace`: real turns against the scripted model, then found, told and played once more without any model."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from conftest import Bench
from in_process import run_here
from scripted_model import Call, Fault, ScriptedModel, Turn
from scripted_model.planned import ollama, plan, say, step, write


def turn(bench: Bench, *script, prompt: str = "do it", code: int = 0) -> str:
    """One turn; its trace id. The model's server is gone when it returns."""
    with ScriptedModel(script) as model:
        ran = run_here(bench, "nebula", "-p", prompt, "--yes", "--output-format", "stream-json", **model.env())
    assert ran.code == code, ran.err
    return ran.events[0]["trace_id"]


@pytest.fixture
def worked(bench: Bench) -> Bench:
    bench.write("a.txt", "one\n")
    return bench


EDIT = (
    Turn("Reading.", [Call("readFile", {"path": "a.txt"})]),
    Turn("Editing.", [Call("editFile", {"path": "a.txt", "new_content": "two\n"})]),
    Turn("Done."),
)


def test_the_list_has_the_newest_first_with_unique_beginnings(worked: Bench) -> None:
    first = turn(worked, Turn("Yes."), prompt="erste Frage")
    second = turn(worked, Fault.status_code(401), prompt="次の質問", code=1)
    lines = run_here(worked, "nebula", "trace", "list").out.splitlines()
    assert [line.split()[0] for line in lines] == [
        second[: len(lines[0].split()[0])],
        first[: len(lines[1].split()[0])],
    ]
    assert "次の質問" in lines[0] and "error" in lines[0] and "ok" in lines[1]
    assert run_here(worked, "nebula", "trace", "show", lines[1].split()[0]).out.startswith(first)
    listed = run_here(worked, "nebula", "trace", "list", "-n", "1", "--json").json
    assert [(each["trace_id"], each["exit_code"]) for each in listed] == [(second, 1)]


def test_the_story_of_a_turn_in_order(worked: Bench) -> None:
    trace_id = turn(worked, *EDIT)
    ran = run_here(worked, "nebula", "trace", "show", trace_id, "--audit")
    assert (ran.code, ran.err) == (0, "")
    told = [line.split()[2] for line in ran.out.splitlines()[2:]]
    middle = ["model", "call", "readFile", "guard", "model", "call", "asked", "changed", "editFile", "guard", "model"]
    assert [each for each in told if each != "guard"] == [
        "prompt",
        *(each for each in middle if each != "guard"),
        "end",
    ]
    assert told.count("guard") == 2
    events = run_here(worked, "nebula", "trace", "show", trace_id, "--json").events
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))


def test_what_a_trace_says_is_never_obeyed_by_a_terminal(worked: Bench) -> None:
    evil = "\x1b[2J\x9b31m\x07 pwned\r"
    turn(worked, Turn(evil, [Call("readFile", {"path": evil})]), Turn(evil), prompt=f"do {evil}")
    for words in (("list",), ("show",), ("show", "--full"), ("show", "--json"), ("replay",)):
        said = run_here(worked, "nebula", "trace", *words).out
        assert "pwned" in said and not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", said), words


def test_a_replay_asks_no_model_and_leaves_the_project_alone(worked: Bench) -> None:
    trace_id = turn(worked, *EDIT)
    worked.write("a.txt", "something else since\n")
    before = worked.trace()
    ran = run_here(worked, "nebula", "trace", "replay", trace_id)
    assert (ran.code, ran.err) == (0, "") and ran.out.endswith("It went as recorded.\n")
    assert worked.read("a.txt") == "something else since\n" and worked.trace() == before


def test_the_copy_has_the_files_as_the_task_found_them(worked: Bench) -> None:
    worked.write(".gitignore", "big/\n")
    worked.write("big/file", "ignored")
    first = turn(worked, *EDIT)
    turn(worked, Turn("Making.", [Call("writeFile", {"path": "later.txt", "content": "x"})]), Turn("Done."))
    ran = run_here(worked, "nebula", "trace", "replay", first, "--keep")
    assert ran.code == 0
    copy = Path(ran.err.strip().removeprefix("kept: ")) / worked.project.name
    assert copy.joinpath("a.txt").read_text() == "two\n"  # replayed on "one\n"
    assert sorted(path.name for path in copy.iterdir()) == [".gitignore", ".nebula", "a.txt"]
    shutil.rmtree(copy.parent)


def test_a_refusal_is_decided_as_it_was(worked: Bench) -> None:
    with ScriptedModel(
        [Turn("", [Call("writeFile", {"path": "b.txt", "content": "b"})]), Turn("Not allowed.")]
    ) as model:
        assert run_here(worked, "nebula", "-p", "do it", **model.env()).code == 2
    ran = run_here(worked, "nebula", "trace", "replay", "--json")
    assert ran.code == 0 and ran.json["same"] and ran.json["final"]["status"] == "refused"


def test_a_failure_of_the_model_is_played_too(worked: Bench) -> None:
    turn(worked, Turn("Reading.", [Call("readFile", {"path": "a.txt"})]), Fault.status_code(401), code=1)
    ran = run_here(worked, "nebula", "trace", "replay")
    assert ran.code == 0 and "error" in ran.out and "It went as recorded." in ran.out


def test_what_goes_otherwise_is_named(worked: Bench) -> None:
    trace_id = turn(worked, *EDIT)
    trace = worked.project / ".nebula/trace.jsonl"
    lines = [json.loads(line) for line in trace.read_text("utf-8").splitlines()]
    for line in lines:
        if line["type"] == "tool_result" and line["tool"] == "readFile":
            line["status"] = "Error"
    trace.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    ran = run_here(worked, "nebula", "trace", "replay", trace_id)
    assert ran.code == 1
    assert "Not as recorded: call 1 (readFile): Error then, Success now" in ran.out
    japanese = run_here(worked, "nebula", "trace", "replay", trace_id, NEBULA_LANG="ja")
    assert "記録との違い: 呼び出し 1（readFile）: 当時は Error、今回は Success" in japanese.out


def test_only_where_it_is_told_to_the_project_itself_is_changed(worked: Bench) -> None:
    trace_id = turn(worked, *EDIT)
    worked.write("a.txt", "one\n")
    assert run_here(worked, "nebula", "trace", "replay", trace_id, "--here").code == 0
    assert worked.read("a.txt") == "two\n"
    assert len([event for event in worked.trace() if event["type"] == "task"]) == 2


def planned(bench: Bench, *script, code: int = 0, words=(), **env: str) -> None:
    with ollama(*script) as model:
        ran = run_here(bench, "evercontext", "run", "--task", "do it", *words, **model.env("ollama"), **env)
    assert ran.code == code, ran.err


def test_a_planned_task_is_played_step_by_step(worked: Bench) -> None:
    steps = plan(step("1", "First."), step("2", "Second."))
    planned(worked, steps, write("b.py", "x\n"), say("One."), write("c.py", "y\n"), say("Two."))
    story = run_here(worked, "nebula", "trace", "show").out
    assert [line for line in story.splitlines() if " step " in line and " 2: " in line and "done" in line]
    before = worked.trace()
    ran = run_here(worked, "nebula", "trace", "replay", "--json")
    assert ran.code == 0 and ran.json["same"], ran.json["differences"]
    assert [each["state"] for each in ran.json["final"]["steps"]] == ["done", "done"]
    assert worked.trace() == before


def test_a_planned_task_that_was_refused_or_never_planned_ends_so_again(worked: Bench) -> None:
    planned(worked, plan(step("1")), write("run.sh", "x"), say("No."), code=2)
    refused = run_here(worked, "nebula", "trace", "replay", "--json").json
    assert refused["same"] and refused["final"]["exit_code"] == 2
    planned(worked, say("no plan"), say("still none"), code=3)
    unplanned = run_here(worked, "nebula", "trace", "replay", "--json").json
    assert unplanned["same"] and unplanned["final"]["exit_code"] == 3


def test_what_the_planner_sent_is_in_the_trace_and_read_once_more(worked: Bench) -> None:
    fenced = Turn(f"Here it is:\n```json\n{plan(step('1')).text}\n```\nsk-{'a1' * 12}")
    planned(worked, Turn("I would rather not."), fenced, say("Done."))
    sent = [event for event in worked.trace() if event["type"] == "plan_reply"]
    assert [(each["attempt"], each["text"][:10]) for each in sent] == [(1, "I would ra"), (2, "Here it is")]
    assert sent[1]["text"].endswith("```\n[redacted]")
    assert worked.trace()[-1]["usage"]["input_tokens"] == 300
    story = run_here(worked, "nebula", "trace", "show", "--full").out
    assert "planner    [100 → 20 tokens" in story and "I would rather not." in story and "```json" in story
    played = run_here(worked, "nebula", "trace", "replay", "--json").json
    assert played["same"] and [event["type"] for event in played["events"]].count("plan_reply") == 2
    changed = [line.replace("Here it is", "There it was").replace("Step 1", "Another") for line in lines_of(worked)]
    changed = [line.replace("Another", "Step 1") if '"type": "plan"' in line else line for line in changed]
    worked.write(".nebula/trace.jsonl", "".join(changed))
    otherwise = run_here(worked, "nebula", "trace", "replay", "--json").json
    assert not otherwise["same"] and any("the plan" in each for each in otherwise["differences"])


def lines_of(bench: Bench) -> list[str]:
    return bench.read(".nebula/trace.jsonl").splitlines(keepends=True)


def test_a_reply_that_was_not_kept_whole_is_not_read_again(worked: Bench) -> None:
    long = Turn(f"{'x' * 200_001}\n{plan(step('1')).text}")
    planned(worked, long, say("Done."))
    [sent] = [event for event in worked.trace() if event["type"] == "plan_reply"]
    assert sent["cut"] and len(sent["text"].encode()) == 200_000
    played = run_here(worked, "nebula", "trace", "replay", "--json").json
    assert played["same"] and played["final"]["exit_code"] == 0


@pytest.mark.parametrize("repeat", [1, 3])
def test_a_task_that_was_only_planned_is_planned_again(worked: Bench, repeat: int) -> None:
    good, bad = plan(step("1")), say("none")
    with ollama(*([good] if repeat == 1 else [good, bad, bad, good])) as model:
        ran = run_here(worked, "evercontext", "plan", "--task", "do it", "--repeat", str(repeat), **model.env("ollama"))
        assert ran.code == 0, ran.err
    played = run_here(worked, "nebula", "trace", "replay", "--json").json
    assert played["same"], played["differences"]
    assert [event["type"] for event in played["events"]].count("plan") == (1 if repeat == 1 else 2)


def test_mistakes_are_one_line(bench: Bench) -> None:
    for words, said in (
        (("show",), "there is no task in the trace yet"),
        (("replay", "x"), "no task 'x'"),
        (("list", "-n", "0"), "from 1 to"),
    ):
        ran = run_here(bench, "nebula", "trace", *words)
        assert (ran.code, ran.out) == (64, "") and said in ran.err and ran.err.count("\n") == 1


def test_a_lesson_shows_what_the_model_was_sent_and_what_came_back(worked: Bench) -> None:
    turn(worked, *EDIT, prompt="make it two")
    ran = run_here(worked, "nebula", "trace", "lesson")
    assert (ran.code, ran.err) == (0, "")
    first, second, third = ran.out.split("── Step ")[1:]
    assert "You are nebula" in first and "make it two" in first and "readFile, " in first
    assert 'a call of readFile:\n    {"path": "a.txt"}' in first and '{"content": "one\\n"}' in first
    assert "everything as before (1 message)" in second and "make it two" not in second
    assert "not its last word" in second and "this is the answer" in third
    assert worked.read("a.txt") == "two\n", "the project itself is left alone"
    assert "ステップ 3 / 3" in run_here(worked, "nebula", "trace", "lesson", NEBULA_LANG="ja").out


def test_a_lesson_as_json_and_of_a_model_that_failed(worked: Bench) -> None:
    turn(worked, *EDIT)
    steps = run_here(worked, "nebula", "trace", "lesson", "--json").events
    assert [len(step["calls"]) for step in steps] == [1, 1, 0]
    assert steps[1]["results"] == [{"tool": "editFile", "status": "Success", "text": '{"success": true}'}]
    turn(worked, Turn("Reading.", [Call("readFile", {"path": "a.txt"})]), Fault.status_code(401), code=1)
    assert "the model failed here" in run_here(worked, "nebula", "trace", "lesson").out


def test_a_lesson_shows_no_secret_that_a_tool_read(worked: Bench) -> None:
    worked.write(".env", "TOKEN=hush-hush-hush\n")
    with ScriptedModel([Turn("", [Call("readFile", {"path": ".env"})]), Turn("Read.")]) as model:
        run_here(worked, "nebula", "-p", "read it", "--allow", ".env", **model.env())
    ran = run_here(worked, "nebula", "trace", "lesson", "--full")
    assert "hush-hush-hush" not in ran.out and "readFile answers" in ran.out
