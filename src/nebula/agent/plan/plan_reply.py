"""Finding the plan in what a planner really sends: alone, in a fence, among prose, wrapped in another object.

Lossless repairs only, as for tool calls: a plan that is cut off is not completed, since what is missing is work.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from nebula.agent.plan.plan import BadPlan, StepPlan, read_plan
from nebula.llm.dialect.lenient_json import Fault, parse_value
from nebula.llm.dialect.noise import strip_noise

MOST_PLACES = 50
"""Braces that are looked at in a reply that is mostly prose."""
_WRAPPERS = ("plan", "final_answer", "answer", "response", "result")
_START = re.compile(r"[\[{]")
_PLAN_START = re.compile(r"""\{\s*["']tasks["']""")


def read_plan_reply(text: str) -> StepPlan:
    """Return the plan in a reply. Raises BadPlan, with the sentence that the planner is shown."""
    body = strip_noise(text)
    if not body.strip():
        raise BadPlan("The reply is empty; a plan as one JSON object was asked for.")
    problem: Fault | None = None
    found: Any = None
    for place in _places(body):
        try:
            value = _unwrapped(parse_value(body, place).value)
        except Fault as fault:
            problem = problem or fault
            continue
        if _is_plan(value):
            return read_plan(value)
        found = found if found is not None else value
    if problem is not None and found is None:
        raise BadPlan("The plan could not be read as JSON: {problem}", problem=str(problem))
    if found is None:
        raise BadPlan("The reply is plain text; a plan as one JSON object was asked for.")
    return read_plan(found)


def _places(body: str) -> Iterator[int]:
    """Find where a plan may begin: at the first bracket, then wherever an object begins with its tasks."""
    first = _START.search(body)
    if first is None:
        return
    yield first.start()
    for number, match in enumerate(_PLAN_START.finditer(body, first.start() + 1)):
        if number >= MOST_PLACES:
            return
        yield match.start()


def _is_plan(value: Any) -> bool:
    return isinstance(value, Mapping) and "tasks" in value


def _unwrapped(value: Any) -> Any:
    """Return the plan inside an object that holds nothing else of use; a bare list is taken for its tasks."""
    if isinstance(value, list) and value and all(isinstance(item, Mapping) and "id" in item for item in value):
        return {"tasks": value}
    if not isinstance(value, Mapping) or "tasks" in value:
        return value
    for key in _WRAPPERS:
        inner = value.get(key)
        if isinstance(inner, str) and _START.match(inner.strip()):
            try:
                inner = parse_value(inner.strip()).value
            except Fault:
                continue
        if _is_plan(inner):
            return inner
    return value
