"""The prompt for a step, beside its goal: the whole task, and where this step stands in the plan."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from nebula.agent.context.system_prompt import template
from nebula.agent.plan.plan import PlanStep
from nebula.messages import truncate_safe

MOST_SAID = 600
"""Bytes of what an earlier step answered."""


def step_prompt(
    task: str,
    steps: Sequence[PlanStep],
    now: PlanStep | None,
    done: Mapping[str, str],
    home: str,
    at_work: Collection[str] = (),
) -> str:
    """Return the prompt of the executor. `now` is None during a repair; then every step is over. Steps that are
    `at_work` at the same time are marked."""
    parts = [template("executor", home), f"# The task that the plan serves\n\n{task}", "# The plan"]
    parts.append("\n".join(_line(step, now, done, at_work) for step in steps))
    if now is not None and now.files:
        parts.append("Files of this step: " + ", ".join(now.files))
    return "\n\n".join(parts)


def _line(step: PlanStep, now: PlanStep | None, done: Mapping[str, str], at_work: Collection[str]) -> str:
    title = step.title or step.goal or step.tool
    title = " ".join(truncate_safe(title, MOST_SAID).split())
    if now is not None and step.id == now.id:
        return f"- [now] {title}"
    if step.id in at_work:
        return f"- [done by another at this moment] {title}"
    if step.id not in done:
        return f"- [not yet] {title}"
    said = " ".join(truncate_safe(done[step.id], MOST_SAID).split())
    return f"- [done] {title}" + (f": {said}" if said else "")
