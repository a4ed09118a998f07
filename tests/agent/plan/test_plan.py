"""Plans: read strictly, ordered by dependency, compared by what they do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nebula.agent.plan.plan as plan_module
from nebula.agent.plan.plan import BadPlan, PlanStep, StepPlan, agreeing, read_plan, step_graph
from rows import each_row

SCHEMA = json.loads(Path(plan_module.__file__).with_name("plan.schema.json").read_text("utf-8"))


def plan(*tasks: dict[str, Any]) -> StepPlan:
    return read_plan({"tasks": list(tasks)})


def ids(steps: list[PlanStep]) -> list[str]:
    return [step.id for step in steps]


def test_a_plan_is_read_with_its_defaults() -> None:
    read = plan({"id": "a", "goal": "write it"}, {"id": "b", "tool": "write_file", "parameters": {"path": "x.py"}})
    assert read == StepPlan(
        (PlanStep("a", goal="write it"), PlanStep("b", tool="write_file", parameters={"path": "x.py"}))
    )
    assert read_plan(read.to_json()) == read


@each_row(
    ("tasks", "sentence"),
    [
        ([], "The plan has no tasks."),
        ("x", 'A plan is a JSON object with a list "tasks".'),
        ([1], "Task 1 is not a JSON object."),
        ([{"id": "a", "goal": "g"}, {"goal": "g"}], 'Task 2 needs an "id".'),
        ([{"id": 3, "goal": "g"}], '"id" of task 1 must be a string.'),
        ([{"id": " ", "goal": "g"}], 'Task 1 needs an "id".'),
        ([{"id": "a", "goal": 1}], '"goal" of task 1 must be a string.'),
        ([{"id": "a", "tool": 1}], '"tool" of task 1 must be a string.'),
        ([{"id": "a", "goal": "g", "title": 1}], '"title" of task 1 must be a string.'),
        ([{"id": "a"}], 'Task \'a\' needs either a "goal" or a "tool" with its "parameters".'),
        (
            [{"id": "a", "goal": "g", "tool": "t"}],
            'Task \'a\' needs either a "goal" or a "tool" with its "parameters".',
        ),
        (
            [{"id": "a", "goal": "g", "parameters": {"x": 1}}],
            '"parameters" of task \'a\' must be an object, and goes with a "tool".',
        ),
        (
            [{"id": "a", "tool": "t", "parameters": []}],
            '"parameters" of task \'a\' must be an object, and goes with a "tool".',
        ),
        ([{"id": "a" * 101, "goal": "g"}], '"id" of task 1 is longer than 100 characters.'),
        ([{"id": "a", "goal": "g", "title": "t" * 1001}], '"title" of task 1 is longer than 1000 characters.'),
        ([{"id": "a", "goal": "g" * 50_001}], '"goal" of task 1 is longer than 50000 characters.'),
        ([{"id": "a", "tool": "t" * 201}], '"tool" of task 1 is longer than 200 characters.'),
        (
            [{"id": "a", "goal": "g", "files": ["f" * 1001]}],
            "\"files\" of task 'a' has more than 1000 entries, or one longer than 1000 characters.",
        ),
        (
            [{"id": "a", "goal": "g", "depends_on": ["a"] * 1001}],
            "\"depends_on\" of task 'a' has more than 1000 entries, or one longer than 100 characters.",
        ),
        ([{"id": "a", "goal": "g", "files": "x"}], "\"files\" of task 'a' must be a list of strings."),
        ([{"id": "a", "goal": "g", "depends_on": [1]}], "\"depends_on\" of task 'a' must be a list of strings."),
        ([{"id": "a", "goal": "g", "on_error": "panic"}], "\"on_error\" of task 'a' must be stop, skip or retry."),
        ([{"id": "a", "goal": "g", "colour": 1}], "Task 1 has an unknown key 'colour'."),
        ([{"id": "a", "goal": "g", "c" * 61: 1}], f"Task 1 has an unknown key '{'c' * 60}'."),
        ([{"id": "a", "goal": "g"}, {"id": "a", "goal": "h"}], "Two tasks have the id 'a'; each needs its own."),
        ([{"id": "a", "goal": "g", "depends_on": ["z"]}], "Task 'a' depends on 'z', which is not in the plan."),
        ([{"id": "a", "goal": "g", "depends_on": ["a"]}], "The tasks wait for each other: a → a."),
        ([{"id": str(n), "goal": "g"} for n in range(201)], "The plan has 201 tasks; at most 200 are allowed."),
    ],
)
def test_what_is_wrong_is_named(tasks: Any, sentence: str) -> None:
    with pytest.raises(BadPlan) as refused:
        read_plan({"tasks": tasks})
    assert str(refused.value) == sentence
    assert refused.value.exit_code == 3


@pytest.mark.parametrize("found", [None, [], "plan", {"steps": []}])
def test_what_is_no_plan_is_refused(found: Any) -> None:
    with pytest.raises(BadPlan, match="JSON object"):
        read_plan(found)


def test_a_circle_is_shown() -> None:
    with pytest.raises(BadPlan, match=r"wait for each other: (a → b → a|b → a → b)"):
        plan({"id": "a", "goal": "g", "depends_on": ["b"]}, {"id": "b", "goal": "g", "depends_on": ["a"]})


def test_everything_a_step_may_say_is_read_and_200_are_not_too_many() -> None:
    whole = {"id": "a", "title": "T", "goal": "g", "files": ["x"], "depends_on": ["0", "0"], "on_error": "skip"}
    read = plan(*({"id": str(n), "goal": "g"} for n in range(199)), whole)
    assert read.steps[-1] == PlanStep("a", "T", "g", files=("x",), depends_on=("0",), on_error="skip")


def test_what_a_plan_does_is_written_one_way() -> None:
    read = plan(
        {"id": "b", "tool": "t", "parameters": {"p": "é"}, "depends_on": ["a"], "on_error": "skip"},
        {"id": "a", "goal": " Write  IT "},
        {"id": "c", "goal": "anything", "files": ["./x.py", "x.py", "a.py"]},
    )
    rest = '"on_error": "stop", "parameters": {}, "tool": ""'
    assert step_graph(read) == (
        f'[{{"after": [], "files": [], "goal": "write it", {rest}}}, '
        '{"after": [0], "files": [], "goal": "", "on_error": "skip", "parameters": {"p": "é"}, "tool": "t"}, '
        f'{{"after": [], "files": ["a.py", "x.py"], "goal": "", {rest}}}]'
    )


def test_order_is_by_dependency_and_ties_by_position() -> None:
    read = plan(
        {"id": "z", "goal": "last", "depends_on": ["b", "a"]},
        {"id": "b", "goal": "second", "depends_on": ["a"]},
        {"id": "y", "goal": "free"},
        {"id": "a", "goal": "first"},
    )
    assert ids(read.in_order()) == ["y", "a", "b", "z"]


@given(st.data())
def test_any_plan_without_circles_is_ordered(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 12))
    names = data.draw(st.permutations([f"s{n}" for n in range(count)]))
    tasks = [
        {
            "id": name,
            "goal": "g",
            "depends_on": data.draw(st.lists(st.sampled_from(names[:n]), max_size=3)) if n else [],
        }
        for n, name in enumerate(names)
    ]
    shuffled = data.draw(st.permutations(tasks))
    read = plan(*shuffled)
    ordered = ids(read.in_order())
    assert sorted(ordered) == sorted(names)
    for step in read.steps:
        assert all(ordered.index(wanted) < ordered.index(step.id) for wanted in step.depends_on)


task_like = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["a", "b", "", " ", 1, "a" * 100, "a" * 101]),
        "title": st.sampled_from(["t", None, 3, "t" * 1000, "t" * 1001]),
        "goal": st.sampled_from(["g", "", " ", None, 5, "g" * 50_000, "g" * 50_001]),
        "tool": st.sampled_from(["t", "", None, []]),
        "parameters": st.sampled_from([{}, {"x": 1}, None, [], "x"]),
        "files": st.sampled_from([[], ["x"], [1], None, "x", ["x"] * 1000, ["x"] * 1001, ["x" * 1001]]),
        "depends_on": st.sampled_from([[], None, [2]]),
        "on_error": st.sampled_from(["stop", "skip", "retry", "", None, "panic"]),
        "other": st.just(1),
    },
)


@given(task_like)
def test_the_published_schema_and_the_reader_agree(task: dict[str, Any]) -> None:
    found = {"tasks": [task]}
    try:
        read_plan(found)
        accepted = True
    except BadPlan:
        accepted = False
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(found) == accepted


def test_plans_that_do_the_same_are_the_same() -> None:
    one = plan(
        {"id": "1", "title": "Make it", "goal": "Write  the app", "files": ["./app/main.py"]},
        {"id": "2", "goal": "test", "depends_on": ["1"]},
    )
    other = plan(
        {"id": "make", "goal": "write the whole app", "files": ["app/main.py"]},
        {"id": "check", "goal": " Test ", "depends_on": ["make"]},
    )
    third = plan({"id": "make", "goal": "write the whole app", "files": ["app/other.py"]})
    assert step_graph(one) == step_graph(other) != step_graph(third)
    assert agreeing(map(step_graph, (one, other, third))) == 2
    assert agreeing(()) == 0
