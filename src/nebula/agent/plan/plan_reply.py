"""Find the plan in what a planner really sends: alone, in a fence, in prose, or inside another object.

Repairs are lossless, as for tool calls. A plan that was cut off is not completed: what is missing is work.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from nebula.agent.plan.plan import BadPlan, StepPlan, read_plan
from nebula.llm.dialect.lenient_json import Fault, parse_value
from nebula.llm.dialect.noise import strip_noise

MOST_PLACES = 50
"""How many braces are tried in a reply that is mostly prose."""
_WRAPPERS = ("plan", "final_answer", "answer", "response", "result")
_START = re.compile(r"[\[{]")
_PLAN_START = re.compile(r"""\{\s*["']tasks["']""")


def read_plan_reply(text: str) -> StepPlan:
    """Return the plan in a reply. Raises BadPlan with the sentence for the planner."""
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
    """Yield the positions where a plan may begin: the first bracket, then each object that begins with its tasks."""
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
    """Return the plan inside an object that holds nothing else; a bare list is read as the list of tasks."""
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
