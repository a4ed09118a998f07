"""Show a batch: a live line, a line for each task that ended, a table at the end, and two results side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from nebula.agent.batch.outcome import TaskOutcome
from nebula.agent.batch.reports import ModelScore
from nebula.agent.batch.results import read_outcomes
from nebula.agent.batch.task_file import RESULTS_FILE, BadTaskFile, BatchTask
from nebula.agent.figures.kpis import Spending
from nebula.cli.figures.tables import NOT_MEASURED, dollars, table
from nebula.cli.printing import print_json, print_line, print_lines, print_remark
from nebula.cli.terminal.output.live_line import line_of_command
from nebula.events import Stamped, StepProgress
from nebula.language import explain, translate
from nebula.stage import one_line


class BatchView:
    """On stderr: results alone go to stdout."""

    def __init__(self, total: int, done_before: int) -> None:
        self._total = total
        self._done = done_before
        self._failed = 0
        self._running: dict[str, str] = {}
        """Tasks at work, with the step that each is at."""
        self._live = line_of_command()

    def started(self, task: BatchTask) -> None:
        self._running[task.id] = ""
        self._draw()

    def happened(self, task: BatchTask, stamped: Stamped) -> None:
        if isinstance(stamped.event, StepProgress):
            self._running[task.id] = stamped.event.title
            self._draw()

    def ended(self, outcome: TaskOutcome) -> None:
        self._running.pop(outcome.id, None)
        self._done += 1
        self._failed += outcome.exit_code != 0
        self._live.lower()
        remark = f"  {one_line(explain(outcome.remark))}" if outcome.remark else ""
        place = f"{self._done}/{self._total}  {outcome.id}"
        took = translate("{seconds} s", seconds=f"{outcome.seconds:.1f}")
        print_remark(f"{place}  {status_word(outcome)}  {took}{remark}")
        self._draw()

    def close(self) -> None:
        self._live.lower()

    def _draw(self) -> None:
        counts = {"done": self._done, "total": self._total, "failed": self._failed, "running": len(self._running)}
        line = translate("{done} of {total} done, {failed} failed, {running} at work", **counts)
        at_work = ", ".join(f"{name} {what}".rstrip() for name, what in self._running.items())
        self._live.raise_(one_line(at_work), doing=line)


def status_word(outcome: TaskOutcome) -> str:
    if outcome.exit_code == 0:
        return translate("verified") if outcome.verified else translate("done")
    return translate("refused") if outcome.status == "refused" else translate("failed")


def print_table(outcomes: Sequence[TaskOutcome], seconds: float) -> None:
    titles = (
        translate("task"), translate("result"), translate("steps"), translate("files"), translate("tokens in"),
        translate("tokens out"), translate("cost"), translate("seconds"),
    )  # fmt: skip
    rows = [titles, *(_row(each) for each in outcomes)]
    print_lines(table(rows, align="<<>>>>>>"))
    ok = sum(each.exit_code == 0 for each in outcomes)
    counts = {"ok": ok, "failed": len(outcomes) - ok, "seconds": f"{seconds:.1f}"}
    print_line("\n" + translate("{ok} done, {failed} failed, {seconds} s", **counts))


def _row(outcome: TaskOutcome) -> tuple[str, ...]:
    spent = Spending(
        "",
        input_tokens=outcome.input_tokens,
        output_tokens=outcome.output_tokens,
        cost=outcome.cost,
        unpriced_tokens=outcome.unpriced_tokens,
    )
    steps = f"{outcome.steps_done}/{outcome.steps}"
    tokens = (f"{outcome.input_tokens:,}", f"{outcome.output_tokens:,}")
    return (
        one_line(outcome.id), status_word(outcome), steps, str(len(outcome.files)), *tokens, dollars(spent),
        f"{outcome.seconds:.1f}",
    )  # fmt: skip


def print_scores(scores: Sequence[ModelScore]) -> None:
    """Print how each model did: nothing is ranked, the order is that of the models as they were named."""
    titles = (
        translate("model"), translate("tasks"), translate("tries"), translate("passed at 1"), translate("passed at N"),
        translate("cost"), translate("malformed replies"),
    )  # fmt: skip
    rows = [titles, *map(_score_row, scores)]
    print_line()
    print_lines(table(rows, align="<>>>>>>"))


def _score_row(score: ModelScore) -> tuple[str, ...]:
    spent = Spending("", cost=score.cost, unpriced_tokens=score.unpriced_tokens)
    rates = (f"{score.passed_at_1 * 100:.1f} %", f"{score.passed_at_n * 100:.1f} %")
    name = one_line(score.model) or "–"  # none was asked: the set-up failed
    return (name, str(score.tasks), str(score.tries), *rates, dollars(spent), str(score.malformed))


def compare_results(one: str, other: str, *, as_json: bool) -> None:
    """Print what differs between two folders of results. Raises BadTaskFile where one has none."""
    first, second = _read_results(one), _read_results(other)
    names = sorted({*first, *second})
    if as_json:
        tasks = [{"id": name, "before": _brief(first.get(name)), "after": _brief(second.get(name))} for name in names]
        print_json({"tasks": tasks, "before": _sums(first), "after": _sums(second)})
        return
    head = (translate("task"), one_line(one), one_line(other))
    differing = [(name, _status_of(first.get(name)), _status_of(second.get(name))) for name in names]
    rows = [row for row in differing if row[1] != row[2]]
    print_lines(table([head, *rows], "<<<"))
    sums = [_sums(each) for each in (first, second)]
    for title, key in ((translate("succeeded"), "ok"), (translate("tasks"), "tasks"), (translate("cost"), "cost")):
        print_line(f"{title}: {sums[0][key]} → {sums[1][key]}")


def _read_results(folder: str) -> dict[str, TaskOutcome]:
    path = os.path.join(folder, RESULTS_FILE)
    if not os.path.isfile(path):
        raise BadTaskFile("{folder} is no folder of results", folder=folder)
    return {outcome.id: outcome for outcome in read_outcomes(path)}


def _status_of(outcome: TaskOutcome | None) -> str:
    return NOT_MEASURED if outcome is None else outcome.status


def _brief(outcome: TaskOutcome | None) -> dict[str, Any] | None:
    if outcome is None:
        return None
    return {name: getattr(outcome, name) for name in ("status", "exit_code", "verified", "cost", "seconds")}


def _sums(outcomes: dict[str, TaskOutcome]) -> dict[str, Any]:
    ok = sum(each.exit_code == 0 for each in outcomes.values())
    cost = round(sum(each.cost for each in outcomes.values()), 6)
    return {"ok": ok, "tasks": len(outcomes), "cost": cost}
