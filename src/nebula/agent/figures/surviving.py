"""Count whose code survives: the lines that turns wrote, by model and by week, and how many of them are in the files
now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from nebula.agent.figures.gather import is_since
from nebula.blame.line_record import count_written
from nebula.blame.project import ProjectBlame
from nebula.errors import NebulaError
from nebula.graph.values import Node
from nebula.value import value


@value
class TurnLinesCount:
    """How many lines one turn added or changed, and how many of them are still there."""

    model: str
    week: str
    """The ISO 8601 week, as in 2026-W47."""
    written: int
    alive: int


def count_lines(projects: Iterable[str], since: datetime | None = None) -> list[TurnLinesCount]:
    """Return the lines of each turn of these projects that wrote any since then, oldest turn first."""
    found = []
    for root in projects:
        with ProjectBlame(root) as blame:
            nodes = [node for node in blame.nodes() if since is None or is_since(node.timestamp, since)]
            alive = _count_alive(blame, {file.path for node in nodes for file in node.files if file.after})
            for node in nodes:
                written = sum(count_written(file.wrote) for file in node.files)
                if written or alive[node.id]:
                    found.append(TurnLinesCount(node.model, _week(node.timestamp), written, alive[node.id]))
    return found


def count_lines_of(root: str, node: Node) -> tuple[int, int]:
    """Return how many lines one turn added or changed, and how many of them are still there."""
    counts = count_lines_by_path(root, node).values()
    return sum(written for written, _ in counts), sum(alive for _, alive in counts)


def count_lines_by_path(root: str, node: Node) -> dict[str, tuple[int, int]]:
    """Return the same for each file in which it wrote any."""
    written = {file.path: count_written(file.wrote) for file in node.files}
    standing = {file.path for file in node.files if file.after}
    if not any(written.values()):
        return {}
    with ProjectBlame(root) as blame:
        alive = {path: _count_alive(blame, [path])[node.id] if path in standing else 0 for path in written}
    return {path: (count, alive[path]) for path, count in written.items() if count or alive[path]}


def surviving_json(counts: Iterable[TurnLinesCount]) -> dict[str, Any]:
    """Return the sums by model, and by week and model, as `nebula kpi --json` prints them."""
    counts = list(counts)
    by_model = sum_lines(counts, lambda each: (each.model,))
    by_week = sum_lines(counts, lambda each: (each.week, each.model))
    return {
        "surviving_lines": [{"model": m, "written": w, "alive": a} for (m,), w, a in by_model],
        "surviving_lines_by_week": [{"week": k, "model": m, "written": w, "alive": a} for (k, m), w, a in by_week],
    }


def sum_lines(
    counts: Iterable[TurnLinesCount], key: Callable[[TurnLinesCount], tuple[str, ...]]
) -> list[tuple[tuple[str, ...], int, int]]:
    """Return written and living lines for each key, in the keys' order."""
    written: Counter[tuple[str, ...]] = Counter()
    alive: Counter[tuple[str, ...]] = Counter()
    for each in counts:
        written[key(each)] += each.written
        alive[key(each)] += each.alive
    return [(name, written[name], alive[name]) for name in sorted(written)]


def _week(timestamp: str) -> str:
    try:
        year, week, _ = datetime.fromisoformat(timestamp).isocalendar()
    except ValueError:  # somebody edited the node
        return ""
    return f"{year}-W{week:02}"


def _count_alive(blame: ProjectBlame, paths: Iterable[str]) -> Counter[str]:
    """Return how many lines of these files each turn wrote."""
    found: Counter[str] = Counter()
    for path in sorted(paths):
        try:
            real, content = blame.read(path)
        except NebulaError:  # it is gone, or may not be read
            continue
        if real == path:
            found.update(author.of for author in blame.authors(path, content) if author.kind == "turn")
    return found
