"""Plans that were begun and not finished, so that a later run can go on where one stopped.

They lie with what is derived from the project, in the user's home: a plan that came with a clone is never found here.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from types import MappingProxyType

from nebula.agent.plan.plan import BadPlan, StepPlan, read_plan
from nebula.errors import EXIT_USAGE, NebulaError
from nebula.value import record, replace, value

MOST_KEPT = 20
_NAME = re.compile(r"([0-9a-f-]{36})\.json")


class NoSuchPlan(NebulaError):
    """There is nothing to resume."""

    exit_code = EXIT_USAGE


@value
class KeptPlan:
    trace_id: str
    task: str
    plan: StepPlan
    done: Mapping[str, str] = MappingProxyType({})

    def to_json(self) -> dict[str, object]:
        return {"task": self.task, "plan": self.plan.to_json(), "done": dict(self.done)}


@record
class PlanInProgress:
    """Keeps a plan from its first step until it is finished."""

    plans: KeptPlans
    kept: KeptPlan

    def begin(self, resumed: str = "") -> None:
        """`resumed` is the earlier run that this one goes on with: it is this one from now on."""
        self.plans.keep(self.kept)
        if resumed:
            self.plans.drop(resumed)

    def done(self, step_id: str, answer: str) -> None:
        self.kept = replace(self.kept, done={**self.kept.done, step_id: answer})
        self.plans.keep(self.kept)

    def restart(self, done: Mapping[str, str]) -> None:
        """What was done since was taken back."""
        self.kept = replace(self.kept, done=done)
        self.plans.keep(self.kept)

    def finished(self) -> None:
        self.plans.drop(self.kept.trace_id)


class KeptPlans:
    def __init__(self, folder: str) -> None:
        """`folder` is the project's place in the user's home."""
        self._folder = os.path.join(folder, "plans")

    def keep(self, kept: KeptPlan) -> None:
        """Whole or not at all: a run that is killed here leaves the plan as it was kept before."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        path = self._path(kept.trace_id)
        temporary = f"{path}.{os.getpid()}.tmp"
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(kept.to_json(), file, ensure_ascii=False)
        os.replace(temporary, path)

    def drop(self, trace_id: str) -> None:
        """It is finished."""
        try:
            os.unlink(self._path(trace_id))
        except FileNotFoundError:
            return

    def find(self, trace_id: str = "") -> KeptPlan:
        """The one with this id (or a unique beginning of it), else the newest. Raises NoSuchPlan."""
        known = self.ids()
        if not trace_id and not known:
            raise NoSuchPlan("There is no unfinished plan in this project.")
        found = [each for each in known if each.startswith(trace_id)]
        if not found or (trace_id and len(found) > 1 and trace_id not in found):
            raise NoSuchPlan(
                "There is no unfinished plan '{id}'; there are: {known}", id=trace_id, known=", ".join(known) or "-"
            )
        return self._read(trace_id if trace_id in found else found[-1])

    def ids(self) -> list[str]:
        """The newest last: the ids sort by time."""
        try:
            names = os.listdir(self._folder)
        except OSError:
            return []
        return sorted(match[1] for name in names if (match := _NAME.fullmatch(name)))[-MOST_KEPT:]

    def _read(self, trace_id: str) -> KeptPlan:
        try:
            with open(self._path(trace_id), encoding="utf-8") as file:
                found = json.load(file)
            done = {str(key): str(said) for key, said in dict(found["done"]).items()}
            return KeptPlan(trace_id, str(found["task"]), read_plan(found["plan"]), done)
        except (OSError, ValueError, KeyError, TypeError, BadPlan) as problem:
            raise NoSuchPlan("The plan '{id}' cannot be read: {problem}", id=trace_id, problem=problem) from None

    def _path(self, trace_id: str) -> str:
        return os.path.join(self._folder, f"{trace_id}.json")
