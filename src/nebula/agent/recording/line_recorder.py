"""What a node keeps of the lines that its turn wrote (`blame.line_record`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nebula.events import Diff
from nebula.messages.redaction import Redactor
from nebula.value import value
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.guard.paths import normal_path
from nebula.workspace.local import LocalWorkspace

if TYPE_CHECKING:
    from nebula.graph.values import FileState
    from nebula.workspace.contract import Workspace


@value
class LineRecorder:
    """Reads what a turn's changes found and left from the journal of a workspace; one without a journal has none."""

    workspace: Workspace
    redactor: Redactor

    def record(self, changes: Sequence[Diff]) -> dict[str, FileState]:
        """Return what a turn with these changes wrote, by path. Nothing is told of secret files."""
        from nebula.blame.line_record import record_lines
        from nebula.graph.values import FileState

        steps = [FileState(each.path, each.before, each.after) for each in changes if _may_be_told(each)]
        if not steps or not isinstance(self.workspace, LocalWorkspace):
            return {}
        try:
            return record_lines(steps, self.workspace.history.content, self._may_tell)
        except (WorkspaceError, OSError):  # the node matters more than its record
            return {}

    def _may_tell(self, line: str) -> bool:
        return self.redactor.text(line) == line


def _may_be_told(change: Diff) -> bool:
    from nebula.workspace.journal.states import parse_state

    states = [parse_state(state).kind for state in (change.before, change.after) if state]
    try:
        secret = normal_path(change.path).standing.secret
    except WorkspaceError:
        return False
    return not secret and all(kind == "file" for kind in states)
