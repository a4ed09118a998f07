"""A short record of one task, read from the trace; a project has many thousands of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from nebula.agent.plan.plan import BadPlan, read_plan, step_graph
from nebula.llm.catalog import cost, known_provider
from nebula.llm.contract import Usage
from nebula.value import field, record

MOST_COUNTED = 10**15
"""A larger number was not written by us."""


@record
class ModelUse:
    """What one model was asked for in a task."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    """In US dollars, of the calls that have a known price."""
    unpriced_tokens: int = 0


@record
class TaskRecord:
    """Grows line by line. A number that is missing in a line, or is not a number, counts as 0."""

    project: str
    trace_id: str
    started: str = ""
    asked: str = ""
    """A digest of prompt and model: two tasks that have the same should get the same plan."""
    mode: str = ""
    model: str = ""
    provider: str = ""
    prompt: str = ""
    status: str = ""
    """Empty while the task has no `final`."""
    exit_code: int = 0
    duration_s: float = 0.0
    node_id: str = ""
    uses: dict[tuple[str, str], ModelUse] = field(default_factory=dict)
    """By provider and model."""
    steps: int = 0
    refusals: int = 0
    """Tool calls that a rule or a person refused."""
    retries: int = 0
    malformed: int = 0
    """Replies of the planner or the executor that could not be used."""
    rungs: dict[str, int] = field(default_factory=dict)
    plans: list[str] = field(default_factory=list)
    done: int = 0
    not_done: int = 0
    """Steps of the plan that were carried out, and those that failed or were skipped."""
    shown: set[str] = field(default_factory=set)
    """Files that the planner was shown places of."""
    evidence: int = 0
    evidence_held: int = 0
    """Places that the answer cites and files that a planned task changed; those that are there, and were shown."""
    failing_checks: int = 0
    """How often a check failed."""
    repair_rounds: int = 0
    checks_pass: bool | None = None
    """At the end; None where none ran."""
    is_try: bool = False
    """It was one of the tries of a race."""

    def read(self, line: Mapping[str, Any]) -> None:
        match line.get("type"):
            case "task":
                _read_task(self, line)
            case "message":
                _add_use(self, line)
                if rung := _read_text(line, "rung"):
                    self.rungs[rung] = self.rungs.get(rung, 0) + 1
            case "step":
                self.steps += 1
            case "retry":
                self.retries += 1
                self.malformed += line.get("kind") == "bad_reply"
            case "plan_reply":
                _add_use(self, line)
            case "plan":
                _read_plan(self, line)
            case "tool_result":
                self.refusals += line.get("refused") is True
                _read_check(self, line)
            case "check":
                _read_check(self, line)
            case "repair":
                self.repair_rounds = max(self.repair_rounds, count_in(line, "round"))
            case "final":
                _read_final(self, line)


def _read_task(task: TaskRecord, line: Mapping[str, Any]) -> None:
    if task.started:  # a step that runs as a task of its own belongs to the one that began first
        return
    task.started, task.mode = _read_text(line, "ts"), _read_text(line, "mode")
    task.is_try = "try" in line
    task.model, task.provider = _read_text(line, "model"), _read_text(line, "provider")
    task.prompt = " ".join(_read_text(line, "prompt")[:400].split())[:120]
    task.asked = digest(f"{task.provider}/{task.model}\0{_read_text(line, 'prompt')}")


def _add_use(task: TaskRecord, line: Mapping[str, Any]) -> None:
    """Add the usage of a line; a line that names a model comes from another model than the task began with."""
    model = _read_text(line, "model")
    provider = _read_text(line, "provider") or (known_provider(model) if model else "") or task.provider
    model = model or task.model
    use = task.uses.setdefault((provider, model), ModelUse())
    told = _read_object(line, "usage")
    usage = Usage(*(count_in(told, name) for name in Usage.__match_args__))
    use.input_tokens += usage.input_tokens
    use.output_tokens += usage.output_tokens
    price = cost(provider, model, usage)
    use.cost += price or 0.0
    use.unpriced_tokens += usage.input_tokens + usage.output_tokens if price is None else 0


def _read_plan(task: TaskRecord, line: Mapping[str, Any]) -> None:
    if line.get("given") is not True:  # one that was handed in says nothing of a planner
        task.plans.append(_plan_shape(line.get("plan")))
    task.shown |= {_read_text(each, "path") for each in _read_objects(line, "evidence")}


def _read_check(task: TaskRecord, line: Mapping[str, Any]) -> None:
    """Count a check that was run; one that failed by chance is no failure to repair."""
    check = _read_object(line, "check")
    if check and line.get("flaky") is not True:
        task.checks_pass = check.get("passed") is True
        task.failing_checks += not task.checks_pass


def _read_final(task: TaskRecord, line: Mapping[str, Any]) -> None:
    """Read how the task ended; the last `final` line counts, since one whose end could not be shown is followed by a
    second."""
    task.status = _read_text(line, "status") or "error"
    task.exit_code = count_in(line, "exit_code")
    task.duration_s = _read_seconds(line, "duration_s")
    task.node_id = _read_text(line, "node_id")
    checks = _read_objects(line, "checks")
    if checks:
        task.checks_pass = all(each.get("passed") is True for each in checks)
    states = [_read_text(each, "state") for each in _read_objects(line, "steps")]
    task.done = states.count("done")
    task.not_done = len(states) - task.done
    _read_evidence(task, line)


def _read_evidence(task: TaskRecord, line: Mapping[str, Any]) -> None:
    """Count changed files that were there before a planned task: no search can show others."""
    citations = _read_object(line, "citations")
    task.evidence, task.evidence_held = count_in(citations, "total"), count_in(citations, "held")
    if task.shown:
        needed = [_read_text(each, "path") for each in _read_objects(line, "files_changed") if each.get("before")]
        task.evidence += len(needed)
        task.evidence_held += sum(path in task.shown for path in needed)


_READ = frozenset({"task", "message", "retry", "plan_reply", "plan", "tool_result", "check", "repair", "final"})
_MARKS = (b'"refused": true', b'"check": ')


def needs_no_reading(kind: str, _: str, line: bytes) -> bool:
    """Return whether the type of a line is enough; of a tool's result only the fields beside the result itself are
    read."""
    if kind == "tool_result":
        return not any(mark in line for mark in _MARKS)
    if kind == "retry":
        return b'"bad_reply"' not in line
    return kind not in _READ


def _plan_shape(found: Any) -> str:
    """Return a digest of a plan's graph of steps: equal for plans that differ only in wording."""
    try:
        return digest(step_graph(read_plan(found)))
    except BadPlan:  # written by another program, or an older version
        return digest(json.dumps(found, sort_keys=True, default=str))


def digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _read_object(line: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = line.get(key)
    return found if isinstance(found, dict) else {}


def _read_objects(line: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = line.get(key)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _read_text(line: Mapping[str, Any], key: str) -> str:
    found = line.get(key)
    return found if isinstance(found, str) else ""


def _read_seconds(line: Mapping[str, Any], key: str) -> float:
    found = line.get(key)
    if isinstance(found, int | float) and not isinstance(found, bool) and 0 <= found < MOST_COUNTED:
        return float(found)
    return 0.0


def count_in(line: Mapping[str, Any], key: str) -> int:
    found = line.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < MOST_COUNTED else 0
