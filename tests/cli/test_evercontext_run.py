"""`evercontext run`, in this process, against a scripted Ollama over real HTTP."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

from in_process import run_here
from nebula.cli.headless import between
from scripted_model import Fault
from scripted_model.planned import Call, ScriptedModel, Turn, hermes, ollama, plan, say, step, write

APP = "from fastapi import FastAPI\n\napp = FastAPI()\n"
GOAL = "Create app/main.py, a FastAPI application that answers hello world at /."
TASK = "make a FastAPI hello world in app"


def run(bench, server, *argv, **env):
    return run_here(bench, "evercontext", "run", *argv, **server.env("ollama"), **env)


def test_hello_world_is_made_and_the_second_run_succeeds_too(bench):
    the_plan = plan(step("1", GOAL, files=["app/main.py"]))
    again = [the_plan, write("app/main.py", APP), write("app/main.py", APP + "# new\n", "overwrite"), say("Written.")]
    with ollama(the_plan, write("app/main.py", APP), say("Made."), *again) as server:
        first = run(bench, server, "--task", TASK)
        assert (first.code, bench.read("app/main.py")) == (0, APP)
        second = run(bench, server, "--task", TASK, "--json")
    assert (second.code, bench.read("app/main.py")) == (0, APP + "# new\n")
    assert "done" in first.out and "1 of 1 steps done" in first.out
    assert "No planner is set up: hermes3:8b plans as well" in first.err
    assert "without the code index" not in first.err
    assert second.json["status"] == "ok" and second.json["steps"][0]["state"] == "done"


def test_a_stream_says_what_goes_on_where_nothing_else_is_said(bench, monkeypatch):
    monkeypatch.setattr(between, "SILENT_S", 0.05)
    script = [plan(step("1", GOAL, files=["app/main.py"])), write("app/main.py", APP), say("Made.")]
    script = [replace(each, fault=Fault.slow(0.15)) for each in script]
    with ollama(*script) as server:
        events = run(bench, server, "--task", TASK, "--output-format", "stream-json").events
    assert [each["seq"] for each in events] == list(range(1, len(events) + 1))
    assert [each["message"] for each in events if each["type"] == "activity"].count("waiting for the model") == 3
    assert events[-1] | {"seq": 0} == bench.trace()[-1] | {"seq": 0}


def test_the_executor_is_asked_one_goal_at_a_time(bench):
    steps = plan(step("late", "Do the second thing.", depends_on=["early"]), step("early", "Do the first thing."))
    with ollama(steps, say("First done."), say("Second done.")) as server:
        assert run(bench, server, "--task", "two things").code == 0
    asked = [turn.json["messages"] for turn in server.turns]
    assert [each[-1]["content"] for each in asked[1:]] == ["Do the first thing.", "Do the second thing."]
    assert all(turn.json["options"]["temperature"] == 0 and "seed" in turn.json["options"] for turn in server.turns)
    assert [event["task_id"] for event in bench.trace() if event["type"] == "message"] == ["early", "late"]
    types = [event["type"] for event in bench.trace()]
    assert types[0] == "task" and types[-1] == "final" and types.index("plan") < types.index("progress")


def test_a_step_that_fails_stops_the_rest_and_says_what_was_not_done(bench):
    steps = plan(step("1"), step("2", tool="read_file", parameters={"path": "missing.py"}), step("3"))
    with ollama(steps, say("One.")) as server:
        ran = run(bench, server, "--task", "x")
    assert ran.code == 1
    assert "1 of 3 steps done" in ran.out and "3 Step 3: not run" in ran.out
    assert [each["state"] for each in bench.trace()[-1]["steps"]] == ["done", "failed", "not_run"]


def test_why_a_step_failed_is_said_in_japanese_too(bench):
    missing = {"tool": "read_file", "parameters": {"path": "missing.py"}}
    wrong = {"tool": "write_file", "parameters": {"path": "a.py"}}
    steps = plan(
        step("a", **missing, on_error="skip"),
        step("b", depends_on=["a"]),
        step("c", tool="run.http", parameters={}, on_error="skip"),
        step("d", **wrong, on_error="skip"),
        step("e"),
    )
    with ollama(steps, write("a.exe", ""), say("Refused."), write("a.exe", ""), say("Refused.")) as server:
        ran = run(bench, server, "--task", "x", NEBULA_LANG="ja")
        resumed = run(bench, server, "--resume-plan", NEBULA_LANG="ja")
    assert (ran.code, resumed.code) == (2, 2)
    for said in (
        "missing.py: 見つかりません",
        "a に依存しています",
        "種類が「http」のチェックは設定されていません",
        "write_file の返答: ",
        "許可する種類は EC_ALLOW_EXT で決まります",
    ):
        assert said in ran.out and said in ran.err, said
    english = [event for event in bench.trace() if event["type"] == "progress" and "remark" in event]
    assert english[1]["remark"] == "depends on a" and "missing.py: " in english[0]["remark"]


def test_why_a_plan_is_asked_for_again_is_said_in_japanese_too(bench):
    with ollama(Turn("No."), plan(step("1")), say("Done.")) as server:
        ran = run(bench, server, "--task", "x", NEBULA_LANG="ja")
    assert ran.code == 0
    assert "返答がただの文章です" in ran.err and "The reply" not in ran.err


def test_what_depends_on_a_skipped_step_is_skipped_and_the_rest_is_done(bench):
    missing = {"tool": "read_file", "parameters": {"path": "missing.py"}}
    steps = plan(step("a", **missing, on_error="skip"), step("b", depends_on=["a"]), step("c"))
    with ollama(steps, say("C.")) as server:
        ran = run(bench, server, "--task", "x", "--json")
    assert ran.code == 1
    assert [each["state"] for each in ran.json["steps"]] == ["failed", "skipped", "done"]


def test_retry_means_once_more(bench):
    steps = plan(step("1", on_error="retry"))
    with ollama(steps, write("a.exe", "x"), say("No."), write("a.py", "x\n"), say("Yes.")) as server:
        ran = run(bench, server, "--task", "x", "--json")
    assert (ran.code, ran.json["steps"][0]["attempts"]) == (0, 2)
    assert bench.read("a.py") == "x\n"


def test_a_write_that_the_policy_refuses_is_exit_code_2(bench):
    with ollama(plan(step("1")), write("run.sh", "echo\n"), say("I could not.")) as server:
        ran = run(bench, server, "--task", "x", "--json")
    assert (ran.code, ran.json["status"]) == (2, "refused")
    assert not (bench.project / "run.sh").exists()


def test_the_extension_list_can_be_extended(bench):
    with ollama(plan(step("1")), write("run.sh", "echo\n"), say("Done.")) as server:
        assert run(bench, server, "--task", "x", EC_ALLOW_EXT=".sh;.py").code == 0


def test_a_plan_that_does_not_validate_is_told_once_and_then_exit_code_3(bench):
    bad = plan(step("1", depends_on=["nowhere"]))
    with ollama(bad, bad) as server:
        ran = run(bench, server, "--task", "x")
    assert ran.code == 3
    assert "depends on 'nowhere'" in server.turns[1].json["messages"][-1]["content"]
    assert len(server.turns) == 2


def test_prose_where_the_dialect_was_asked_for_is_exit_code_3(bench):
    with ollama(plan(step("1")), Turn("I am a poet."), Turn("Truly.")) as server:
        assert run(bench, server, "--task", "x").code == 3


def test_wrong_usage_is_exit_code_64(bench):
    with ollama() as server:
        assert run(bench, server).code == 64
        assert run(bench, server, "--task", " ").code == 64
        assert run(bench, server, "--task", "x", "--root", "nowhere").code == 64
        assert run(bench, server, "--plan", "nowhere.json").code == 64
        assert run(bench, server, "--resume-plan").code == 64
        assert run(bench, server, "--task", "x", "--unknown").code == 64
    assert server.turns == []


def test_no_model_is_one_line_and_a_whole_stream(bench):
    ran = run_here(bench, "evercontext", "run", "--task", "x", OLLAMA_HOST="http://127.0.0.1:9")
    assert ran.code == 1 and "Traceback" not in ran.err
    assert [event["type"] for event in bench.trace()] == ["task", "error", "final"]


def test_an_unfinished_plan_is_resumed_where_it_stopped(bench):
    read = {"tool": "read_file", "parameters": {"path": "later.py"}}
    with ollama(plan(step("1"), step("2", **read), step("3")), say("One."), say("Three.")) as server:
        assert run(bench, server, "--task", "the task").code == 1
        bench.write("later.py", "x\n")
        ran = run(bench, server, "--resume-plan", "--json")
        assert ran.code == 0
        assert run(bench, server, "--resume-plan").code == 64
    assert [each["state"] for each in ran.json["steps"]] == ["done", "done", "done"]
    assert [turn.json["messages"][-1]["content"] for turn in server.turns[1:]] == ["Reach 1.", "Reach 3."]


def test_a_plan_can_be_handed_in_as_a_file(bench):
    bench.write("plan.json", json.dumps({"task": "t", "tasks": [step("1", "Only this.")]}))
    bench.write("bad.json", '{"tasks": []}')
    with ollama(say("Done.")) as server:
        assert run(bench, server, "--plan", "bad.json").code == 3
        assert run(bench, server, "--plan", "plan.json").code == 0
    assert len(server.turns) == 1


def tree(bench):
    files = (path for path in bench.project.rglob("*") if path.is_file() and ".nebula" not in path.parts)
    return {str(path.relative_to(bench.project)): path.read_text() for path in files}


def test_a_dry_run_shows_what_would_change_and_changes_nothing(bench):
    bench.write("old.py", "a = 1\nb = 2\n")
    steps = plan(step("1", "Make new.py."), step("2", "Change old.py and new.py."))
    script = [
        steps,
        write("pkg/new.py", "x = 1\n"),
        say("Made."),
        hermes(Turn("I look.", [Call("read_file", {"path": "old.py"}), Call("list_files", {"path": "."})])),
        write("old.py", "a = 1\nb = 3\n", "overwrite"),
        write("pkg/new.py", "x = 2\n", "overwrite"),
        say("Changed."),
    ]
    with ollama(*script) as server:
        before = tree(bench)
        ran = run(bench, server, "--task", "x", "--dry-run")
    assert (ran.code, tree(bench)) == (0, before)
    assert "1. Step 1" in ran.out and "Make new.py." in ran.out
    assert "+x = 2" in ran.out and "-b = 2" in ran.out and "+b = 3" in ran.out and "+x = 1" not in ran.out
    listed = server.turns[4].json["messages"][-1]["content"]
    assert "pkg" in listed  # the executor finds what it would have written
    assert bench.trace()[-1]["forecast"]
    assert "old.py" not in bench.read(".nebula/journal/changes.jsonl")
    assert not (bench.project / ".nebula" / "graph").exists()


def test_a_failed_task_is_rolled_back_where_that_was_asked_for(bench):
    bench.write("old.py", "old\n")
    steps = plan(step("1"), step("2", tool="read_file", parameters={"path": "missing.py"}))
    script = [
        steps,
        write("new/file.py", "x\n"),
        write("old.py", "new\n"),
        write("old.py", "new\n", "overwrite"),
        say("D."),
    ]
    with ollama(*script, *script) as server:
        ran = run(bench, server, "--task", "x", "--rollback", "--json")
        assert (ran.code, tree(bench)) == (1, {"old.py": "old\n"})
        assert ran.json["rolled_back"] is True and ran.json["files_changed"] == []
        assert not (bench.project / "new").exists()
        assert run(bench, server, "--task", "x").code == 1
    assert tree(bench) == {"old.py": "new\n", "new/file.py": "x\n"}


def test_there_is_nothing_to_roll_back_where_nothing_was_changed(bench):
    with ollama(plan(step("1", tool="read_file", parameters={"path": "missing.py"}))) as server:
        ran = run(bench, server, "--task", "x", "--rollback", "--output-format", "stream-json")
    said = [json.loads(line) for line in ran.out.splitlines()]
    assert (ran.code, said[-1]["rolled_back"]) == (1, True)
    assert [each for each in said if each["type"] == "error"] == []


def test_a_rolled_back_plan_is_resumed_from_its_beginning(bench):
    steps = plan(step("1"), step("2", tool="read_file", parameters={"path": "later.py"}))
    one = [write("a.py", "x\n"), say("Done.")]
    with ollama(steps, *one, *one) as server:
        assert run(bench, server, "--task", "x", "--rollback").code == 1
        bench.write("later.py", "")
        assert run(bench, server, "--resume-plan").code == 0
    assert tree(bench) == {"a.py": "x\n", "later.py": ""}


def checks(bench, *commands, **more):
    bench.home.joinpath(".nebula").mkdir(exist_ok=True)
    bench.home.joinpath(".nebula/config.json").write_text(json.dumps({"checks": commands, **more}))


TEST = "grep -q 'a + b' add.py || { tail -n 1 add.py; echo AssertionError; exit 1; }"
WRONG, RIGHT = "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n"


def test_a_failing_check_is_repaired(bench):
    checks(bench, TEST)
    script = [
        plan(step("1")),
        write("add.py", WRONG),
        say("Made."),
        write("add.py", RIGHT, "overwrite"),
        say("Repaired."),
    ]
    with ollama(*script) as server:
        ran = run(bench, server, "--task", "x", "--json")
    assert (ran.code, bench.read("add.py")) == (0, RIGHT)
    assert (ran.json["verified"], ran.json["repairs"]) == (True, 1)
    report = server.turns[3].json["messages"][-1]["content"]
    assert "AssertionError" in report and "exit code 1" in report
    kinds = [event["type"] for event in bench.trace()]
    assert (kinds.count("check"), kinds.count("repair")) == (2, 1)


def test_a_repair_that_changes_nothing_trips_the_breaker(bench):
    checks(bench, TEST, repair_rounds=5)
    with ollama(plan(step("1")), write("add.py", WRONG), say("Made."), say("It is fine.")) as server:
        ran = run(bench, server, "--task", "x")
    assert ran.code == 1
    assert "unverified" in ran.out and "exactly as it was" in ran.err
    assert len(server.turns) == 4


def test_repairs_end_after_so_many_rounds(bench):
    checks(bench, TEST, repair_rounds=2)
    tries = [
        turn for n in (1, 2) for turn in (write("add.py", f"def add(a, b):\n    return {n}\n", "overwrite"), say("."))
    ]
    with ollama(plan(step("1")), write("add.py", WRONG), say("Made."), *tries) as server:
        ran = run(bench, server, "--task", "x", "--json")
        assert (ran.code, ran.json["verified"], ran.json["repairs"]) == (1, False, 2)
        bench.write("add.py", RIGHT)
        resumed = run(bench, server, "--resume-plan", "--json")  # nothing is left to do but to check
    assert (resumed.code, resumed.json["verified"]) == (0, True)


FAILING = {"pytest.ini": "", "test_add.py": "from add import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"}


def test_checks_that_were_found_run_only_once_somebody_confirmed_them(bench):
    for name, text in FAILING.items():
        bench.write(name, text)
    script = [plan(step("1")), write("add.py", WRONG), say("Made.")]
    with ollama(*script) as server:
        ran = run(bench, server, "--task", "x", "--json")
    assert ran.code == 0 and "verified" not in ran.json
    assert "python -m pytest -q (--trust lets them run)" in ran.err


def test_a_check_as_a_step_of_the_plan(bench):
    checks(bench, f"{TEST}  # test")
    steps = plan(step("1"), step("2", tool="run.test"), step("3", tool="run.http"))
    script = [steps, write("add.py", WRONG), say("Made."), write("add.py", RIGHT, "overwrite"), say("Repaired.")]
    with ollama(*script) as server:
        ran = run(bench, server, "--task", "x", "--json")
    assert (ran.code, bench.read("add.py")) == (1, RIGHT)
    assert [each["state"] for each in ran.json["steps"]] == ["done", "done", "failed"]
    assert "No check of the kind 'http'" in ran.json["steps"][2]["remark"]


def test_a_turn_of_nebula_is_repaired_where_the_user_wants_it(bench):
    checks(bench, TEST, repair=True)
    made = Call("writeFile", {"path": "add.py", "content": WRONG})
    edits = [{"old_text": "a - b", "new_text": "a + b"}]
    repaired = Call("editFile", {"path": "add.py", "edits": edits})
    from scripted_model import ScriptedModel

    with ScriptedModel([Turn("", [made]), Turn("Made."), Turn("", [repaired]), Turn("Repaired.")]) as server:
        ran = run_here(bench, "nebula", "-p", "make add", "--yes", "--output-format", "json", **server.env())
        assert (ran.code, bench.read("add.py"), ran.json["verified"]) == (0, RIGHT, True)
    assert "AssertionError" in server.turns[2].json["messages"][-1]["content"]
    with ScriptedModel([Turn("Nothing to change.")]) as server:
        ran = run_here(bench, "nebula", "-p", "look", "-c", "--yes", "--output-format", "json", **server.env())
    assert "verified" not in ran.json
    roles = [message["role"] for message in server.turns[0].json["messages"]]
    assert not [pair for pair in pairwise(roles) if pair in (("user", "user"), ("assistant", "assistant"))]
    said = [message["content"] for message in server.turns[0].json["messages"]]
    assert "Repaired." in said


def test_the_task_comes_from_standard_input(bench):
    with ollama(plan(step("1")), say("Done.")) as server:
        ran = run_here(bench, "evercontext", "run", "--task", "-", stdin="長い\nタスク", **server.env("ollama"))
    assert ran.code == 0
    assert server.turns[0].json["messages"][-1]["content"] == "長い\nタスク"


def test_a_command_in_a_plan_is_held_to_the_same_policy(bench):
    made = {"tool": "run_command", "parameters": {"command": "echo hi > a.py; echo hi > b.exe; echo hi > .env"}}
    with ollama(plan(step("1", **made))) as server:
        ran = run(bench, server, "--task", "x", "--json")
    if "Unknown tool" in json.dumps(ran.json):  # this machine has no layers
        assert ran.code == 1
        return
    assert tree(bench) == {"a.py": "hi\n"}


def test_the_answer_is_printed_before_the_outcome(bench):
    looked = hermes(Turn("I look.", [Call("list_files", {"path": "."})]))
    with ollama(plan(step("1"), step("2")), looked, say("Retries are decided in a.py."), say("Once\x1b[2J.")) as server:
        ran = run(bench, server, "--task", "where are retries decided?")
    assert ran.code == 0
    assert ran.out.startswith("Retries are decided in a.py.\n\nOnce␛[2J.\n\ndone · 2 of 2 steps done")
    assert "I look." not in ran.out


def test_a_plan_that_is_there_needs_no_planner(bench):
    bench.write("plan.json", json.dumps({"tasks": [step("1")]}))
    with ollama(say("Done."), say("Done.")) as server:
        for words in (("--executor", "ollama/hermes3:8b"), ()):
            ran = run(bench, server, "--plan", "plan.json", *words)
            assert ran.code == 0 and "planner" not in ran.err
    assert len(server.turns) == 2


def test_advice_that_is_followed_helps(bench):
    """What is refused names the option; with it the same task succeeds."""
    steps = [plan(step("1")), write(".env", "KEY=1\n"), say("Done.")]
    with ollama(*steps, *steps) as server:
        refused = run(bench, server, "--task", "x")
        assert refused.code == 2 and "--allow .env" in refused.err
        allowed = run(bench, server, "--task", "x", "--allow", ".env")
    assert (allowed.code, bench.read(".env")) == (0, "KEY=1\n")


def test_a_refused_kind_of_file_names_the_setting_and_with_it_the_task_succeeds(bench):
    steps = [plan(step("1")), write("src/app.ts", "let x\n"), say("Done.")]
    with ollama(*steps, *steps) as server:
        refused = run(bench, server, "--task", "x")
        assert refused.code == 2 and "src/app.ts" in refused.out and "EC_ALLOW_EXT" in refused.out
        allowed = run(bench, server, "--task", "x", EC_ALLOW_EXT=".ts,.py")
    assert (allowed.code, bench.read("src/app.ts")) == (0, "let x\n")


def test_the_planner_is_asked_once_more_with_what_happened(bench):
    first = plan(step("1"), step("2", tool="read_file", parameters={"path": "missing.py"}), step("3"))
    second = plan(step("1", "Write it.", files=["a.py"]))
    with ollama(first, say("One."), second, write("a.py", "x\n"), say("Made.")) as server:
        ran = run(bench, server, "--task", "x", "--replan", "--json", "--output-last-message", "answer.txt")
    assert ran.code == 0, ran.err
    assert [(each["id"], each["state"]) for each in ran.json["steps"]] == [
        ("1", "done"), ("2", "failed"), ("again-1", "done"),
    ]  # fmt: skip
    asked = server.turns[2].json["messages"][-1]["content"]
    assert asked.startswith("x\n") and "- 2 Step 2: failed: missing.py" in asked and "- 3 Step 3: not run" in asked
    assert bench.read("answer.txt") == ran.json["text"] and "Made." in ran.json["text"]
    assert run_here(bench, "evercontext", "run", "--resume-plan").code == 64
    replayed = run_here(bench, "nebula", "trace", "replay")
    assert (replayed.code, "It went as recorded." in replayed.out) == (0, True), replayed.out + replayed.err


def test_remarks_beside_json_name_the_program_that_makes_them(bench):
    with ScriptedModel([plan(step("1")), Turn("Done.")]) as server:
        ran = run_here(bench, "evercontext", "run", "--task", "x", "--json", **server.env())
    assert ran.err.startswith("evercontext: No executor is set up"), ran.err


def test_the_steps_of_another_plan_are_counted_by_themselves(bench):
    first = plan(step("1"), step("2", tool="read_file", parameters={"path": "missing.py"}))
    with ollama(first, say("One."), plan(step("1", "Write it.")), say("Made.")) as server:
        ran = run(bench, server, "--task", "x", "--replan")
    assert [line for line in ran.err.splitlines() if line.startswith("▸")] == [
        "▸ 1/2 Step 1", "▸ 2/2 Step 2", "▸ 1/1 Step 1",
    ]  # fmt: skip


def test_no_other_plan_leaves_the_failure_as_it_was(bench):
    steps = plan(step("1", tool="read_file", parameters={"path": "missing.py"}), step("2"))
    with ollama(steps, say("no plan"), say("none at all")) as server:
        ran = run(bench, server, "--task", "x", "--replan", "--json")
    assert (ran.code, len(server.turns)) == (1, 3)
    assert [each["state"] for each in ran.json["steps"]] == ["failed", "not_run"]
    with ollama(steps, steps) as server:
        ran = run(bench, server, "--task", "x", "--replan", "--json")
    assert (ran.code, len(server.turns)) == (1, 2), "once, not for ever"
    assert [each["id"] for each in ran.json["steps"]] == ["1", "again-1", "again-2"]
