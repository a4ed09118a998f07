"""Plans that were begun and not finished, so that a later run can continue them.

They are kept in the user's home, with the other files derived from the project: a plan that came with a clone is never
found here. A file begins with the plan as one line of JSON; each finished step appends a line. A last line that a kill
cut short is ignored, so that step is done again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from nebula.agent.plan.plan import BadPlan, StepPlan, read_plan
from nebula.errors import EXIT_USAGE, NebulaError
from nebula.files.descriptors import naming
from nebula.files.reading import UnreadableFile, read_below
from nebula.files.untrusted_json import parse_json
from nebula.value import value

PLANS = "plans"
MOST_KEPT = 20
MAX_BYTES = 16 << 20
_NAME = re.compile(r"([0-9a-f-]{36})\.jsonl")


class NoSuchPlan(NebulaError):
    """Raised where there is no plan to resume."""

    exit_code = EXIT_USAGE


@value
class KeptPlan:
    trace_id: str
    task: str
    plan: StepPlan
    done: Mapping[str, str] = MappingProxyType({})


class PlanInProgress:
    """Keeps a plan from its first step until it is finished."""

    def __init__(self, folder: str, kept: KeptPlan) -> None:
        """`folder` is the project's folder in the user's home."""
        self._folder = folder
        self._kept = kept

    def begin(self, resumed: str = "") -> None:
        """Write the plan. `resumed` is the id of the run that this one continues; the plan of that run is removed."""
        os.makedirs(os.path.join(self._folder, PLANS), mode=0o700, exist_ok=True)
        self.restart()
        if resumed:
            self._drop(resumed)

    def restart(self) -> None:
        """Write the plan with the steps that were done before; used when what was done since is undone."""
        lines = [{"task": self._kept.task, "plan": self._kept.plan.to_json()}]
        lines += [{"done": step_id, "said": said} for step_id, said in self._kept.done.items()]
        self._write(lines, os.O_TRUNC)

    def done(self, step_id: str, answer: str) -> None:
        """Append a line for a finished step: a tenth of the cost of writing the whole file."""
        self._write([{"done": step_id, "said": answer}], os.O_APPEND)

    def finished(self) -> None:
        self._drop(self._kept.trace_id)

    def _write(self, lines: Sequence[Mapping[str, Any]], flag: int) -> None:
        path = _path(self._folder, self._kept.trace_id)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flag, 0o600)
        with naming(path), open(descriptor, "wb") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines).encode())

    def _drop(self, trace_id: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(_path(self._folder, trace_id))


def find_plan(folder: str, trace_id: str = "") -> KeptPlan:
    """Return the plan with this id (or a unique beginning of it), else the newest. Raises NoSuchPlan."""
    known = _ids(folder)
    if not trace_id and not known:
        raise NoSuchPlan("There is no unfinished plan in this project.")
    found = [each for each in known if each.startswith(trace_id)]
    if not found or (trace_id and len(found) > 1 and trace_id not in found):
        raise NoSuchPlan(
            "There is no unfinished plan '{id}'; there are: {known}", id=trace_id, known=", ".join(known) or "-"
        )
    return _read(folder, trace_id if trace_id in found else found[-1])


def _ids(folder: str) -> list[str]:
    """Return the ids, newest last: they sort by time."""
    try:
        names = os.listdir(os.path.join(folder, PLANS))
    except OSError:
        return []
    return sorted(match[1] for name in names if (match := _NAME.fullmatch(name)))[-MOST_KEPT:]


def _read(folder: str, trace_id: str) -> KeptPlan:
    try:
        text = read_below(folder, f"{PLANS}/{trace_id}.jsonl", MAX_BYTES) or b""
        first, *rest = text.split(b"\n")[:-1]
        found = parse_json(first)
        done = {str(line["done"]): str(line["said"]) for line in map(parse_json, rest)}
        return KeptPlan(trace_id, str(found["task"]), read_plan(found["plan"]), done)
    except (UnreadableFile, OSError, ValueError, KeyError, TypeError, BadPlan) as problem:
        raise NoSuchPlan("The plan '{id}' cannot be read: {problem}", id=trace_id, problem=problem) from None


def _path(folder: str, trace_id: str) -> str:
    return os.path.join(folder, PLANS, f"{trace_id}.jsonl")
