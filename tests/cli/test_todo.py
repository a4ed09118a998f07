"""The model's list of steps: kept by a call, an event for everybody, lines for whoever watches."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from conftest import Bench
from in_process import run_here, sit_down_here
from nebula.events import TodoItem, TodoList
from nebula.stage import Checklist, Curtain, Scene, StageOptions, perform
from scripted_model import Call, ScriptedModel, Turn
from terminal_driver import Person

READ, FIX = {"content": "read the parser", "status": "completed"}, {"content": "fix it\x1b[2J", "status": "in_progress"}


def steps(*items: Mapping[str, Any]) -> Call:
    return Call("todo", {"items": list(items)})


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_people_see_the_list_once_and_then_what_changed(bench: Bench, lang: str) -> None:
    begun = steps(READ | {"status": "in_progress"}, FIX | {"status": "pending"})
    turns = [Turn("I begin.", [begun]), Turn("", [steps(READ, FIX)]), Turn("Done.")]

    def person(me: Person) -> None:
        me.prompt()
        me.line("go")
        me.wait("Done.")
        me.prompt(times=2)
        me.line("exit")
        shown = [line for line in me.lines if line[:1] in "☐▸✔" and line]
        assert shown == ["▸ read the parser", "☐ fix it[2J", "✔ read the parser", "▸ fix it[2J"]

    with ScriptedModel(turns) as server:
        sit_down_here(bench, person, NEBULA_LANG=lang, **server.env())


def test_the_stream_and_the_trace_have_the_list_and_plan_mode_has_no_such_tool(bench: Bench) -> None:
    with ScriptedModel([Turn("", [steps(READ)]), Turn("Done."), Turn("A plan.")]) as server:
        ran = run_here(bench, "nebula", "-p", "go", "--output-format", "stream-json", **server.env())
        run_here(bench, "nebula", "-p", "go", "--mode", "plan", **server.env())
        planning = [tool["function"]["name"] for tool in server.turns[2].json["tools"]]
    told = [each for each in map(json.loads, ran.out.splitlines()) if each["type"] == "todo"]
    assert [each["items"] for each in told] == [[READ]]
    assert [each["items"] for each in bench.trace() if each["type"] == "todo"] == [[READ]]
    assert "todo" not in planning


@pytest.mark.parametrize(
    "items", ["x", [1], [{"content": "", "status": "pending"}], [{"content": "a", "status": "begun"}], [READ] * 51]
)
def test_what_is_no_list_of_steps_is_an_error_for_the_model(bench: Bench, items: Any) -> None:
    with ScriptedModel([Turn("", [Call("todo", {"items": items})]), Turn("Done.")]) as server:
        ran = run_here(bench, "nebula", "-p", "go", "--output-format", "stream-json", **server.env())
    events = [json.loads(line) for line in ran.out.splitlines()]
    assert [each["type"] for each in events].count("todo") == 0
    assert any(each["type"] == "tool_result" and each["status"] == "Error" for each in events)


def test_the_same_list_again_shows_nothing_and_another_one_is_shown_whole() -> None:
    one, two = TodoItem("one", "pending"), TodoItem("two", "pending")
    scene, cues = perform(Scene(), TodoList((one,)), StageOptions())
    assert cues == (Checklist((one,)), Curtain())
    assert cues[0].to_json() == {"cue": "checklist", "items": [{"content": "one", "status": "pending"}]}
    scene, cues = perform(scene, TodoList((one,)), StageOptions())
    assert cues == ()
    _, cues = perform(scene, TodoList((one, two)), StageOptions())
    assert cues == (Checklist((one, two)), Curtain())
