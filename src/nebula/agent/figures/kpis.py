"""The measures of the seed's four phases, and what the models were used for and cost, computed from the records.

A measure is a share of a total; where the total is 0 the measure is None, which is not the same as zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from nebula.agent.figures.gather import TracedTasks
from nebula.agent.figures.task_record import ModelUse, TaskRecord
from nebula.agent.plan.plan import agreeing
from nebula.events.facts import Facts
from nebula.value import record, value


@value
class Measure:
    """A figure and what it was counted from."""

    value: float | None
    of: int = 0
    """How many there were in all."""
    hits: int | None = None
    """How many of them count, where it is a share."""


def share(hits: int, of: int) -> Measure:
    return Measure(hits / of if of else None, of, hits)


KPI_NAMES = (
    "task_success_rate",
    "p95_latency_s",
    "policy_refusals",
    "plan_reproducibility",
    "partial_failure_rate",
    "evidence_match_at_k",
    "rename_accuracy",
    "repair_success_rate",
    "mean_repair_steps",
)


def kpis(found: TracedTasks) -> dict[str, Measure]:
    """Return every measure by its name, in the order of the seed's phases."""
    ended = [task for task in found.tasks if task.status]
    planned = [task for task in ended if task.done + task.not_done]
    repaired = [task for task in ended if task.failing_checks]
    measures = (
        share(sum(task.status == "ok" and not task.exit_code for task in ended), len(ended)),
        Measure(percentile([task.duration_s for task in ended], 0.95), len(ended)),
        Measure(found.policy_refusals, len(found.tasks)),
        _reproducibility(found.tasks),
        share(sum(bool(task.done and task.not_done) for task in planned), len(planned)),
        share(sum(task.evidence_held for task in ended), sum(task.evidence for task in ended)),
        share(found.renames_held, found.renames),
        share(sum(task.checks_pass is True for task in repaired), len(repaired)),
        _mean([task.repair_rounds or task.failing_checks for task in repaired if task.checks_pass]),
    )
    return dict(zip(KPI_NAMES, measures, strict=True))


def percentile(numbers: Sequence[float], part: float) -> float | None:
    """Return the percentile by nearest rank, so it is a value that was really measured."""
    return sorted(numbers)[math.ceil(part * len(numbers)) - 1] if numbers else None


def _mean(numbers: Sequence[int]) -> Measure:
    return Measure(sum(numbers) / len(numbers) if numbers else None, len(numbers))


def _reproducibility(tasks: Iterable[TaskRecord]) -> Measure:
    """Count the plans for requests that were planned more than once, and how many of them agree with the most frequent
    plan for their request."""
    groups: dict[tuple[str, str], list[str]] = {}
    for task in tasks:
        if task.plans:
            groups.setdefault((task.project, task.asked), []).extend(task.plans)
    repeated = [shapes for shapes in groups.values() if len(shapes) > 1]
    return share(sum(map(agreeing, repeated)), sum(map(len, repeated)))


@record
class Spending(Facts):
    """What a day, a model, a flow or a project used."""

    name: str
    tasks: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    """In US dollars, of what has a known price."""
    unpriced_tokens: int = 0


def _add(task: TaskRecord, entries: dict[str, Spending], name_of: Callable[[TaskRecord, str], str]) -> None:
    """Add a task's usage to the entry that `name_of` returns for each of its models; one task may count in several."""
    seen: set[str] = set()
    for (_, model), use in (task.uses or {(task.provider, task.model): ModelUse()}).items():
        name = name_of(task, model)
        entry = entries.setdefault(name, Spending(name))
        entry.tasks += name not in seen
        seen.add(name)
        entry.input_tokens += use.input_tokens
        entry.output_tokens += use.output_tokens
        entry.cost += use.cost
        entry.unpriced_tokens += use.unpriced_tokens


BY = ("day", "model", "flow", "project")
"""The keys by which spending can be grouped."""
NO_FLOW = "-"


def spending(tasks: Iterable[TaskRecord], by: str, flows: Mapping[str, str] | None = None) -> list[Spending]:
    """Return the spending by key: days in order, anything else with the highest cost first. `flows` has the name of
    each node's flow."""
    names: Mapping[str, Callable[[TaskRecord, str], str]] = {
        "day": lambda task, _: task.started[:10],
        "model": lambda _, model: model or "?",
        "flow": lambda task, _: (flows or {}).get(task.node_id, NO_FLOW),
        "project": lambda task, _: task.project,
        "all": lambda _, __: "",
    }
    entries: dict[str, Spending] = {}
    for task in tasks:
        _add(task, entries, names[by])
    if by == "day":
        return sorted(entries.values(), key=lambda each: each.name)
    return sorted(entries.values(), key=lambda each: (-each.cost, -each.input_tokens - each.output_tokens, each.name))


@record
class RacedModel(Facts):
    """How the tries of one model went in races."""

    model: str
    tries: int = 0
    checked: int = 0
    """Tries in which checks ran."""
    passed: int = 0
    """Tries whose checks passed."""
    taken: int = 0
    """Tries from which somebody took something."""


def raced_models(found: TracedTasks) -> list[RacedModel]:
    """Return the models that ran in races, by name; no ranking, that is for a person to judge."""
    models: dict[str, RacedModel] = {}
    for task in found.tasks:
        if task.is_try:
            entry = models.setdefault(task.model or "?", RacedModel(task.model or "?"))
            entry.tries += 1
            entry.checked += task.checks_pass is not None
            entry.passed += task.status == "ok" and task.checks_pass is True
            entry.taken += task.trace_id in found.taken
    return [models[name] for name in sorted(models)]


def figures_json(found: TracedTasks, flows: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return all figures as `--json` prints them and the page draws them."""
    measured = kpis(found)
    statuses: dict[str, int] = {}
    rungs: dict[str, int] = {}
    for task in found.tasks:
        statuses[task.status or "unfinished"] = statuses.get(task.status or "unfinished", 0) + 1
        for rung, times in task.rungs.items():
            rungs[rung] = rungs.get(rung, 0) + times
    [total] = spending(found.tasks, "all") or [Spending("")]
    return {
        **{name: each.value for name, each in measured.items()},
        "counted": {name: {"hits": each.hits, "of": each.of} for name, each in measured.items()},
        "tasks": len(found.tasks),
        "statuses": statuses,
        "rungs": rungs,
        "retries": sum(task.retries for task in found.tasks),
        "total": total.to_json(),
        "spending": {by: [each.to_json() for each in spending(found.tasks, by, flows)] for by in BY},
        "races": [each.to_json() for each in raced_models(found)],
        "projects": list(found.projects),
        "lines": found.lines,
        "damaged_lines": found.damaged,
    }
