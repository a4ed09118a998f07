"""What a line of a batch may say beside its task, and the limits of tasks."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from conftest import Bench
from scripted_model import Call, RecordedRequest, ScriptedModel, Turn

PLAN = {"tasks": [{"id": "1", "title": "Look", "goal": "look at it"}]}


@pytest.fixture
def repo(bench: Bench) -> Bench:
    bench.write("repo/a.txt", "old\n")
    who = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "Begin"), ("tag", "v1")):
        subprocess.run(["git", *who, *words], cwd=bench.project / "repo", check=True)
    bench.write("repo/a.txt", "new\n")
    subprocess.run(["git", *who, "commit", "-qam", "Go on"], cwd=bench.project / "repo", check=True)
    return bench


def batch(bench: Bench, server: ScriptedModel, *lines: dict[str, Any], argv: tuple[str, ...] = ()) -> Any:
    bench.write("tasks.jsonl", "".join(json.dumps({"root": "repo", "plan": PLAN} | line) + "\n" for line in lines))
    return bench.run("evercontext", "batch", "tasks.jsonl", "--json", *argv, **server.env())


def looks(request: RecordedRequest) -> Turn:
    if request.json["messages"][-1]["role"] != "tool":
        line = "cat a.txt made.txt; echo $COLOUR; echo done > result.md"
        return Turn("", [Call("runCommand", {"command": line})])
    return Turn("Done: " + str(request.json["messages"][-1]["content"]))


def test_a_task_has_a_commit_a_set_up_variables_and_checks_of_its_own(repo):
    line = {
        "ref": "v1",
        "setup": "echo made-$COLOUR > made.txt",
        "env": {"COLOUR": "green"},
        "checks": ["grep -q done result.md && test $COLOUR = green"],
    }
    with ScriptedModel(looks) as server:
        ran = batch(repo, server, line, line | {"checks": ["false"]})
        seen = [str(each.json["messages"][-1]["content"]) for each in server.turns]
    report = ran.json
    assert any("old\\nmade-green\\ngreen" in each for each in seen), seen
    assert [each["verified"] for each in report["tasks"]] == [True, False]
    patch = Path(report["tasks"][0]["patch"]).read_text(encoding="utf-8")
    assert "result.md" in patch and "made.txt" not in patch
    assert repo.read("repo/a.txt") == "new\n"


def test_a_set_up_that_fails_asks_no_model(repo):
    with ScriptedModel(looks) as server:
        ran = batch(repo, server, {"setup": "echo broken; exit 3"})
        assert server.turns == []
        batch(repo, server, {"id": "a", "tries": 2}, {"id": "b", "setup": "false"})
        again = repo.run("evercontext", "batch", "tasks.jsonl", **server.env())
    [task] = ran.json["tasks"]
    assert (ran.code, task["status"]) == (1, "error") and task["remark"].endswith("broken")
    assert [line.split()[0] for line in again.out.splitlines() if " 0.0 %" in line] == ["–"], again.out


def test_tries_and_models_make_several_tasks_of_a_line(repo):
    with ScriptedModel(looks) as server:
        ran = batch(repo, server, {"id": "a", "tries": 2}, {"id": "b", "models": ["gpt-4.1-nano", "gpt-4.1-mini"]})
        models = {each.json["model"] for each in server.turns}
    assert [each["id"] for each in ran.json["tasks"]] == ["a.1", "a.2", "b.1", "b.2"]
    assert models == {"gpt-4.1-nano", "gpt-4.1-mini"}


@pytest.mark.parametrize(
    "line",
    [
        {"ref": "no-such-commit"},
        {"checks": "make"},
        {"env": {"A": 1}},
        {"tries": 0},
        {"tries": 2, "models": ["a"]},
        {"setup": 1},
        {"models": ["gpt-4.1-nano", "no-such-vendor/model"]},
        {"executor": "no-such-vendor/model"},
    ],
)
def test_a_bad_line_is_named(repo, line):
    with ScriptedModel(looks) as server:
        ran = batch(repo, server, {}, line)
        assert server.turns == []
    assert ran.code == 64 and "line 2" in ran.err


@pytest.mark.parametrize("argv", [("--max-rounds", "1"), ("--max-cost", "0.0000001"), ("--timeout", "1")])
def test_a_task_ends_at_its_limit(repo, argv):
    def slow(request: RecordedRequest) -> Turn:
        return Turn("", [Call("runCommand", {"command": "sleep 3" if "--timeout" in argv else "true"})])

    with ScriptedModel(slow) as server:
        ran = batch(repo, server, {}, argv=argv)
        assert len(server.turns) == 1
        plan = repo.write("plan.json", json.dumps(PLAN))
        alone = repo.run("evercontext", "run", "--plan", str(plan), "--root", "repo", "--json", *argv, **server.env())
    assert (ran.code, [each["status"] for each in ran.json["tasks"]]) == (1, ["limit"])
    assert (alone.code, alone.json["status"]) == (1, "limit")


def test_two_folders_of_results_are_compared(repo):
    with ScriptedModel(looks) as server:
        batch(repo, server, {"id": "a"}, {"id": "b"}, argv=("--out", "one"))
        batch(repo, server, {"id": "a"}, {"id": "b", "setup": "false"}, argv=("--out", "two"))
    ran = repo.run("evercontext", "batch", "--compare", "one", "two")
    assert ran.code == 0, ran.err
    assert any(line.split() == ["b", "ok", "error"] for line in ran.out.splitlines()), ran.out
    assert not any(line.split()[:1] == ["a"] for line in ran.out.splitlines() if line.split())
    found = repo.run("evercontext", "batch", "--compare", "one", "two", "--json").json
    assert (found["before"]["ok"], found["after"]["ok"]) == (2, 1)
    assert repo.run("evercontext", "batch", "--compare", "one", "nothing").code == 64
    assert repo.run("evercontext", "batch").code == 64


@pytest.mark.parametrize("parallel", ["1", "2"])
def test_all_tasks_together_have_a_limit(repo, parallel):
    with ScriptedModel(looks) as server:
        ran = batch(repo, server, {}, {}, argv=("--max-total-cost", "0.0000001", "--parallel", parallel))
    assert (ran.code, [each["status"] for each in ran.json["tasks"]]) == (1, ["limit", "limit"])


def test_the_project_is_where_the_command_is_run(repo):
    repo.write("elsewhere/tasks.jsonl", json.dumps({"plan": PLAN}) + "\n")
    with ScriptedModel(looks) as server:
        ran = repo.run("evercontext", "batch", "elsewhere/tasks.jsonl", "--json", **server.env())
    assert ran.json["tasks"][0]["root"] == str(repo.project), ran.err


def test_every_task_by_each_model_with_one_table_predictions_and_junit(repo):
    def answer(request: RecordedRequest) -> Turn:
        if request.json["messages"][-1]["role"] == "tool":
            return Turn("Done.")
        word = "good" if request.json["model"] == "gpt-4.1-mini" else "bad"
        return Turn("", [Call("runCommand", {"command": f"echo {word} > result.md"})])

    line = {"id": "one", "tries": 2, "checks": ["grep -q good result.md"]}
    argv = ("--models", "gpt-4.1-nano, gpt-4.1-mini", "--predictions", "preds.jsonl", "--junit", "junit.xml")
    with ScriptedModel(answer) as server:
        ran = batch(repo, server, line, {"id": "own", "models": ["gpt-4.1-nano"]}, argv=argv)
        again = repo.run("evercontext", "batch", "tasks.jsonl", *argv, **server.env())
    assert [each["id"] for each in ran.json["tasks"]] == ["one.1.1", "one.1.2", "one.2.1", "one.2.2", "own.1"]
    nano, mini = ran.json["models"]
    assert (nano["model"], nano["tasks"], nano["tries"]) == ("gpt-4.1-nano", 2, 3)
    assert (nano["passed_at_1"], nano["passed_at_n"]) == (0.5, 0.5)
    assert (mini["model"], mini["passed_at_1"], mini["passed_at_n"], mini["malformed"]) == ("gpt-4.1-mini", 1.0, 1.0, 0)
    rows = [row.split() for row in again.out.splitlines()]
    assert ["gpt-4.1-mini", "1", "2", "100.0", "%", "100.0", "%"] in [row[:7] for row in rows], again.out
    found = [json.loads(each) for each in (repo.project / "preds.jsonl").read_text("utf-8").splitlines()]
    assert [(each["instance_id"], each["model_name_or_path"]) for each in found] == [
        ("one", "gpt-4.1-nano"), ("one", "gpt-4.1-mini"), ("own", "gpt-4.1-nano"),
    ]  # fmt: skip
    assert "+good" in found[1]["model_patch"] and "result.md" in found[0]["model_patch"]
    suite = ElementTree.parse(repo.project / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("5", "2", "0")
    cases = {each.get("name"): each.find("failure") for each in suite.iter("testcase")}
    assert cases["one.2.1"] is None and "checks" in str(cases["one.1.1"].get("message"))


def test_a_model_without_a_name_is_refused(repo):
    with ScriptedModel(looks) as server:
        ran = batch(repo, server, {}, argv=("--models", "gpt-4.1-nano,"))
        assert ran.code == 64 and server.turns == []
