"""Carrying out one task in the place that was made for it; the same here and on another machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nebula.agent.batch.outcome import TaskOutcome, outcome_of
from nebula.agent.batch.setup import set_up
from nebula.agent.batch.task_file import BatchTask
from nebula.agent.orchestrator.limits import TaskLimits
from nebula.agent.orchestrator.run import run_task
from nebula.agent.orchestrator.task import TaskRequest
from nebula.config import Settings, load_settings
from nebula.events import Reader
from nebula.value import replace

Said = Mapping[str, Any]
"""What the command line says of settings."""


def settings_for(task: BatchTask, place: str, said: Said, trusted: Settings) -> Settings:
    """Return the project's settings for a task. Its checks are trusted where the project's are and say the same."""
    own = {name: getattr(task, name) or said.get(name) for name in ("planner", "executor")}
    settings = load_settings(place, overrides={**said, **own})
    if task.checks:  # they stand in the user's own file of tasks
        return replace(settings, checks=task.checks, trust=True)
    return replace(settings, trust=True) if trusted.trust and settings.checks == trusted.checks else settings


async def carry_out(
    task: BatchTask,
    place: str,
    said: Said,
    trusted: Settings,
    audience: Sequence[Reader],
    limits: TaskLimits = TaskLimits(),  # noqa: B008 - a frozen value
) -> TaskOutcome:
    """Carry out a task in its place, after its own set-up. Raises SetupFailed, before any model is asked."""
    settings = settings_for(task, place, said, trusted)
    if task.setup:
        await set_up(task, settings)
    request = TaskRequest(task.prompt or "Carry out the plan.", plan=task.plan, limits=limits, env=task.env)
    result = await run_task(settings, request, audience)
    return outcome_of(task, place, result.trace_id, result.final)
