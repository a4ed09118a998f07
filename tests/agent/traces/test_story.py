"""Finding a task by the beginning of its id, and telling it: pure functions of the lines."""

from __future__ import annotations

import json

import pytest

from nebula.agent.figures.gather import TracedTasks
from nebula.agent.figures.kpis import figures_json
from nebula.agent.figures.task_record import TaskRecord
from nebula.agent.traces.find import UnknownTrace, audited, find_trace, short_ids
from nebula.agent.traces.story import tell
from nebula.events import Error, Message, Notice, Retry, Step, ToolResult, Usage
from nebula.language import Sentence, use_language
from nebula.messages import AssistantMessage, Json, ToolResultStatus, ToolUseResult
from trace_lines import write_lines, write_task


def ids(project, *trace_ids):
    for trace_id in trace_ids:
        write_lines(project, "trace.jsonl", {"type": "task", "trace_id": trace_id, "prompt": f"p-{trace_id}"})


def test_a_unique_beginning_is_enough_and_an_ambiguous_one_names_its_candidates(tmp_path):
    ids(tmp_path, "aaa1", "aaa2", "abc", "ab")
    assert find_trace(str(tmp_path), "aaa2").task["prompt"] == "p-aaa2"
    assert find_trace(str(tmp_path), "ab").trace_id == "ab"
    assert find_trace(str(tmp_path), "").trace_id == "ab"
    with pytest.raises(UnknownTrace, match=r"several tasks \(aaa1, aaa2, abc …\)"):
        find_trace(str(tmp_path), "a")
    with pytest.raises(UnknownTrace, match="no task 'x'"):
        find_trace(str(tmp_path), "x")


def test_an_empty_trace_says_so(tmp_path):
    with pytest.raises(UnknownTrace, match="no task in the trace yet"):
        find_trace(str(tmp_path), "")


def test_lists_show_the_shortest_unique_beginning():
    found = short_ids(["0123456789-a", "0123456789-b", "f" * 12])
    assert found == {"0123456789-a": "0123456789-a", "0123456789-b": "0123456789-b", "f" * 12: "f" * 8}


def told(project, *events, **final):
    trace = find_trace(str(project), write_task(project, *events, **final))
    return [(entry.what, entry.text) for entry in tell(trace.events)]


def test_every_kind_of_event_has_its_line(tmp_path):
    result = ToolUseResult("c1", (Json({"files": []}),), ToolResultStatus.Error)
    story = told(
        tmp_path,
        Notice(Sentence("The folder is new.")),
        Retry(Sentence("busy"), 2),
        Message(AssistantMessage.new_response(None, "見ます。\nnow"), Usage(3, 4), rung="fenced", duration_s=0.25),
        Step("c1", "list", {"path": "あ"}),
        ToolResult("list", result, "no", 0.5, refused=True),
        Error("limit", Sentence("Too much."), detail="traceback"),
        status="error",
        exit_code=1,
        remark=Sentence("Too much."),
        duration_s=2.0,
    )
    assert story == [
        ("prompt", "do it"),
        ("notice", "The folder is new."),
        ("again", "[#2] busy"),
        ("model", "[3 → 4 tokens, 0.250 s, rung fenced] 見ます。\nnow"),
        ("call", 'list {"path": "あ"}'),
        ("list", '[Error, 0.500 s, refused, no] {"files": []}'),
        ("error", "Too much.\ntraceback"),
        ("end", "[exit code 1, 0 → 0 tokens, 2.000 s, Too much.] error"),
    ]


def test_what_the_guard_wrote_down_stands_where_its_time_puts_it(tmp_path):
    moments = [f"2026-01-01T00:00:0{second}+00:00" for second in range(4)]
    events = [{"type": "task", "ts": moments[0], "prompt": "p"}, {"type": "final", "ts": moments[3]}]
    request = {"ts": moments[1], "trace_id": "t", "method": "write_file", "path": "a", "status": 400}
    write_lines(tmp_path, "audit.jsonl", request, {**request, "trace_id": "u"})
    elsewhere = tmp_path / "log"
    elsewhere.write_text(json.dumps({**request, "ts": moments[2], "method": "search", "path": "", "status": 200}))
    lines = audited(str(tmp_path), "t", str(elsewhere))
    found = [(entry.seconds, entry.what, entry.text) for entry in tell(events, lines)]
    assert found[1:3] == [(1.0, "guard", "write_file a: 400"), (2.0, "guard", "search : 200")]


def test_a_plan_and_its_steps(tmp_path):
    place = {"trace_id": "t", "ts": "2026-01-01T00:00:00+00:00"}
    plan = {"tasks": [{"id": "1", "title": "Make it"}, {"id": "2", "goal": "Test it"}]}
    check = {"name": "pytest -q", "passed": False, "summary": "1 failed"}
    events = [
        {"type": "task", **place, "prompt": "p"},
        {"type": "plan", **place, "plan": plan},
        {"type": "progress", **place, "task_id": "1", "state": "failed", "title": "Make it", "remark": "no"},
        {"type": "check", **place, "check": check},
        {"type": "repair", **place, "round": 1, "rounds": 2, "failing": ["pytest -q"]},
        {"type": "unknown to us", **place},
    ]
    assert [(entry.task_id, entry.what, entry.text) for entry in tell(events)][1:] == [
        ("", "plan", "1: Make it\n2: Test it"),
        ("1", "step", "[no] failed: Make it"),
        ("", "check", "[1 failed] pytest -q: failed"),
        ("", "repair", "1/2: pytest -q"),
    ]


def test_odd_lines_are_told_as_far_as_they_go():
    odd = [
        {"type": kind, "ts": 5, "result": 4, "usage": [], "plan": 3, "check": 1} for kind in ("task", "plan", "final")
    ]
    assert [entry.seconds for entry in tell(odd)] == [None, None, None]
    assert tell([]) == []


def test_the_story_in_japanese(tmp_path):
    use_language("ja")
    assert [what for what, _ in told(tmp_path)] == ["依頼", "終了"]


@pytest.mark.parametrize(
    "line",
    [
        {"type": "message", "ts": "long ago"},
        {"type": "tool_result", "ts": 5, "duration_s": 10**400},
        {"type": "repair", "failing": 3},
        {"type": "final", "duration_s": float("nan"), "usage": {"input_tokens": 10**400, "output_tokens": -1}},
    ],
)
def test_odd_lines_of_a_trace_that_came_with_a_project_spoil_nothing(line):
    first = {"type": "task", "ts": "2026-01-01T00:00:00+00:00", "prompt": "go", "model": "gpt-5", "provider": "openai"}
    audit = [{"ts": "2026-01-01T00:00:01+00:00", "method": "read_file", "path": "a", "status": 200}]
    assert {entry.text for entry in tell([first, line], audit)} >= {"go", "read_file a: 200"}
    task = TaskRecord("project", "t")
    for each in (first, {"type": "message", "usage": line.get("usage")}, line):
        task.read(each)
    json.dumps(figures_json(TracedTasks(("project",), [task])), allow_nan=False)
