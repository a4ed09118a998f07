"""The tasks of a batch: one JSON object a line. What is wrong with one is said with its line before anything begins."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from nebula.agent.plan.plan import BadPlan, StepPlan, read_plan
from nebula.errors import EXIT_USAGE, NebulaError
from nebula.files.untrusted_json import parse_json
from nebula.git import find_commit
from nebula.value import replace, value

MOST_TASKS = 100_000
_TEXTS = ("id", "task", "root", "planner", "executor", "ref", "setup")
_KEYS = (*_TEXTS, "plan", "checks", "env", "tries", "models")
_OPTIONAL = ("planner", "executor", "ref", "setup", "group")
MOST_TRIES = 8
WORK_FOLDER, LOCK_FILE, RESULTS_FILE = TAKEN = ("work", "lock", "results.jsonl")
"""Names that the batch itself uses in the folder of results, so that no task can have them."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class BadTaskFile(NebulaError):
    """The file of tasks cannot be used as it is."""

    exit_code = EXIT_USAGE


@value
class BatchTask:
    id: str
    prompt: str
    root: str
    planner: str = ""
    executor: str = ""
    plan: StepPlan | None = None
    ref: str = ""
    """The commit that it begins at; empty: the project as it is."""
    setup: str = ""
    """A command that is run once in its place before any model is asked."""
    checks: tuple[str, ...] = ()
    """Instead of the project's own."""
    env: tuple[tuple[str, str], ...] = ()
    """Variables for its commands and checks."""
    group: str = ""
    """The id of its line, where that stands for several tasks."""
    line: int = 0
    """The number of its line in the file of tasks; 0 where it is no longer told."""

    @property
    def digest(self) -> str:
        """A digest of all that the task says: a result is used again only while this is the same."""
        body = {name: each for name, each in self.to_json().items() if name != "group"}
        return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"id": self.id, "task": self.prompt, "root": self.root}
        body |= {name: getattr(self, name) for name in _OPTIONAL if getattr(self, name)}
        body |= {"checks": list(self.checks)} if self.checks else {}
        body |= {"env": dict(self.env)} if self.env else {}
        return body | ({"plan": self.plan.to_json()} if self.plan else {})


