"""The turns behind some lines of a file, for those who want to know why they are as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nebula.blame import text
from nebula.blame.project import BadTarget, ProjectBlame
from nebula.blame.runs import LineRun, cut_runs
from nebula.value import value

if TYPE_CHECKING:
    from nebula.graph.values import Node


@value
class ExplainedRun:
    run: LineRun
    node: Node | None = None
    """Of a turn: what it was asked, and what it said."""


def explain_lines(
    root: str, path: str, first: int = 1, last: int | None = None, *, current: str = ""
) -> list[ExplainedRun]:
    """Return who wrote the lines between two, both included, those of the newest turn first and those of none last.

    `current` is the turn that asks. Raises BlameRefused, and WorkspaceError for what the guard refuses."""
    with ProjectBlame(root, current) as blame:
        real, content = blame.read(path)
        total = text.count_lines(content)
        last = total if last is None else last
        if not 1 <= first <= last or first > total:
            raise BadTarget("{path}: has {total} lines; name some of them.", path=real, total=total)
        runs = cut_runs(blame.runs(real, content), first, last)
        explained = [ExplainedRun(run, blame.node(run.node_id) if run.node_id else None) for run in runs]
    return sorted(explained, key=lambda each: each.run.at if each.run.by == "turn" else "", reverse=True)
