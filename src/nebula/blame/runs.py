"""What is told of a line, and lines of which the same is told as one run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
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
        return {name: fact for name in self.__match_args__ if (fact := getattr(self, name))}

    def without_lines(self) -> LineRun:
        """Return what is told of the lines, wherever they are."""
        return replace(self, start_line=0, end_line=0)

    def tell_time(self, form: str) -> str:
        """Return `at` by the clock of this machine; nothing for what is no time."""
        try:
            return f"{datetime.fromisoformat(self.at).astimezone():{form}}"
        except (ValueError, OverflowError):
            return ""


_NAMES = frozenset(LineRun.__match_args__)


def join_runs(parts: Sequence[LineRun]) -> list[LineRun]:
    """Return runs that follow one another with those joined of which the same is told."""
    runs: list[LineRun] = []
    for part in parts:
        if runs and runs[-1].without_lines() == part.without_lines():
            runs[-1] = replace(runs[-1], end_line=part.end_line)
        else:
            runs.append(part)
    return runs


def checked_runs(told: Sequence[dict[str, Any]], lines: int) -> Sequence[dict[str, Any]]:
    """Return runs as JSON tells them. Raises TypeError, AttributeError or ValueError where it tells something else, or
    does not cover so many lines."""
    ends: list[Any] = [0, *(run.get("end_line") for run in told)]
    if ends[-1] != lines or [run.get("start_line") for run in told] != [end + 1 for end in ends[:-1]]:
        raise ValueError("it does not cover the file")
    if not all(map(_NAMES.issuperset, told)):
        raise ValueError("it tells something else")
    return told


def cut_runs(runs: Sequence[LineRun], first: int, last: int) -> list[LineRun]:
    """Return what of the runs lies between two lines, both included."""
    return [
        run
        if first <= run.start_line and run.end_line <= last
        else replace(run, start_line=max(run.start_line, first), end_line=min(run.end_line, last))
        for run in runs
        if run.start_line <= last and run.end_line >= first
    ]
