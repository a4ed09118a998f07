"""What a node keeps of the files that its turn changed, and of the lines that it wrote (`blame.line_record`)."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.blame.line_record import record_lines
from nebula.events import Diff
from nebula.graph.values import FileState
from nebula.messages.redaction import Redactor
from nebula.value import replace
from nebula.workspace.contract import Workspace
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.guard.paths import normal_path
from nebula.workspace.journal.states import parse_state
from nebula.workspace.local import LocalWorkspace


def file_states(
    summed: Sequence[Diff], changes: Sequence[Diff], workspace: Workspace | None, redactor: Redactor
) -> list[FileState]:
    """Return the files of a turn, from its changes in order and summed up."""
    told = written_lines(changes, workspace, redactor)
    return [
        replace(told.get(each.path) or FileState(each.path), before=each.before, after=each.after) for each in summed
    ]


def written_lines(changes: Sequence[Diff], workspace: Workspace | None, redactor: Redactor) -> dict[str, FileState]:
    """Return what a turn with these changes wrote, by path, as far as the journal of the workspace says it. Nothing is
    told of secret files."""
    steps = [FileState(each.path, each.before, each.after) for each in changes if _may_be_told(each)]
    if not steps or not isinstance(workspace, LocalWorkspace):
        return {}
    try:
        return record_lines(steps, workspace.history.content, lambda line: redactor.text(line) == line)
    except (WorkspaceError, OSError):  # the node matters more than its record
        return {}


def _may_be_told(change: Diff) -> bool:
    states = [parse_state(state).kind for state in (change.before, change.after) if state]
    try:
        secret = normal_path(change.path).standing.secret
    except WorkspaceError:
        return False
    return not secret and all(kind == "file" for kind in states)
