"""Replay a task from its trace: the same prompt, replies and decisions, real tools, no model.

It runs in a throw-away copy of the project as the task found it, with a home of its own. If the user asks for it, it
runs in the project itself; then it is a turn like any other, and can be undone.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from nebula.agent.assembly import open_session
from nebula.agent.figures.gather import is_since
from nebula.agent.figures.task_record import digest
from nebula.agent.orchestrator.models import TaskModels
from nebula.agent.orchestrator.run import DRY_RUN, MODE, run_task
from nebula.agent.orchestrator.task import TaskRequest
from nebula.agent.plan.plan import read_plan
from nebula.agent.session import CHAT, MODES
from nebula.agent.traces.find import TaskTrace, UnknownTrace
from nebula.agent.traces.recorded import RecordedAnswers, RecordedModel, is_plan_reply, is_reply
from nebula.config import Settings
from nebula.events import Final, Reader
from nebula.language import Sentence
from nebula.llm.choose import ChosenModel
from nebula.llm.contract import ModelRequest
from nebula.value import replace, value
from nebula.workspace.file_history import FileHistory, ends
from nebula.workspace.journal.states import parse_state
from nebula.workspace.local import open_workspace
from nebula.workspace.project_copy import copy_project

ELSEWHERE = ("mcp_url", "rag_url", "index_url", "audit_log", "database_path")
"""Settings that would reach outside the copy."""
ORCHESTRATED = (MODE, DRY_RUN)
"""Modes of tasks that are carried out by a plan."""


@value
class Replayed:
    final: Final
    differences: tuple[Sentence, ...]
    """Where the replay differs from the recording."""


def settings_of_copy(settings: Settings, trace: TaskTrace, folder: str) -> tuple[Settings, list[str]]:
    """Make a copy below `folder` of the project as the task found it; return its settings, and the paths that could not
    be restored."""
    project, home = os.path.join(folder, os.path.basename(trace.project) or "project"), os.path.join(folder, "home")
    missing = copy_as_before(trace.project, project, _begun(trace))
    own = replace(settings, root=project, home=home, **dict.fromkeys(ELSEWHERE, ""))
    return own, missing


def _begun(trace: TaskTrace) -> datetime:
    try:
        return datetime.fromisoformat(str(trace.task.get("ts")))
    except ValueError:
        raise UnknownTrace("the beginning of task '{id}' is not in the trace", id=trace.trace_id) from None


async def replay(
    settings: Settings,
    trace: TaskTrace,
    audience: Sequence[Reader] = (),
    *,
    watch: Callable[[ModelRequest], None] | None = None,
) -> Replayed:
    """Replay the task in `settings.root`, which is the copy, or the project itself where the user wants that. `watch`
    is called with each request to the recorded model."""
    answers = RecordedAnswers(trace.events)
    seen: list[dict[str, Any]] = []
    readers: list[Reader] = [answers, lambda stamped: seen.append(stamped.to_json()), *audience]
    name = str(trace.task.get("model") or "recording")
    chosen = ChosenModel(RecordedModel(trace, is_reply, watch), name, settings.context_tokens)
    play = _planned if _is_planned(trace) else _turn
    final = await play(settings, trace, chosen, answers, readers)
    return Replayed(final, tuple(differences(trace.events, seen)))


async def _turn(
    settings: Settings, trace: TaskTrace, chosen: ChosenModel, answers: RecordedAnswers, readers: Sequence[Reader]
) -> Final:
    mode = str(trace.task.get("mode"))
    mode = mode if mode in (*MODES, CHAT) else MODES[0]
    session = await open_session(settings, approver=answers.decide, mode=mode, chosen=chosen)
    try:
        return await session.turn(str(trace.task.get("prompt", "")), readers)
    finally:
        await session.close()


async def _planned(
    settings: Settings, trace: TaskTrace, chosen: ChosenModel, _: RecordedAnswers, readers: Sequence[Reader]
) -> Final:
    """Read the planner's replies again; where they were not kept whole, use the recorded plan."""
    plans, sent = trace.of_type("plan"), trace.of_type("plan_reply")
    kept_whole = bool(sent) and not any(each.get("cut") for each in sent)
    only_plan = trace.task.get("mode") not in ORCHESTRATED
    request = TaskRequest(
        str(trace.task.get("prompt", "")),
        plan=read_plan(plans[-1].get("plan")) if plans and not kept_whole else None,
        dry_run=trace.task.get("mode") == DRY_RUN,
        rollback=trace.final.get("rolled_back") is True,
        only_plan=sum(each.get("attempt") == 1 for each in sent) if only_plan else 0,
        replan=not only_plan and sum(each.get("attempt") == 1 for each in sent) > 1,
    )
    planner = replace(chosen, connector=RecordedModel(trace, is_plan_reply))
    return (await run_task(settings, request, readers, TaskModels(planner, chosen))).final


