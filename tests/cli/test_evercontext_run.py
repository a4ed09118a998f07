"""`evercontext run`, in this process, against a scripted Ollama over real HTTP."""

from __future__ import annotations

import json

from in_process import run_here
from scripted_model.planned import ollama, plan, say, step, write

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
    assert second.json["status"] == "ok" and second.json["steps"][0]["state"] == "done"


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
    from scripted_model import Turn

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
