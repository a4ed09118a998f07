"""A plan, or the list of steps that a model keeps, as an editor shows it: each waiting, under way or done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nebula.events import Plan, Stamped, StepProgress, TodoItem, TodoList
from nebula.stage import one_line

STATUS = {"started": "in_progress", "done": "completed"}
"""By the state of a step. The protocol has no word for one that failed or was skipped: it is still to be done."""


class PlanView:
    def __init__(self, update: Callable[[Mapping[str, Any]], None]) -> None:
        self._update = update
        self._steps: dict[str, dict[str, str]] = {}

    def read(self, stamped: Stamped) -> None:
        event = stamped.event
        if isinstance(event, Plan):
            self._steps = {str(step.get("id")): _describe_step(step) for step in event.plan.get("tasks", ())}
        elif isinstance(event, TodoList):
            self._steps = {str(number): _describe_item(item) for number, item in enumerate(event.items)}
        elif isinstance(event, StepProgress) and event.task_id in self._steps:
            self._steps[event.task_id]["status"] = STATUS.get(event.state, "pending")
        else:
            return
        self._update({"sessionUpdate": "plan", "entries": [dict(each) for each in self._steps.values()]})


def _describe_step(step: Mapping[str, Any]) -> dict[str, str]:
    words = step.get("title") or step.get("goal") or step.get("id")
    return {"content": one_line(str(words)), "priority": "medium", "status": "pending"}


def _describe_item(item: TodoItem) -> dict[str, str]:
    return {"content": one_line(item.content), "priority": "medium", "status": item.status}