def read_task_file(path: str, root: str | None = None, models: Sequence[str] = ()) -> list[BatchTask]:
    """Return the tasks of a file. Roots are relative to it; a task without one has `root`, else the current folder.
    A line that names no models is done by each of `models`. Raises BadTaskFile."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise BadTaskFile("{path} cannot be read: {reason}", path=path, reason=reason) from None
    folder = os.path.dirname(os.path.abspath(path))
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if len(numbered) > MOST_TASKS:
        raise BadTaskFile("{path} has more than {most} tasks", path=path, most=f"{MOST_TASKS:,}")
    tasks = [task for number, line in numbered for task in _read_tasks(number, line, folder, root or "", models)]
    if not tasks:
        raise BadTaskFile("{path} has no tasks", path=path)
    _refuse_repeated(tasks)
    return tasks


def _read_tasks(number: int, line: str, folder: str, root: str, matrix: Sequence[str]) -> list[BatchTask]:
    """Return the task of a line, or one for each of its tries, its models, or each try of each model of `matrix`."""
    task, found = _read_task(number, line, folder, root)
    tries, models = found.get("tries"), found.get("models")
    if tries is not None and models is not None:
        raise BadTaskFile("line {number}: 'tries' and 'models' do not go together", number=number)
    if tries is not None and (type(tries) is not int or not 1 <= tries <= MOST_TRIES):
        raise BadTaskFile("line {number}: 'tries' is a number from 1 to {most}", number=number, most=MOST_TRIES)
    tasks = [task]
    if models or matrix:
        tasks = [_variant(task, at, name) for at, name in enumerate(models or matrix, 1)]
    return [_variant(each, at) for each in tasks for at in range(1, tries + 1)] if tries is not None else tasks


def _variant(task: BatchTask, number: int, model: str = "") -> BatchTask:
    """Return one of the tasks that a line stands for."""
    group = task.group or task.id
    return replace(
        task, id=f"{task.id}.{number}", group=group, planner=model or task.planner, executor=model or task.executor
    )


def _check_kinds(number: int, found: Mapping[str, Any]) -> None:
    """Raise BadTaskFile for the first key that is unknown or of another kind than it should be."""
    for key, said in found.items():
        if key not in _KEYS:
            known = ", ".join(_KEYS)
            raise BadTaskFile(
                "line {number}: unknown key {key!r} (there are {known})", number=number, key=key, known=known
            )
        if key in _TEXTS and not isinstance(said, str):
            raise BadTaskFile("line {number}: {key!r} must be a string", number=number, key=key)
        if key in ("checks", "models") and not (said and _is_texts(said) and all(map(str.strip, said))):
            raise BadTaskFile(
                "line {number}: {key!r} must be a list of strings, none of them empty", number=number, key=key
            )
        if key == "env" and not (isinstance(said, dict) and _is_variables(said)):
            raise BadTaskFile(
                "line {number}: {key!r} must be an object of variables and strings", number=number, key=key
            )


def _is_texts(found: Any) -> bool:
    return isinstance(found, list) and all(isinstance(each, str) and "\0" not in each for each in found)


def _is_variables(found: Mapping[str, Any]) -> bool:
    return _is_texts(list(found.values())) and all(map(_VARIABLE.fullmatch, found))


def _read_task(number: int, line: str, folder: str, root: str) -> tuple[BatchTask, Mapping[str, Any]]:
    try:
        found = parse_json(line)
    except ValueError:
        raise BadTaskFile("line {number}: not JSON", number=number) from None
    if not isinstance(found, dict):
        raise BadTaskFile("line {number}: a task is a JSON object", number=number)
    _check_kinds(number, found)
    task_id = found.get("id") or f"{number:03}"
    if not _ID.fullmatch(task_id):
        raise BadTaskFile("line {number}: an id has letters, digits and . _ - only, 60 at most", number=number)
    if task_id.lower() in TAKEN:
        raise BadTaskFile(
            "line {number}: {id!r} is a name of the batch's own files; choose another", number=number, id=task_id
        )
    place = os.path.abspath(os.path.join(folder, found["root"])) if found.get("root") else os.path.abspath(root)
    if not os.path.isdir(place):
        raise BadTaskFile("line {number}: there is no directory {root}", number=number, root=place)
    plan = _plan(number, found.get("plan"))
    prompt = found.get("task", "").strip()
    if not prompt and plan is None:
        raise BadTaskFile('line {number}: "task" says what to do; it is missing', number=number)
    ref = found.get("ref", "")
    if ref and not find_commit(place, ref):
        raise BadTaskFile("line {number}: {root} has no commit {ref!r}", number=number, root=place, ref=ref)
    texts = {name: found.get(name, "") for name in ("planner", "executor", "setup")}
    env = tuple(sorted(found.get("env", {}).items()))
    checks = tuple(found.get("checks", ()))
    return BatchTask(task_id, prompt, place, plan=plan, ref=ref, checks=checks, env=env, line=number, **texts), found


def _plan(number: int, found: Any) -> StepPlan | None:
    if found is None:
        return None
    try:
        return read_plan(found)
    except BadPlan as problem:
        raise BadTaskFile("line {number}: {problem}", number=number, problem=problem) from None


def _refuse_repeated(tasks: Sequence[BatchTask]) -> None:
    """Refuse ids that name the same folder, also where upper and lower case are the same."""
    seen: set[str] = set()
    for task in tasks:
        if task.id.lower() in seen:
            raise BadTaskFile("two tasks have the id {id!r}; each needs its own", id=task.id)
        seen.add(task.id.lower())