def _is_planned(trace: TaskTrace) -> bool:
    """Return whether a planner was asked, whatever was carried out; a turn in plan mode does not count."""
    if trace.task.get("mode") in ORCHESTRATED or trace.of_type("plan_reply"):
        return True
    if trace.of_type("plan"):
        raise UnknownTrace("task '{id}' was only planned: there is nothing to play", id=trace.trace_id)
    return False


def differences(recorded: Sequence[dict[str, Any]], seen: Sequence[dict[str, Any]]) -> list[Sentence]:
    """Return the differences: tool by tool, then the plan, the files, the end."""
    found = []
    then, now = _results(recorded), _results(seen)
    for number, (before, after) in enumerate(zip(then, now, strict=False), start=1):
        if before[1:] != after[1:]:
            names = {"number": number, "tool": before[1], "before": before[2], "after": after[2]}
            found.append(Sentence("call {number} ({tool}): {before} then, {after} now", **names))
    if len(then) != len(now):
        found.append(Sentence("{before} calls then, {after} now", before=len(then), after=len(now)))
    for figure, name in (
        (_plans, Sentence("the plan")),
        (_files, Sentence("the files it left")),
        (_status, Sentence("how it ended")),
    ):
        before_, after_ = figure(recorded), figure(seen)
        if before_ != after_:
            found.append(Sentence("{what}: {before} then, {after} now", what=name, before=before_, after=after_))
    return found


def _results(events: Sequence[dict[str, Any]]) -> list[tuple[str, str, str]]:
    results = [event for event in events if event.get("type") == "tool_result"]
    return [(str(event.get("tool_use_id")), str(event.get("tool")), str(event.get("status"))) for event in results]


def _plans(events: Sequence[dict[str, Any]]) -> str:
    plans = [event.get("plan") for event in events if event.get("type") == "plan"]
    return ", ".join(digest(json.dumps(each, sort_keys=True))[:8] for each in plans) or "-"


def _last(events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return next((event for event in reversed(events) if event.get("type") == "final"), {})


def _files(events: Sequence[dict[str, Any]]) -> str:
    said = _last(events).get("files_changed")
    changed = [each for each in said if isinstance(each, dict)] if isinstance(said, list) else []
    return ", ".join(sorted(f"{each.get('path')} {str(each.get('after') or '-')[:8]}" for each in changed)) or "-"


def _status(events: Sequence[dict[str, Any]]) -> str:
    return f"{_last(events).get('status', '-')} ({_last(events).get('exit_code', '-')})"


def copy_as_before(root: str, target: str, begun: datetime) -> list[str]:
    """Make the copy, and return the paths whose earlier content was not kept: in the copy they are as they are now."""
    copy_project(root, target)
    with open_workspace(root) as workspace:
        history = workspace.history
        since = ends(change for change in history.changes() if is_since(change.ts, begun)).items()
        return [path for path, (first, _) in since if not _put_back(history, os.path.join(target, path), first.before)]


def _put_back(history: FileHistory, place: str, state: str | None) -> bool:
    content = history.content(state) if state is not None else None
    kind = parse_state(state).kind if state is not None else "nothing"
    if content is None and kind in ("file", "link"):
        return False
    _remove(place)
    if kind == "folder":
        os.makedirs(place, exist_ok=True)
    elif content is not None:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if kind == "link":
            os.symlink(content, os.fsencode(place))
        else:
            _write(place, content, parse_state(state or "").mode)
    return True


def _remove(place: str) -> None:
    if os.path.isdir(place) and not os.path.islink(place):
        shutil.rmtree(place)
    elif os.path.lexists(place):
        os.unlink(place)


def _write(place: str, content: bytes, mode: int | None) -> None:
    with open(place, "wb") as file:
        file.write(content)
    if mode is not None:
        os.chmod(place, mode)
