"""What the trace says of one task, kept small: a project has many thousands of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nebula.agent.figures.plan_shape import digest, plan_shape
from nebula.value import field, record


@record
class ModelUse:
    """What one model was asked for in a task."""

    input_tokens: int = 0
    output_tokens: int = 0


@record
class TaskRecord:
    """Grows line by line. Numbers that a line does not have, or has in another form, count as nothing."""

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
    replies: int = 0
    steps: int = 0
    refusals: int = 0
    """Tool calls that a rule or a person refused."""
    retries: int = 0
    rungs: dict[str, int] = field(default_factory=dict)
    plans: list[str] = field(default_factory=list)
    reproducibility: list[float] = field(default_factory=list)
    """What `evercontext plan --repeat` measured."""
    done: int = 0
    not_done: int = 0
    """Steps of the plan that were carried out, and those that failed or were skipped."""
    cited: int = 0
    cited_held: int = 0
    failing_checks: int = 0
    """How often a check failed."""
    repair_rounds: int = 0
    checks_pass: bool | None = None
    """At the end; None where none ran."""

    def read(self, line: Mapping[str, Any]) -> None:
        reader = _READERS.get(str(line.get("type")))
        if reader is not None:
            reader(self, line)


def _task(task: TaskRecord, line: Mapping[str, Any]) -> None:
    if task.started:  # a step that runs as a task of its own belongs to the one that began first
        return
    task.started, task.mode = _text(line, "ts"), _text(line, "mode")
    task.model, task.provider = _text(line, "model"), _text(line, "provider")
    task.prompt = " ".join(_text(line, "prompt")[:400].split())[:120]
    task.asked = digest(f"{task.provider}/{task.model}\0{_text(line, 'prompt')}")


def _message(task: TaskRecord, line: Mapping[str, Any]) -> None:
    key = _text(line, "provider") or task.provider, _text(line, "model") or task.model
    use = task.uses.setdefault(key, ModelUse())
    usage = _object(line, "usage")
    use.input_tokens += _count(usage, "input_tokens")
    use.output_tokens += _count(usage, "output_tokens")
    task.replies += 1
    rung = _text(line, "rung")
    if rung:
        task.rungs[rung] = task.rungs.get(rung, 0) + 1


def _step(task: TaskRecord, _: Mapping[str, Any]) -> None:
    task.steps += 1


def _retry(task: TaskRecord, _: Mapping[str, Any]) -> None:
    task.retries += 1


def _plan(task: TaskRecord, line: Mapping[str, Any]) -> None:
    task.plans.append(plan_shape(line.get("plan")))
    measured = _number(line, "reproducibility")
    if measured is not None:
        task.reproducibility.append(measured)


def _tool_result(task: TaskRecord, line: Mapping[str, Any]) -> None:
    task.refusals += line.get("refused") is True
    check = _object(line, "check")
    if check:
        task.checks_pass = check.get("passed") is True
        task.failing_checks += not task.checks_pass


def _final(task: TaskRecord, line: Mapping[str, Any]) -> None:
    """The last one counts: a turn whose end could not be shown is corrected by a second."""
    task.status = _text(line, "status") or "error"
    task.exit_code = _count(line, "exit_code")
    task.duration_s = _number(line, "duration_s") or 0.0
    task.node_id = _text(line, "node_id")
    citations = _object(line, "citations")
    task.cited, task.cited_held = _count(citations, "total"), _count(citations, "held")
    checks = [each for each in line.get("checks") or () if isinstance(each, dict)]
    if checks:
        task.checks_pass = all(each.get("passed") is True for each in checks)


_READERS: Mapping[str, Callable[[TaskRecord, Mapping[str, Any]], None]] = {
    "task": _task,
    "message": _message,
    "step": _step,
    "retry": _retry,
    "plan": _plan,
    "tool_result": _tool_result,
    "final": _final,
}
_MARKS = (b'"refused": true', b'"check": ')


def needs_no_reading(kind: str, line: bytes) -> bool:
    """Of most lines only the kind counts, and of a tool's result only what it says beside the result itself."""
    if kind == "tool_result":
        return not any(mark in line for mark in _MARKS)
    return kind not in _READERS or kind in ("step", "retry")


def _object(line: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = line.get(key)
    return found if isinstance(found, dict) else {}


def _text(line: Mapping[str, Any], key: str) -> str:
    found = line.get(key)
    return found if isinstance(found, str) else ""


def _number(line: Mapping[str, Any], key: str) -> float | None:
    found = line.get(key)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def _count(line: Mapping[str, Any], key: str) -> int:
    found = line.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else 0
