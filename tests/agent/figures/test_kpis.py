"""Every measure, from traces that the real stream of events wrote and from lines as others may write them."""

from __future__ import annotations

import os
import time
from datetime import datetime
from pathlib import Path

import pytest

from nebula.agent.figures.gather import gather
from nebula.agent.figures.kpis import KPI_NAMES, figures_json, kpis, percentile, spending
from nebula.events import CheckRun, Citations, Message, Plan, Retry, Step, ToolResult, Usage
from nebula.language import Sentence
from nebula.messages import AssistantMessage, Json, ToolResultStatus, ToolUseResult
from nebula.value import replace
from trace_lines import write_lines, write_task


def said(tokens_in: int = 100, tokens_out: int = 20, rung: str | None = None) -> Message:
    return Message(AssistantMessage.new_response(None, "Done."), Usage(tokens_in, tokens_out), rung)


def result(**more) -> ToolResult:
    return ToolResult("writeFile", ToolUseResult("c1", (Json({}),), ToolResultStatus.Success), **more)


def checked(passed: bool) -> ToolResult:
    return result(check=CheckRun("pytest -q", passed))


def measures(*projects: Path) -> dict[str, float | None]:
    return {name: each.value for name, each in kpis(gather([str(each) for each in projects])).items()}


def test_nothing_measured_is_none_and_not_zero(tmp_path):
    found = measures(tmp_path)
    assert list(found) == list(KPI_NAMES)
    assert {name: value for name, value in found.items() if value is not None} == {"policy_refusals": 0}


