"""Two folders of results side by side: which tasks ended otherwise, and what each run cost."""

from __future__ import annotations

import os
from typing import Any

from nebula.agent.batch.outcome import TaskOutcome
from nebula.agent.batch.results import read_outcomes
from nebula.agent.batch.task_file import RESULTS_FILE, BadTaskFile
from nebula.cli.figures.tables import NOT_MEASURED, table
from nebula.cli.printing import print_json, print_line, print_lines
from nebula.language import translate
from nebula.stage import one_line


def compare_results(one: str, other: str, *, as_json: bool) -> None:
    """Print what differs between two folders of results. Raises BadTaskFile where one has none."""
    first, second = _read(one), _read(other)
    names = sorted({*first, *second})
    if as_json:
        tasks = [{"id": name, "before": _brief(first.get(name)), "after": _brief(second.get(name))} for name in names]
        print_json({"tasks": tasks, "before": _sums(first), "after": _sums(second)})
        return
    head = (translate("task"), one_line(one), one_line(other))
    differing = [(name, _word(first.get(name)), _word(second.get(name))) for name in names]
    rows = [row for row in differing if row[1] != row[2]]
    print_lines(table([head, *rows], "<<<"))
    sums = [_sums(each) for each in (first, second)]
    for title, key in ((translate("succeeded"), "ok"), (translate("tasks"), "tasks"), (translate("cost"), "cost")):
        print_line(f"{title}: {sums[0][key]} → {sums[1][key]}")


def _read(folder: str) -> dict[str, TaskOutcome]:
    path = os.path.join(folder, RESULTS_FILE)
    if not os.path.isfile(path):
        raise BadTaskFile("{folder} is no folder of results", folder=folder)
    return {outcome.id: outcome for outcome in read_outcomes(path)}


def _word(outcome: TaskOutcome | None) -> str:
    return NOT_MEASURED if outcome is None else outcome.status


def _brief(outcome: TaskOutcome | None) -> dict[str, Any] | None:
    if outcome is None:
        return None
    return {name: getattr(outcome, name) for name in ("status", "exit_code", "verified", "cost", "seconds")}


def _sums(outcomes: dict[str, TaskOutcome]) -> dict[str, Any]:
    ok = sum(each.exit_code == 0 for each in outcomes.values())
    cost = round(sum(each.cost for each in outcomes.values()), 6)
    return {"ok": ok, "tasks": len(outcomes), "cost": cost}
