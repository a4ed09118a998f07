"""What is told of a line, and lines of which the same is told as one run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nebula.blame.authors import AuthorKind
from nebula.value import replace, value


@value
class LineRun:
    """Consecutive lines of one origin, both ends included, from 1."""

    start_line: int
    end_line: int
    by: AuthorKind
    node_id: str = ""
    prompt: str = ""
    """Its first line."""
    model: str = ""
    at: str = ""
    verified: bool = False
    commit: str = ""
    author: str = ""
    tool: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the run as `nebula blame --json` prints it: only what is known."""
        told = {name: getattr(self, name) for name in self.__match_args__}
        return {name: fact for name, fact in told.items() if fact}

    def is_like(self, other: LineRun) -> bool:
        """Return True if the same is told of both."""
        return replace(self, start_line=0, end_line=0) == replace(other, start_line=0, end_line=0)


def join_runs(parts: Sequence[LineRun]) -> list[LineRun]:
    """Return runs that follow one another with those joined of which the same is told."""
    runs: list[LineRun] = []
    for part in parts:
        if runs and runs[-1].is_like(part):
            runs[-1] = replace(runs[-1], end_line=part.end_line)
        else:
            runs.append(part)
    return runs


def cut_runs(runs: Sequence[LineRun], first: int, last: int) -> list[LineRun]:
    """Return what of the runs lies between two lines, both included."""
    return [
        replace(run, start_line=max(run.start_line, first), end_line=min(run.end_line, last))
        for run in runs
        if run.start_line <= last and run.end_line >= first
    ]
