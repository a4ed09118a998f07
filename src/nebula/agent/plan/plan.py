"""A plan: steps with an order, read from JSON that a model or a person wrote.

The format is published as `plan.schema.json` beside this module. Reading is strict: the first error is reported with
where it is and what to write instead, and goes back to the planner for its one retry.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, Literal, get_args

from nebula.errors import EXIT_FORMAT, NebulaError
from nebula.value import value

OnError = Literal["stop", "skip", "retry"]

MAX_STEPS = 200
"""A plan with more steps is a mistake of the model."""
LONGEST: Mapping[str, int] = {"id": 100, "title": 1_000, "goal": 50_000, "tool": 200, "files": 1_000, "depends_on": 100}
"""Characters of each text, since all of them are printed and sent."""
MOST_LISTED = 1_000
_KEYS = frozenset({"id", "title", "goal", "tool", "parameters", "files", "depends_on", "on_error"})


class BadPlan(NebulaError):
    """The plan cannot be carried out as written."""

    exit_code = EXIT_FORMAT
    kind = "plan"


CHECK_TOOLS = "run."
"""The names of checks as tools of a plan: `run.lint`, `run.test`, `run.format`, `run.http`."""


@value
class PlanStep:
    """One step: a goal in words for the executor, or a tool with its arguments."""

    id: str
    title: str = ""
    goal: str = ""
    tool: str = ""
    parameters: Mapping[str, Any] = {}
    files: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    on_error: OnError = "stop"

    @property
    def is_check(self) -> bool:
        """Return whether the step runs checks: they judge all files, so nothing else may change a file at the same
        time."""
        return self.tool.startswith(CHECK_TOOLS)

    def to_json(self) -> dict[str, Any]:
        action = {"tool": self.tool, "parameters": dict(self.parameters)} if self.tool else {"goal": self.goal}
        return {
            "id": self.id,
            "title": self.title,
            **action,
            "files": list(self.files),
            "depends_on": list(self.depends_on),
            "on_error": self.on_error,
        }


@value
class StepPlan:
    steps: tuple[PlanStep, ...]

    def to_json(self) -> dict[str, Any]:
        return {"tasks": [step.to_json() for step in self.steps]}

    def in_order(self) -> list[PlanStep]:
        """Return the steps in order of their dependencies; where several could come next, in the order of the plan."""
        place = {step.id: number for number, step in enumerate(self.steps)}
        sorter = TopologicalSorter({step.id: step.depends_on for step in self.steps})
        sorter.prepare()
        ready = [place[step_id] for step_id in sorter.get_ready()]
        heapq.heapify(ready)
        ordered = []
        while ready:
            step = self.steps[heapq.heappop(ready)]
            ordered.append(step)
            sorter.done(step.id)
            for step_id in sorter.get_ready():
                heapq.heappush(ready, place[step_id])
        return ordered


def read_plan(found: Any) -> StepPlan:
    """Return the plan in a JSON value. Raises BadPlan."""
    tasks = found.get("tasks") if isinstance(found, Mapping) else None
    if not isinstance(tasks, list):
        raise BadPlan('A plan is a JSON object with a list "tasks".')
    if not tasks:
        raise BadPlan("The plan has no tasks.")
    if len(tasks) > MAX_STEPS:
        raise BadPlan("The plan has {count} tasks; at most {most} are allowed.", count=len(tasks), most=MAX_STEPS)
    plan = StepPlan(tuple(_read_step(number, task) for number, task in enumerate(tasks, start=1)))
    _check_dependencies(plan)
    return plan


def _read_step(number: int, task: Any) -> PlanStep:
    if not isinstance(task, Mapping):
        raise BadPlan("Task {number} is not a JSON object.", number=number)
    for key in task:
        if key not in _KEYS:
            raise BadPlan("Task {number} has an unknown key {key!r}.", number=number, key=str(key)[:60])
    step_id = _text(task, "id", number)
    if not step_id.strip():
        raise BadPlan('Task {number} needs an "id".', number=number)
    goal, tool = _text(task, "goal", number), _text(task, "tool", number)
    if bool(goal.strip()) == bool(tool.strip()):
        raise BadPlan('Task {id!r} needs either a "goal" or a "tool" with its "parameters".', id=step_id)
    parameters = task.get("parameters")
    if parameters is None:
        parameters = {}
    if not isinstance(parameters, Mapping) or (parameters and not tool):
        raise BadPlan('"parameters" of task {id!r} must be an object, and goes with a "tool".', id=step_id)
    on_error: Any = task.get("on_error") or "stop"
    if on_error not in get_args(OnError):
        raise BadPlan('"on_error" of task {id!r} must be stop, skip or retry.', id=step_id)
    return PlanStep(
        id=step_id,
        title=_text(task, "title", number),
        goal=goal,
        tool=tool,
        parameters=parameters,
        files=_texts(task, "files", step_id),
        depends_on=tuple(dict.fromkeys(_texts(task, "depends_on", step_id))),
        on_error=on_error,
    )


def _text(task: Mapping[str, Any], key: str, number: int) -> str:
    found = task.get(key)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise BadPlan('"{key}" of task {number} must be a string.', key=key, number=number)
    if len(found) > LONGEST[key]:
        raise BadPlan(
            '"{key}" of task {number} is longer than {most} characters.', key=key, number=number, most=LONGEST[key]
        )
    return found


def _texts(task: Mapping[str, Any], key: str, step_id: str) -> tuple[str, ...]:
    found = task.get(key)
    if found is None:
        return ()
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise BadPlan('"{key}" of task {id!r} must be a list of strings.', key=key, id=step_id)
    if len(found) > MOST_LISTED or any(len(item) > LONGEST[key] for item in found):
        raise BadPlan(
            '"{key}" of task {id!r} has more than {count} entries, or one longer than {most} characters.',
            key=key,
            id=step_id,
            count=MOST_LISTED,
            most=LONGEST[key],
        )
    return tuple(found)


def _check_dependencies(plan: StepPlan) -> None:
    [(most_used, times)] = Counter(step.id for step in plan.steps).most_common(1)
    if times > 1:
        raise BadPlan("Two tasks have the id {id!r}; each needs its own.", id=most_used)
    known = {step.id for step in plan.steps}
    for step in plan.steps:
        for wanted in step.depends_on:
            if wanted not in known:
                raise BadPlan("Task {id!r} depends on {wanted!r}, which is not in the plan.", id=step.id, wanted=wanted)
    try:
        TopologicalSorter({step.id: step.depends_on for step in plan.steps}).prepare()
    except CycleError as circle:
        raise BadPlan("The tasks wait for each other: {circle}.", circle=" → ".join(circle.args[1])) from None


def agreeing(shapes: Iterable[str]) -> int:
    """Return how many plans have the most frequent shape; a shape is a digest of the graph of steps."""
    return max(Counter(shapes).values(), default=0)


def step_graph(plan: StepPlan) -> str:
    """Return the graph of a plan's steps without its wording: equal for plans that differ only in ids, titles and
    spaces."""
    ordered = plan.in_order()
    number = {step.id: place for place, step in enumerate(ordered)}
    return json.dumps(
        [
            {
                "tool": step.tool,
                "parameters": dict(step.parameters),
                # The files of a goal identify it; a goal without files is identified by its words.
                "goal": "" if step.files else " ".join(step.goal.casefold().split()),
                "files": sorted({path.removeprefix("./") for path in step.files}),
                "after": sorted(number[wanted] for wanted in step.depends_on),
                "on_error": step.on_error,
            }
            for step in ordered
        ],
        sort_keys=True,
        ensure_ascii=False,
    )
