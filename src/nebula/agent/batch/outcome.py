"""What became of one task of a batch."""

from __future__ import annotations

import os
import traceback
from typing import Any

from nebula.agent.batch.task_file import BatchTask
from nebula.agent.figures.gather import gather
from nebula.agent.figures.kpis import Spending, spending
from nebula.errors import EXIT_FAILED, NebulaError
from nebula.events import Final
from nebula.language import Sentence, sentence_of
from nebula.value import value

_COUNTS = ("exit_code", "steps_done", "steps", "calls", "input_tokens", "output_tokens", "unpriced_tokens", "malformed")
_KINDS: dict[str, Any] = {
    **dict.fromkeys(_COUNTS, int),
    "cost": int | float,
    "seconds": int | float,
    "verified": bool | None,
    "files": list,
}
"""Types of the fields of a result that are not text."""


@value
class TaskOutcome:
    id: str
    digest: str
    root: str
    trace_id: str = ""
    status: str = "error"
    exit_code: int = EXIT_FAILED
    verified: bool | None = None
    steps_done: int = 0
    steps: int = 0
    """Of the plan."""
    calls: int = 0
    """Of tools."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    unpriced_tokens: int = 0
    seconds: float = 0.0
    files: tuple[str, ...] = ()
    remark: Sentence | None = None
    group: str = ""
    """The id of its line, where that stands for several tasks."""
    model: str = ""
    """Who carried it out."""
    malformed: int = 0
    """Replies that could not be used."""

    def to_json(self) -> dict[str, Any]:
        names: tuple[str, ...] = self.__match_args__
        return {name: getattr(self, name) for name in names} | {"remark": str(self.remark or "")}

    @classmethod
    def from_json(cls, found: object) -> TaskOutcome:
        """Return the outcome in a line of a file of results. Raises ValueError where it is something else."""
        if not isinstance(found, dict):
            raise ValueError("an outcome is an object")
        known = {name: found[name] for name in cls.__match_args__ if name in found}
        for name, each in known.items():
            if not isinstance(each, _KINDS.get(name, str)):
                raise ValueError(f"{name} is of another kind")
        said = known.get("remark")
        remark = Sentence("{problem}", problem=said) if said else None
        try:
            return cls(**{**known, "files": tuple(map(str, known.get("files", ()))), "remark": remark})
        except TypeError as problem:  # what every outcome has is missing
            raise ValueError(str(problem)) from None


def failed_outcome(task: BatchTask, problem: Exception) -> TaskOutcome:
    """Return the outcome of a task that could not be carried out; an error that nobody expected, too."""
    expected = isinstance(problem, NebulaError | OSError)
    remark = sentence_of(problem) if expected else _describe_bug(problem)
    return TaskOutcome(task.id, task.digest, task.root, remark=remark, group=task.group, model=task.executor)


def _describe_bug(problem: Exception) -> Sentence:
    """Name the error and the line of code that it came from."""
    *_, last = traceback.extract_tb(problem.__traceback__) or [None]
    where = f"{os.path.basename(last.filename)}:{last.lineno}" if last is not None else "?"
    said = " ".join(str(problem).split())
    return Sentence(
        "An internal error ended the task: {problem} ({where})",
        problem=f"{type(problem).__name__}: {said}",
        where=where,
    )


def outcome_of(task: BatchTask, place: str, trace_id: str, final: Final) -> TaskOutcome:
    """Read off the task's last event and its trace."""
    found = gather([place])
    [spent] = spending(found.tasks, "all") or [Spending("")]
    steps = final.steps or ()
    return TaskOutcome(
        id=task.id,
        digest=task.digest,
        root=task.root,
        trace_id=trace_id,
        status=final.status,
        exit_code=final.exit_code,
        verified=final.verified,
        steps_done=sum(step.state == "done" for step in steps),
        steps=len(steps),
        calls=sum(each.steps for each in found.tasks),
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        cost=spent.cost,
        unpriced_tokens=spent.unpriced_tokens,
        seconds=final.duration_s,
        files=tuple(change.path for change in final.files_changed),
        remark=final.remark,
        group=task.group,
        model=task.executor or next((each.model for each in found.tasks), ""),
        malformed=sum(each.malformed for each in found.tasks),
    )