def test_success_rate_and_latency_over_several_projects(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    for seconds in range(1, 20):
        write_task(one, duration_s=float(seconds))
    write_task(other, duration_s=90.0, status="error", exit_code=1)
    found = measures(one, other)
    assert found["task_success_rate"] == 19 / 20
    assert found["p95_latency_s"] == 19.0
    assert measures(other)["task_success_rate"] == 0.0


def test_a_task_without_an_end_is_unfinished_and_no_failure(tmp_path):
    write_task(tmp_path)
    write_lines(tmp_path, "trace.jsonl", {"type": "task", "trace_id": "t", "ts": "2026-01-01T00:00:00+00:00"})
    found = figures_json(gather([str(tmp_path)]))
    assert (found["task_success_rate"], found["tasks"]) == (1.0, 2)
    assert found["statuses"] == {"ok": 1, "unfinished": 1}


def test_the_last_end_of_a_task_counts(tmp_path):
    trace_id = write_task(tmp_path)
    write_lines(tmp_path, "trace.jsonl", {"type": "final", "trace_id": trace_id, "status": "error", "exit_code": 1})
    assert measures(tmp_path)["task_success_rate"] == 0.0


def test_a_refusal_in_both_records_counts_once(tmp_path):
    both = write_task(tmp_path, result(refused=True), status="refused", exit_code=2)
    write_task(tmp_path, result(refused=True), result(refused=True))
    request = {"ts": "2026-01-01T00:00:00+00:00", "method": "write_file", "path": "a", "size": 1}
    statuses = (200, 400, 404, 409, 422, 500)
    write_lines(tmp_path, "audit.jsonl", *({**request, "trace_id": both, "status": status} for status in statuses))
    write_lines(tmp_path, "audit.jsonl", {**request, "trace_id": "a stranger's", "status": 413})
    assert measures(tmp_path)["policy_refusals"] == 4


def plan(*files: str, words: str = "") -> Plan:
    tasks = [
        {"id": f"{words}{number}", "title": words, "goal": words, "files": [file]} for number, file in enumerate(files)
    ]
    for number, task in enumerate(tasks):
        task["depends_on"] = [tasks[number - 1]["id"]] if number else []
    return Plan({"tasks": tasks})


def test_plans_of_the_same_request_agree_by_their_steps_not_their_words(tmp_path):
    write_task(tmp_path, plan("a.py", "b.py", words="First make it."))
    write_task(tmp_path, plan("a.py", "./b.py", words="Now make it."))
    write_task(tmp_path, plan("b.py", "a.py"))
    write_task(tmp_path, plan("c.py"), prompt="another request, planned once")
    write_task(tmp_path, replace(plan("d.py"), given=True))
    assert measures(tmp_path)["plan_reproducibility"] == 2 / 3


def test_cited_places_that_hold(tmp_path):
    write_task(tmp_path, citations=Citations(held=3, total=4))
    write_task(tmp_path, citations=Citations(held=0, total=1))
    assert measures(tmp_path)["evidence_match_at_k"] == 3 / 5


def test_files_that_a_planned_task_changed_and_its_planner_was_shown(tmp_path):
    place = {"trace_id": "t", "ts": "2026-01-01T00:00:00+00:00"}
    changed = [{"path": "a.py", "before": "1"}, {"path": "b.py", "before": "2"}, {"path": "new.py", "before": ""}]
    write_lines(
        tmp_path,
        "trace.jsonl",
        {"type": "task", **place},
        {"type": "plan", **place, "plan": {}, "evidence": [{"path": "a.py", "span": "L1-L9"}, {"path": "c.py"}]},
        {"type": "final", **place, "status": "ok", "files_changed": changed},
    )
    assert measures(tmp_path)["evidence_match_at_k"] == 1 / 2


def test_planned_tasks_that_were_done_in_part(tmp_path):
    for number, states in enumerate((["done", "done"], ["done", "failed", "skipped"], ["failed", "not_run"], [])):
        place = {"trace_id": str(number), "ts": "2026-01-01T00:00:00+00:00"}
        steps = [{"id": str(each), "state": state} for each, state in enumerate(states)]
        write_lines(tmp_path, "trace.jsonl", {"type": "task", **place})
        write_lines(tmp_path, "trace.jsonl", {"type": "final", **place, "status": "ok", "steps": steps})
    assert measures(tmp_path)["partial_failure_rate"] == 1 / 3


def test_repairs_of_the_orchestrator(tmp_path):
    place = {"trace_id": "t", "ts": "2026-01-01T00:00:00+00:00"}
    failed, passed = ({"type": "check", **place, "check": {"name": "c", "passed": each}} for each in (False, True))
    repair = {"type": "repair", **place, "rounds": 2}
    task, final = {"type": "task", **place}, {"type": "final", **place, "status": "ok"}
    write_lines(
        tmp_path, "trace.jsonl", task, failed, {**repair, "round": 1}, failed, {**repair, "round": 2}, passed, final
    )
    by_chance = {**failed, "flaky": True, "trace_id": "u"}
    write_lines(tmp_path, "trace.jsonl", {**task, "trace_id": "u"}, by_chance, {**final, "trace_id": "u"})
    found = kpis(gather([str(tmp_path)]))
    assert (found["repair_success_rate"].hits, found["repair_success_rate"].of) == (1, 1)
    assert found["mean_repair_steps"].value == 2.0


def test_the_planner_is_paid_for_apart(tmp_path):
    place = {"trace_id": "t", "ts": "2026-01-01T00:00:00+00:00"}
    usage = {"input_tokens": 1_000_000, "output_tokens": 0}
    write_lines(
        tmp_path,
        "trace.jsonl",
        {"type": "task", **place, "model": "qwen3:8b", "provider": "ollama"},
        {"type": "plan_reply", **place, "model": "gemini-2.5-flash", "usage": usage},
        {"type": "plan", **place, "plan": {}, "model": "gemini-2.5-flash", "usage": usage},
        {"type": "message", **place, "usage": usage},
    )
    spent = {each.name: each.cost for each in spending(gather([str(tmp_path)]).tasks, "model")}
    assert spent == {"gemini-2.5-flash": pytest.approx(0.3), "qwen3:8b": 0.0}


def test_renames_that_the_index_followed(tmp_path):
    write_lines(tmp_path, "audit.jsonl", {"method": "ingest", "status": 200, "renames": {"asked": 4, "held": 3}})
    assert measures(tmp_path)["rename_accuracy"] == 3 / 4


def test_repairs_and_their_steps(tmp_path):
    write_task(tmp_path, checked(True))
    write_task(tmp_path, checked(False), checked(True))
    write_task(tmp_path, checked(False), checked(False), checked(True), checks=(CheckRun("pytest -q", True),))
    write_task(tmp_path, checked(False), status="error", exit_code=1)
    found = measures(tmp_path)
    assert (found["repair_success_rate"], found["mean_repair_steps"]) == (2 / 3, 1.5)


def test_tokens_and_cost_by_day_model_flow_and_project(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    write_task(one, said(600_000, 500_000), said(400_000, 500_000), node_id="n1")
    write_task(one, said(10, 1), model="gpt-unknown")
    write_task(other, said(2_000_000, 0))
    tasks = gather([str(one), str(other)]).tasks
    models = [(each.name, each.tasks, each.cost, each.unpriced_tokens) for each in spending(tasks, "model")]
    assert models == [("gpt-4.1-nano", 2, pytest.approx(0.7), 0), ("gpt-unknown", 1, 0.0, 11)]
    assert [(each.name, each.tasks) for each in spending(tasks, "flow", {"n1": "main"})] == [("main", 1), ("-", 2)]
    assert [each.name for each in spending(tasks, "project")] == [str(one), str(other)]
    [today] = spending(tasks, "day")
    assert (today.name, today.tasks) == (datetime.now().astimezone().strftime("%Y-%m-%d"), 3)


def test_rungs_retries_and_steps_are_counted(tmp_path):
    write_task(
        tmp_path,
        said(rung="plain"),
        said(rung="fenced"),
        said(rung="plain"),
        Retry(Sentence("again"), 2),
        Retry(Sentence("no plan"), 2, kind="bad_reply"),
        Step("c", "list", {}),
    )
    found = gather([str(tmp_path)])
    assert figures_json(found)["rungs"] == {"plain": 2, "fenced": 1}
    assert (found.tasks[0].retries, found.tasks[0].malformed, found.tasks[0].steps) == (2, 1, 1)


def test_since_leaves_out_what_began_before(tmp_path):
    for day in ("01", "02", "03"):
        place = {"trace_id": day, "ts": f"2026-01-{day}T12:00:00+00:00"}
        write_lines(tmp_path, "trace.jsonl", {"type": "task", **place}, {"type": "final", **place, "status": "ok"})
        write_lines(tmp_path, "audit.jsonl", {**place, "status": 400})
    found = gather([str(tmp_path)], datetime.fromisoformat("2026-01-02T00:00:00+00:00"))
    assert ([task.trace_id for task in found.tasks], found.policy_refusals) == (["02", "03"], 2)


def test_damaged_lines_are_counted_and_nothing_else_is_lost(tmp_path):
    write_task(tmp_path, said())
    odd = ("not json", "[1, 2]", '{"type": "final", "trace_id": "x', "{" * 100_000, "", "null", '"\\ud800"')
    write_lines(tmp_path, "trace.jsonl", *odd)
    wrong = {"type": "message", "usage": 3, "rung": [], "trace_id": "t", "ts": 4}
    write_lines(tmp_path, "trace.jsonl", {"type": "task", "trace_id": "t", "prompt": {}}, wrong, {"trace_id": 4})
    write_lines(tmp_path, "trace.jsonl", {"type": "final", "trace_id": "t", "duration_s": "long", "checks": "all"})
    write_task(tmp_path, said())
    found = figures_json(gather([str(tmp_path)]))
    assert (found["damaged_lines"], found["tasks"]) == (6, 3)
    assert found["statuses"] == {"ok": 2, "error": 1}


def test_a_link_in_the_place_of_the_trace_is_not_followed(tmp_path):
    write_task(tmp_path / "other")
    (tmp_path / "project" / ".nebula").mkdir(parents=True)
    os.symlink(tmp_path / "other/.nebula/trace.jsonl", tmp_path / "project/.nebula/trace.jsonl")
    os.mkfifo(tmp_path / "project/.nebula/audit.jsonl")
    assert figures_json(gather([str(tmp_path / "project")]))["tasks"] == 0


def test_percentile_is_a_figure_that_was_measured():
    assert percentile([], 0.95) is None
    assert percentile([7.0], 0.95) == 7.0
    assert percentile([float(each) for each in range(1, 101)], 0.95) == 95.0


@pytest.mark.slow
def test_two_hundred_thousand_lines_in_seconds(tmp_path):
    write_task(
        tmp_path, said(), *[event for _ in range(6) for event in (Step("c", "readFile", {"path": "a"}), result())]
    )
    file = tmp_path / ".nebula" / "trace.jsonl"
    lines = file.read_text("utf-8")
    copies = 200_000 // lines.count("\n")
    trace_id = lines.split('"trace_id": "')[1].split('"')[0]
    with file.open("w", encoding="utf-8") as out:
        for number in range(copies):
            out.write(lines.replace(trace_id, f"{number:036}"))
    started = time.process_time()
    found = figures_json(gather([str(tmp_path)]))
    assert found["tasks"] == copies and found["damaged_lines"] == 0
    assert time.process_time() - started < 3
