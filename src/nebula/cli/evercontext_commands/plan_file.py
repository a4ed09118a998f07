"""A plan as a file: what `evercontext plan` writes, people edit, and `evercontext run --plan` carries out."""

from __future__ import annotations

import json
import sys
from typing import Any

from nebula.agent.plan.plan import BadPlan, StepPlan, read_plan
from nebula.cli.arguments import UsageError
from nebula.files.untrusted_json import parse_json

MOST_BYTES = 4 << 20


def read_plan_file(path: str) -> tuple[StepPlan, str]:
    """Return the plan, and the task that it is for where the file says so. Raises BadPlan, UsageError."""
    try:
        if path == "-":
            raw = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with open(path, "rb") as file:
                raw = file.read(MOST_BYTES + 1)
    except OSError as problem:
        raise UsageError("{path}: {reason}", path=path, reason=problem.strerror) from None
    if len(raw) > MOST_BYTES:
        raise BadPlan("{path} is too large to be a plan.", path=path)
    try:
        found: Any = parse_json(raw.decode("utf-8-sig"))
    except ValueError as problem:
        raise BadPlan("{path} is not JSON: {problem}", path=path, problem=problem) from None
    if isinstance(found, dict) and "tasks" not in found and isinstance(found.get("plans"), list) and found["plans"]:
        found = {"task": found.get("task")} | dict(found["plans"][0])  # as `evercontext plan --json` prints it
    plan = read_plan(found)
    task = found.get("task")
    if isinstance(task, str) and task.strip():
        return plan, task
    return plan, "\n".join(step.title or step.goal or step.tool for step in plan.steps)


def plan_text(plan: StepPlan, task: str) -> str:
    return json.dumps({"task": task} | plan.to_json(), ensure_ascii=False, indent=2) + "\n"
