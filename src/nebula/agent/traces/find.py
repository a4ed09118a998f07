"""Find one task in the trace of a project, by any unique beginning of its id."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nebula.agent.figures.records import AUDIT_FILE, TRACE_FILE, read_records
from nebula.errors import EXIT_USAGE, NebulaError
from nebula.graph.ids import shortest_unique
from nebula.value import record

CANDIDATES_NAMED = 3
SHORTEST = 8


class UnknownTrace(NebulaError):
    """No task has this id, or the ids of several begin with it."""

    exit_code = EXIT_USAGE


@record
class TaskTrace:
    project: str
    trace_id: str
    events: list[dict[str, Any]]
    """In the order in which they were written."""

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event.get("type") == kind]

    @property
    def task(self) -> dict[str, Any]:
        return next(iter(self.of_type("task")), {})

    @property
    def final(self) -> dict[str, Any]:
        return next(reversed(self.of_type("final")), {})


def find_trace(root: str, beginning: str) -> TaskTrace:
    """Return the task whose id begins with `beginning`; if that is empty, the newest. Raises UnknownTrace."""
    if not beginning:
        beginning = _newest(root)
    found: dict[str, list[dict[str, Any]]] = {}

    def unread(_: str, trace_id: str, __: bytes) -> bool:
        return not trace_id.startswith(beginning) or len(found) > 1

    for line in read_records(root, TRACE_FILE, unread=unread):
        trace_id = line.get("trace_id")
        if isinstance(trace_id, str) and trace_id.startswith(beginning):
            found.setdefault(trace_id, []).append(line)
    if beginning in found and len(found) > 1:
        return find_whole(root, beginning)
    if len(found) == 1:
        [(trace_id, events)] = found.items()
        return TaskTrace(root, trace_id, events)
    if not found:
        raise UnknownTrace("no task '{id}' in the trace; `nebula trace list` shows them", id=beginning)
    ids = ", ".join(list(found)[:CANDIDATES_NAMED]) + (" …" if len(found) > CANDIDATES_NAMED else "")
    raise UnknownTrace("'{id}' is the beginning of several tasks ({ids}); give more of it", id=beginning, ids=ids)


def find_whole(root: str, trace_id: str) -> TaskTrace:
    lines = read_records(root, TRACE_FILE, unread=lambda _, each, __: each != trace_id)
    return TaskTrace(root, trace_id, [line for line in lines if line.get("trace_id") == trace_id])


def _newest(root: str) -> str:
    newest = ""
    for line in read_records(root, TRACE_FILE, unread=lambda *_: True):
        if line.get("type") == "task" and isinstance(line.get("trace_id"), str):
            newest = line["trace_id"]
    if not newest:
        raise UnknownTrace("there is no task in the trace yet")
    return newest


def audited(root: str, trace_id: str, elsewhere: str = "") -> list[dict[str, Any]]:
    """Return what the guard recorded of the task: each request with its status."""
    files = (AUDIT_FILE, elsewhere) if elsewhere else (AUDIT_FILE,)
    return [line for name in files for line in read_records(root, name) if line.get("trace_id") == trace_id]


def short_ids(trace_ids: Iterable[str]) -> dict[str, str]:
    """Return for each id its shortest unique beginning."""
    return shortest_unique(trace_ids, at_least=SHORTEST)
