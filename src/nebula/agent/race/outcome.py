"""The outcome of each try of a race."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nebula.events import Final
from nebula.graph.values import FileState
from nebula.value import value


@value
class TryOutcome:
    number: int
    trace_id: str
    model: str
    final: Final
    files: tuple[FileState, ...] = ()
    """The files that it changed, with the journal's names of their states."""
    rounds: int = 0
    """How many model calls it made."""

    @property
    def node_id(self) -> str | None:
        return self.final.node_id

    @property
    def passed(self) -> bool:
        return self.final.status == "ok" and self.final.verified is True

    def to_json(self) -> dict[str, Any]:
        final = self.final.to_json()
        return {
            "try": self.number,
            "node_id": self.node_id,
            "model": self.model,
            "status": self.final.status,
            "verified": self.final.verified,
            "files_changed": final["files_changed"],
            "usage": final["usage"],
            "cost": self.final.cost,
            "duration_s": self.final.duration_s,
            "rounds": self.rounds,
            "trace_id": self.trace_id,
            "remark": final["remark"],
        }


def first_passing(tries: Sequence[TryOutcome]) -> TryOutcome | None:
    """Return the first try, in order, whose checks passed."""
    return next((each for each in tries if each.passed and each.node_id), None)
