"""`evercontext plan`: plans to look at, to compare, and to hand over as a file."""

from __future__ import annotations

import json

from in_process import run_here
from scripted_model import ScriptedModel, Turn
from scripted_model.planned import ollama, plan, say, step


def evercontext(bench, server, *argv, **env):
    return run_here(bench, "evercontext", *argv, **server.env("ollama"), **env)


def test_the_same_task_is_the_same_request_and_plans_are_compared(bench):
    bench.write("shop/user.py", "class User:\n    name = ''\n")
    first, other = plan(step("1", files=["a.py"])), plan(step("1", files=["b.py"]))
    same = plan(step("one", "In other words.", title="Named otherwise", files=["./a.py"]))
    with ollama(first, same, other, first) as server:
        ran = evercontext(bench, server, "plan", "--task", "refer to User, add Product", "--repeat", "4", "--json")
    assert (ran.code, ran.json["reproducibility"], len(ran.json["plans"])) == (0, 0.75, 4)
    bodies = {turn.body for turn in server.turns}
    assert len(bodies) == 1  # not a byte differs
    assert "shop/user.py:L1-L2" in server.turns[0].json["messages"][0]["content"]
    planned = [event for event in bench.trace() if event["type"] == "plan"]
    assert planned[0]["evidence"][0]["path"] == "shop/user.py" and planned[0]["usage"]["input_tokens"]


def test_a_plan_that_writes_a_secret_file_is_shown_whole_and_recorded_without_its_content(bench):
    writes = step("1", tool="write_file", parameters={"path": ".env", "content": "PIN=x9y8\n"})
    with ollama(plan(writes)) as server:
        ran = evercontext(bench, server, "plan", "--task", "x", "--json")
    assert ran.json["plans"][0]["tasks"][0]["parameters"]["content"] == "PIN=x9y8\n"
    kept = {event["type"]: event for event in bench.trace()}
    assert "x9y8" not in str(kept) and json.loads(kept["plan_reply"]["text"]) == kept["plan"]["plan"]


def test_a_plan_that_cannot_be_used_agrees_with_none(bench):
    bad = Turn("no plan today")
    with ollama(plan(step("1")), bad, bad) as server:
        ran = evercontext(bench, server, "plan", "--task", "x", "--repeat", "2", "--json")
    assert (ran.code, ran.json["reproducibility"], len(ran.json["plans"])) == (0, 0.5, 1)
    with ollama(bad, bad) as server:
        assert evercontext(bench, server, "plan", "--task", "x").code == 3


def test_a_plan_is_written_edited_and_carried_out(bench):
    with ollama(plan(step("1", "Do it.")), say("Done.")) as server:
        made = evercontext(bench, server, "plan", "--task", "the task", "-o", "plan.json")
        assert made.code == 0 and "1. Step 1" in made.out
        assert evercontext(bench, server, "plan", "--task", "the task", "-o", "plan.json").code == 64
        written = json.loads(bench.read("plan.json"))
        written["tasks"][0]["goal"] = "Do it better."
        bench.write("plan.json", json.dumps(written))
        assert evercontext(bench, server, "run", "--plan", "plan.json").code == 0
    assert server.turns[1].json["messages"][-1]["content"] == "Do it better."
    assert "the task" in server.turns[1].json["messages"][0]["content"]


def test_what_plan_prints_as_json_can_be_carried_out(bench):
    with ollama(plan(step("1", "Do it.")), say("Done.")) as server:
        bench.write("printed.json", evercontext(bench, server, "plan", "--task", "x", "--json").out)
        assert evercontext(bench, server, "run", "--plan", "printed.json").code == 0


def test_wrong_usage(bench):
    with ollama() as server:
        assert evercontext(bench, server, "plan").code == 64
        assert evercontext(bench, server, "plan", "--task", "x", "--repeat", "0").code == 64


def test_a_plan_accepted_in_a_session_is_handed_over_as_a_file(bench):
    script = [Turn("First the model, then the page."), plan(step("1", "The model."), step("2", "The page."))]
    typed = "/plan make a shop\n/accept --plan shop.json\n/accept --plan shop.json\nexit\n"
    with ScriptedModel(script) as server:
        ran = run_here(bench, "nebula", stdin=typed, **server.env())
    assert "evercontext run --plan shop.json" in ran.out and "is there already" in ran.out
    written = json.loads(bench.read("shop.json"))
    assert written["task"] == "make a shop"
    assert [task["goal"] for task in written["tasks"]] == ["The model.", "The page."]
    assert "First the model, then the page." in server.turns[1].json["messages"][-1]["content"]
    with ollama(say("Model."), say("Page.")) as server:
        assert evercontext(bench, server, "run", "--plan", "shop.json").code == 0
