"""What happens in a task that is carried out by a plan, and when work is checked and repaired."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from nebula.events.facts import CheckRun, Event, Evidence, StepState, Usage
from nebula.language import Sentence
from nebula.value import value


@value
class PlanReply(Event):
    """What a planner sent, before anybody tried to read it."""

    type: ClassVar[str] = "plan_reply"
    text: str
    model: str
    attempt: int = 1
    usage: Usage = Usage()
    duration_s: float | None = None
    stop: str | None = None
    """As that of a message."""
    cut: bool | None = None
    """It was longer than what is kept of it."""
    provider: str | None = None


@value
class Plan(Event):
    """A plan that validated, before its first step."""

    type: ClassVar[str] = "plan"
    plan: Mapping[str, Any]
    model: str | None = None
    """Who made it; None for one that was handed in."""
    usage: Usage | None = None
    """Of all the replies that it took."""
    duration_s: float | None = None
    evidence: tuple[Evidence, ...] | None = None
    """The places of the project that the planner was shown."""
    given: bool | None = None
    """It was handed in, not made for this task."""


@value
class StepProgress(Event):
    """A step of the plan begins or ends."""

    type: ClassVar[str] = "progress"
    task_id: str
    state: StepState
    title: str = ""
    attempt: int = 1
    remark: Sentence | None = None
    """Why it failed or was skipped."""
    duration_s: float | None = None


@value
class Checked(Event):
    """A check was run after the work. `round` counts the repairs before it."""

    type: ClassVar[str] = "check"
    check: CheckRun
    round: int = 0
    flaky: bool | None = None
    """It failed, and passed when it was run once more with nothing changed."""
    duration_s: float | None = None


@value
class Repair(Event):
    """Failures go back to the model: it is asked to repair them, for the `round`-th time of at most `rounds`."""

    type: ClassVar[str] = "repair"
    round: int
    rounds: int
    failing: tuple[str, ...]
    report: str = ""
    """What the model is told."""
