"""Whose code stays: the lines that each model's turns wrote, and those of them that are in the files now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from nebula.agent.figures.gather import is_since
from nebula.blame.line_record import count_written
from nebula.blame.project import ProjectBlame
from nebula.errors import NebulaError


def surviving_lines(projects: Iterable[str], since: datetime | None = None) -> list[dict[str, Any]]:
    """Return for each model how many lines its turns added or changed since then, and how many of those are alive."""
    written: Counter[str] = Counter()
    alive: Counter[str] = Counter()
    for root in projects:
        with ProjectBlame(root) as blame:
            nodes = {node.id: node for node in blame.nodes() if since is None or is_since(node.timestamp, since)}
            for node in nodes.values():
                written[node.model] += sum(count_written(file.wrote) for file in node.files)
            paths = {file.path for node in nodes.values() for file in node.files if file.after}
            for node_id, lines in _count_alive(blame, paths).items():
                if node_id in nodes:
                    alive[nodes[node_id].model] += lines
    return [
        {"model": model, "written": written[model], "alive": alive[model]}
        for model in sorted(written)
        if written[model] or alive[model]
    ]


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
