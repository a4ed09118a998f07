"""Show what came of a race as a table of its tries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nebula.agent.race.outcome import TryOutcome
from nebula.cli.figures.tables import NOT_MEASURED, table
from nebula.cli.terminal.output.width import display_width
from nebula.graph.graph import Graph
from nebula.language import explain, translate
from nebula.stage import one_line

_LESS_NEEDED = (6, 6)
"""The columns that go first where there is no room: rounds, then seconds, which has its place by then."""


def result_table(tries: Sequence[TryOutcome], graph: Graph | None = None, *, columns: int = 0) -> list[str]:
    """Return one line for each try, and one above them; `graph` knows how short an id may be.

    A terminal of so many `columns` is told less rather than broken lines.
    """
    nodes = [each.node_id for each in tries if each.node_id]
    short = graph.shortest_unique_ids(nodes) if graph is not None else {}
    said = (translate("model"), translate("ended"), translate("checks"), translate("files"), translate("lines"))
    head = ("", *said, translate("rounds"), translate("seconds"), translate("cost"), translate("node"))
    rows, align = [head, *(_row(each, short) for each in tries)], "><<<>>>>><"
    lines = table(rows, align)
    for at in _LESS_NEEDED:
        if columns and max(map(display_width, lines)) > columns:
            rows, align = [(*row[:at], *row[at + 1 :]) for row in rows], align[:at] + align[at + 1 :]
            lines = table(rows, align)
    return lines


def short_name(model: str) -> str:
    """Return the name of a model for a line: of a file the last part."""
    return one_line(model.rpartition("/")[2] if model.startswith("/") else model)


def reasons(tries: Sequence[TryOutcome]) -> list[str]:
    """Return why each try that did not end well did so."""
    return [
        one_line(f"  {each.number} {each.final.status}: {explain(each.final.remark)}")
        for each in tries
        if each.final.status != "ok" and each.final.remark is not None
    ]


def _row(each: TryOutcome, short: Mapping[str, str]) -> tuple[str, ...]:
    final = each.final
    checks = {True: translate("passed"), False: translate("failed"), None: NOT_MEASURED}[final.verified]
    added = sum(change.added for change in final.files_changed)
    removed = sum(change.removed for change in final.files_changed)
    cost = NOT_MEASURED if final.cost is None else f"${final.cost:.4f}"
    return (
        str(each.number),
        short_name(each.model),
        final.status,
        checks,
        str(len(final.files_changed)),
        f"+{added} −{removed}",
        str(each.rounds),
        f"{final.duration_s:.1f}",
        cost,
        short.get(each.node_id, each.node_id) if each.node_id else NOT_MEASURED,
    )
