"""Read the records of projects into figures: in linear time, with one small record a task in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from nebula.agent.figures.records import AUDIT_FILE, TRACE_FILE, LineCount, read_records
from nebula.agent.figures.task_record import TaskRecord, count_in, needs_no_reading
from nebula.files.home import projects_in
from nebula.graph.graph import Graph
from nebula.memory.sessions import Sessions
from nebula.value import field, record
from nebula.workspace.records import moment

REFUSED_BY_POLICY = frozenset({400, 403, 413, 415})
"""Status codes of the audit log with which the guard refuses: path, kind of file, permission, size, encoding. Missing
files (404), files in the way (409) and malformed requests (422) do not count."""


TAKE, HTTP_OK = "take", 200
"""The method and the status with which the audit log records that something was taken from a try."""


@record
class TracedTasks:
    """All that the records hold, task by task."""

    projects: tuple[str, ...]
    tasks: list[TaskRecord] = field(default_factory=list)
    audited: dict[str, int] = field(default_factory=dict)
    """Trace id → requests that the guard refused."""
    taken: set[str] = field(default_factory=set)
    """Trace ids of tries from which something was taken."""
    renames: int = 0
    renames_held: int = 0
    lines: int = 0
    damaged: int = 0

    @property
    def policy_refusals(self) -> int:
        """Count refusals. Trace and audit log may both have one: of each task the larger number counts."""
        of_tasks = {task.trace_id: task.refusals for task in self.tasks if task.refusals}
        ids = of_tasks.keys() | self.audited.keys()
        return sum(max(of_tasks.get(each, 0), self.audited.get(each, 0)) for each in ids)


def gather(projects: Sequence[str], since: datetime | None = None, audit_log: str = "") -> TracedTasks:
    """Read the records of tasks that began in `projects` (directories) at or after `since`. `audit_log` is a log that
    the user keeps elsewhere (EC_AUDIT_LOG)."""
    found = TracedTasks(tuple({os.path.realpath(each): os.path.abspath(each) for each in projects}.values()))
    for root in found.projects:
        count = LineCount()
        found.tasks += [task for task in read_tasks(root, count) if since is None or is_since(task.started, since)]
        _read_audit(found, read_records(root, AUDIT_FILE, count), since)
        found.lines += count.lines
        found.damaged += count.damaged
    if audit_log:
        _read_audit(found, read_records("", os.path.abspath(audit_log)), since)
    return found


def read_tasks(root: str, count: LineCount | None = None) -> list[TaskRecord]:
    """Return every task of a project's trace, in the order in which they began."""
    tasks: dict[str, TaskRecord] = {}
    for line in read_records(root, TRACE_FILE, count, needs_no_reading):
        trace_id = line.get("trace_id")
        if not isinstance(trace_id, str):
            continue
        task = tasks.get(trace_id)
        if task is None:
            if line.get("type") != "task":
                continue  # a task whose first line is missing cannot be counted
            task = tasks[trace_id] = TaskRecord(root, trace_id)
        task.read(line)
    return list(tasks.values())


def _read_audit(found: TracedTasks, lines: Iterable[dict[str, Any]], since: datetime | None) -> None:
    for line in lines:
        refused = line.get("status") in REFUSED_BY_POLICY
        renames = line.get("renames")
        is_taken = line.get("method") == TAKE and line.get("status") == HTTP_OK
        if not (refused or renames or is_taken) or (since is not None and not is_since(str(line.get("ts")), since)):
            continue
        if refused:
            trace_id = str(line.get("trace_id"))
            found.audited[trace_id] = found.audited.get(trace_id, 0) + 1
        if is_taken:
            found.taken.add(str(line.get("trace_id")))
        if isinstance(renames, dict):
            asked = count_in(renames, "asked")
            found.renames += asked
            found.renames_held += min(asked, count_in(renames, "held"))


def is_since(ts: str, since: datetime) -> bool:
    """Return whether `ts` is at or after `since`; a time that cannot be read counts, since counting too much is the
    smaller fault."""
    try:
        return moment(ts) >= since
    except ValueError:
        return True


def known_projects(memory_path: str, home: str) -> list[str]:
    """Return the directories in which this user has had sessions or tasks, if they still exist."""
    found = [path for path in projects_in(home) if os.path.exists(os.path.join(path, ".nebula", TRACE_FILE))]
    if os.path.exists(memory_path):
        with Sessions(memory_path) as memory:
            found += [path for path in memory.projects() if os.path.isdir(path)]
    return found


def flows_of(projects: Iterable[str]) -> dict[str, str]:
    """Return for each node in a flow of these projects the name of that flow, by the node's id; some projects have no
    graph."""
    found: dict[str, str] = {}
    for folder in filter(os.path.isdir, (os.path.join(root, ".nebula", "graph") for root in projects)):
        with Graph(folder) as graph:
            found |= {node_id: flow.name for flow in graph.list_flows() for node_id in flow.nodes}
    return found
