"""Playing a task once more from its trace: the same prompt, replies and decisions, real tools, no model.

It runs in a throw-away copy of the project as the task found it, with a home of its own, unless somebody asks for it
in the project itself; then it is a turn like any other, and can be undone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from nebula.agent.assembly import open_session
from nebula.agent.session import CHAT
from nebula.agent.traces.before import copy_as_before
from nebula.agent.traces.find import TaskTrace, UnknownTrace
from nebula.agent.traces.recorded import RecordedAnswers, RecordedModel
from nebula.config import Settings, load_settings
from nebula.events import Final, Reader
from nebula.language import Sentence
from nebula.llm.choose import ChosenModel
from nebula.value import replace, value


@value
class Replayed:
    final: Final
    differences: tuple[Sentence, ...]
    """Where it went otherwise than recorded."""


def settings_of_copy(settings: Settings, trace: TaskTrace, folder: str) -> tuple[Settings, list[str]]:
    """A copy below `folder`, as the task found the project, and the paths that could not be made so."""
    project, home = os.path.join(folder, os.path.basename(trace.project) or "project"), os.path.join(folder, "home")
    missing = copy_as_before(trace.project, project, _begun(trace))
    own = load_settings(
        project, {"NEBULA_HOME": home, "NEBULA_LANG": settings.lang, "PATH": os.environ.get("PATH", "")}
    )
    return replace(own, checks=settings.allowed_checks, trust=settings.trust), missing


def _begun(trace: TaskTrace) -> datetime:
    try:
        return datetime.fromisoformat(str(trace.task.get("ts")))
    except ValueError:
        raise UnknownTrace("the beginning of task '{id}' is not in the trace", id=trace.trace_id) from None


async def replay(settings: Settings, trace: TaskTrace, audience: Sequence[Reader] = ()) -> Replayed:
    """Runs the task in `settings.root`, which is the copy, or the project itself where the user wants that."""
    answers = RecordedAnswers(trace.events)
    seen: list[dict[str, Any]] = []
    readers: list[Reader] = [answers, lambda stamped: seen.append(stamped.to_json()), *audience]
    chosen = ChosenModel(RecordedModel(trace), str(trace.task.get("model") or "recording"), settings.context_tokens)
    mode = str(trace.task.get("mode") or "agent")
    session = await open_session(settings, approver=answers.decide, mode=_playable(mode), chosen=chosen)
    try:
        final = await session.turn(str(trace.task.get("prompt", "")), readers)
    finally:
        await session.close()
    return Replayed(final, tuple(differences(trace.events, seen)))


def _playable(mode: str) -> str:
    return mode if mode in ("agent", "plan", CHAT) else "agent"


def differences(recorded: Sequence[dict[str, Any]], seen: Sequence[dict[str, Any]]) -> list[Sentence]:
    """Tool by tool, then the files, then the end."""
    found = []
    then, now = _results(recorded), _results(seen)
    for number, (before, after) in enumerate(zip(then, now, strict=False), start=1):
        if before[1:] != after[1:]:
            names = {"number": number, "tool": before[1], "before": before[2], "after": after[2]}
            found.append(Sentence("call {number} ({tool}): {before} then, {after} now", **names))
    if len(then) != len(now):
        found.append(Sentence("{before} calls then, {after} now", before=len(then), after=len(now)))
    for told, name in (
        (_files, Sentence("the files it left")),
        (_status, Sentence("how it ended")),
    ):
        before_, after_ = told(recorded), told(seen)
        if before_ != after_:
            found.append(Sentence("{what}: {before} then, {after} now", what=name, before=before_, after=after_))
    return found


def _results(events: Sequence[dict[str, Any]]) -> list[tuple[str, str, str]]:
    results = [event for event in events if event.get("type") == "tool_result"]
    return [(str(event.get("tool_use_id")), str(event.get("tool")), str(event.get("status"))) for event in results]


def _last(events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return next((event for event in reversed(events) if event.get("type") == "final"), {})


def _files(events: Sequence[dict[str, Any]]) -> str:
    changed = [each for each in _last(events).get("files_changed") or () if isinstance(each, dict)]
    return ", ".join(sorted(f"{each.get('path')} {str(each.get('after') or '-')[:8]}" for each in changed)) or "-"


def _status(events: Sequence[dict[str, Any]]) -> str:
    return f"{_last(events).get('status', '-')} ({_last(events).get('exit_code', '-')})"
