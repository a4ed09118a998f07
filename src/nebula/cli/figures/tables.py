"""Rows of text in columns; wide characters take two places, as on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nebula.agent.figures.kpis import Measure, Spending
from nebula.cli.printing import short_path
from nebula.cli.terminal.output.width import display_width
from nebula.language import translate
from nebula.stage import one_line

NOT_MEASURED = "–"


def table(rows: Sequence[Sequence[str]], align: str = "<><", indent: str = "  ") -> list[str]:
    """Return a table, one line a row. `align` has one mark a column, as in a format: `<` left, `>` right."""
    widths = [max((display_width(row[column]) for row in rows), default=0) for column in range(len(align))]
    lines = []
    for row in rows:
        cells = []
        for text, width, mark in zip(row, widths, align, strict=True):
            room = " " * (width - display_width(text))
            cells.append(room + text if mark == ">" else text + room)
        lines.append((indent + "  ".join(cells)).rstrip())
    return lines


def measure_rows(measures: Mapping[str, Measure]) -> list[tuple[str, str, str]]:
    names = {
        "task_success_rate": translate("task success rate"),
        "p95_latency_s": translate("95 % of tasks end within"),
        "policy_refusals": translate("refused by policy"),
        "plan_reproducibility": translate("plan reproducibility"),
        "partial_failure_rate": translate("partial failure rate"),
        "evidence_match_at_k": translate("evidence match"),
        "rename_accuracy": translate("rename accuracy"),
        "repair_success_rate": translate("repair success rate"),
        "mean_repair_steps": translate("steps to a repair, on average"),
    }
    return [(names[name], _shown(name, each), _counted(name, each)) for name, each in measures.items()]


def _shown(name: str, measure: Measure) -> str:
    if measure.value is None:
        return NOT_MEASURED
    if measure.hits is not None:
        return f"{measure.value * 100:.1f} %"
    if name == "p95_latency_s":
        return f"{measure.value:,.1f} s"
    return f"{measure.value:,.0f}" if name == "policy_refusals" else f"{measure.value:.1f}"


def _counted(name: str, measure: Measure) -> str:
    """Say from what the figure was counted."""
    if measure.value is None:
        return translate("nothing to measure yet")
    if measure.hits is None:
        return ""
    values = {"hits": f"{measure.hits:,}", "of": f"{measure.of:,}"}
    return {
        "task_success_rate": translate("{hits} of {of} tasks", **values),
        "plan_reproducibility": translate("{hits} of {of} plans made again", **values),
        "partial_failure_rate": translate("{hits} of {of} planned tasks", **values),
        "evidence_match_at_k": translate("{hits} of {of} cited places", **values),
        "rename_accuracy": translate("{hits} of {of} renames", **values),
        "repair_success_rate": translate("{hits} of {of} tasks with a failed check", **values),
    }[name]


def spending_rows(kind: str, entries: Sequence[Spending]) -> list[tuple[str, str, str, str, str]]:
    titles = {
        "day": translate("day"),
        "model": translate("model"),
        "flow": translate("flow"),
        "project": translate("project"),
    }
    head = (titles[kind], translate("tasks"), translate("tokens in"), translate("tokens out"), translate("cost"))
    return [head, *(_spent(kind, each) for each in entries)]


def _spent(kind: str, entry: Spending) -> tuple[str, str, str, str, str]:
    name = short_path(entry.name) if kind == "project" else entry.name
    return (one_line(name), f"{entry.tasks:,}", f"{entry.input_tokens:,}", f"{entry.output_tokens:,}", dollars(entry))


def dollars(entry: Spending) -> str:
    """Format a cost; what has no known price is not hidden behind the rest."""
    if not entry.unpriced_tokens:
        return f"${entry.cost:.4f}"
    return f"${entry.cost:.4f} + ?" if entry.cost else "?"
