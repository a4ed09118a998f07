"""`nebula kpi` and `evercontext kpi`: what turns recorded, as a table and as JSON."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from conftest import Bench
from in_process import run_here
from nebula.agent.figures.kpis import KPI_NAMES
from nebula.files.home import derived_folder
from scripted_model import Call, ScriptedModel, Turn
from scripted_model.planned import ollama, plan, say, step, write


@pytest.fixture
def worked(bench: Bench) -> Bench:
    """A project with one task that succeeded and one whose write was refused."""
    outside = Call("writeFile", {"path": "../x.txt", "content": "x"})
    with ScriptedModel([Turn("Done."), Turn("Writing.", [outside]), Turn("I may not.")]) as model:
        assert run_here(bench, "nebula", "-p", "one", "--yes", **model.env()).code == 0
        assert run_here(bench, "nebula", "-p", "two", "--yes", **model.env()).code == 2
    return bench


@pytest.mark.parametrize("command", ["nebula", "evercontext"])
def test_the_measures_of_a_project_as_json(worked: Bench, command: str) -> None:
    ran = run_here(worked, command, "kpi", "--json")
    assert (ran.code, ran.err) == (0, "")
    found = ran.json
    assert found.keys() > set(KPI_NAMES)
    assert (found["task_success_rate"], found["policy_refusals"], found["rename_accuracy"]) == (0.5, 1, None)
    assert found["total"]["input_tokens"] == 300
    assert [(each["name"], each["tasks"]) for each in found["spending"]["flow"]] == [("main", 2)]


def test_the_table_in_both_languages(worked: Bench) -> None:
    english = run_here(worked, "nebula", "kpi", "--by", "day,project,model").out
    assert "task success rate" in english and "50.0 %  1 of 2 tasks" in english
    assert "gpt-4.1-nano" in english and str(worked.project) in english
    japanese = run_here(worked, "evercontext", "kpi", NEBULA_LANG="ja").out
    assert "タスク成功率" in japanese and "2 件中 1 件" in japanese


def test_several_projects_and_all_that_are_known(worked: Bench) -> None:
    elsewhere = worked.project.parent / "elsewhere"
    elsewhere.mkdir()
    assert run_here(worked, "nebula", "kpi", "--root", str(elsewhere), "--json").json["tasks"] == 0
    both = run_here(worked, "nebula", "kpi", "--root", str(elsewhere), "--root", ".", "--json").json
    every = run_here(worked, "nebula", "kpi", "--root", str(elsewhere), "--all", "--json").json
    assert both["tasks"] == every["tasks"] == 2
    assert sorted(every["projects"]) == sorted([str(elsewhere), str(worked.project)])


def test_all_that_are_known_has_those_where_only_tasks_were_run(bench: Bench) -> None:
    by_task, by_plan, gone, indexed = (bench.project.parent / name for name in ("run", "planned", "gone", "indexed"))
    for folder in (by_task, by_plan, gone, indexed):
        folder.mkdir()
    with ollama(plan(step("1")), say("Done."), plan(step("1")), plan(step("1")), say("Done.")) as server:
        env = server.env("ollama")
        for command, folder in (("run", by_task), ("plan", by_plan), ("run", gone)):
            assert run_here(bench, "evercontext", command, "--root", str(folder), "--task", "x", **env).code == 0
    gone.rename(gone.with_name("moved"))
    derived_folder(str(indexed), str(bench.home / ".nebula"))  # a project that has an index, and no task yet
    odd = bench.home / ".nebula" / "projects" / "odd-0123456789abcdef"
    odd.mkdir()
    (odd / "place.txt").write_text(f"{gone.with_name('moved')}\n")  # not where this name says
    os.symlink(by_task, bench.project.parent / "link")
    found = run_here(bench, "evercontext", "kpi", "--root", "../link", "--all", "--json").json
    assert (found["tasks"], len(found["projects"])) == (2, 2)
    assert sorted(os.path.realpath(each) for each in found["projects"]) == [str(by_plan), str(by_task)]


def test_an_audit_log_that_the_user_keeps_elsewhere(bench: Bench) -> None:
    log = bench.write("kept/audit.jsonl", '{"trace_id": "t", "status": 400}\n')
    assert run_here(bench, "evercontext", "kpi", "--json", EC_AUDIT_LOG=str(log)).json["policy_refusals"] == 1


def test_mistakes_are_one_line_and_say_what_to_write(worked: Bench) -> None:
    for words, said in (
        (("--since", "yesterday"), "2026-01-31"),
        (("--by", "moon"), "choose from day, model, flow, project"),
        (("--root", "nowhere"), "there is no such directory"),
    ):
        ran = run_here(worked, "nebula", "kpi", *words)
        assert (ran.code, ran.out) == (64, "") and said in ran.err and ran.err.count("\n") == 1


def test_a_project_without_tasks_has_no_empty_table(bench: Bench) -> None:
    ran = run_here(bench, "nebula", "kpi")
    assert (ran.code, ran.err) == (0, "") and "tokens in" not in ran.out
    assert ran.out.count("nothing to measure yet") == 8


def test_damaged_lines_are_remarked_on(worked: Bench) -> None:
    with (worked.project / ".nebula/trace.jsonl").open("a") as trace:
        trace.write('{"type": "final", "trace')
    ran = run_here(worked, "nebula", "kpi")
    assert ran.code == 0 and "1 line could not be read" in ran.err


def test_a_rename_that_the_index_followed_is_a_figure(bench: Bench) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@localhost")

    def git(*words: str) -> None:
        subprocess.run(["git", *who, *words], cwd=bench.project, env=bench.env(), check=True, capture_output=True)

    bench.write("old.py", "def lighthouse():\n    return 1\n")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "Begin")
    for words in (("nebula", "index", "sync"), ("evercontext", "hook", "install")):
        assert run_here(bench, *words).code == 0
    git("mv", "old.py", "new.py")
    git("commit", "-qm", "Rename")
    assert run_here(bench, "evercontext", "kpi", "--json").json["rename_accuracy"] is None
    assert run_here(bench, "nebula", "index", "sync").code == 0
    assert run_here(bench, "evercontext", "kpi", "--json").json["rename_accuracy"] == 1.0
    assert "1 of 1 renames" in run_here(bench, "evercontext", "kpi").out


def test_a_task_that_was_repaired_is_a_figure(bench: Bench) -> None:
    """Planned, carried out, checked, repaired: every figure of it comes from the trace that the real run left."""
    bench.home.joinpath(".nebula").mkdir()
    bench.home.joinpath(".nebula/config.json").write_text('{"checks": ["test -f fixed.py"]}', "utf-8")
    script = (plan(step("1")), write("a.py", "x\n"), say("Made."), write("fixed.py", "x\n"), say("Repaired."))
    with ollama(*script) as model:
        ran = run_here(bench, "evercontext", "run", "--task", "do it", "--json", **model.env("ollama"))
    assert (ran.code, ran.json["verified"], ran.json["repairs"]) == (0, True, 1), ran.err
    found = run_here(bench, "evercontext", "kpi", "--json").json
    assert (found["repair_success_rate"], found["mean_repair_steps"]) == (1.0, 1.0)
    assert (found["partial_failure_rate"], found["task_success_rate"]) == (0.0, 1.0)
    assert found["rungs"] and found["total"]["input_tokens"] == 500


def test_plans_that_were_made_again_are_a_figure(bench: Bench) -> None:
    with ollama(plan(step("1")), plan(step("one", "Reach 1.")), plan(step("2"))) as model:
        assert run_here(bench, "evercontext", "plan", "--task", "x", "--repeat", "3", **model.env("ollama")).code == 0
    assert run_here(bench, "evercontext", "kpi", "--json").json["plan_reproducibility"] == 2 / 3


def test_writes_that_change_nothing_and_senseless_calls_are_no_refusals(bench: Bench) -> None:
    bench.write("a.py", "x = 1\n")
    read = Call("readFile", {"path": "a.py"})
    same = Call("editFile", {"path": "a.py", "new_content": "x = 1\n"})
    senseless = Call("editFile", {"path": "a.py"})
    script = [Turn("", [read]), Turn("", [same]), Turn("", [senseless]), Turn("", [same]), Turn("It is so already.")]
    with ScriptedModel(script) as model:
        ran = run_here(bench, "nebula", "-p", "x", "--yes", **model.env())
    found = run_here(bench, "nebula", "kpi", "--json").json
    assert found["policy_refusals"] == 0
    lines = map(json.loads, bench.read(".nebula/audit.jsonl").splitlines())
    statuses = [line["status"] for line in lines if line["method"] == "write_file"]
    assert statuses == [409, 422, 409]
    assert ran.code == 0, "the file has what was to be written"


def test_an_audit_log_that_is_no_file_is_one_line(bench: Bench) -> None:
    for words in (("nebula", "kpi"), ("evercontext", "kpi")):
        ran = run_here(bench, *words, EC_AUDIT_LOG=str(bench.project))
        assert (ran.code, ran.out) == (64, "")
        assert ran.err == f"{words[0]}: {bench.project} is not a file; see EC_AUDIT_LOG\n"
