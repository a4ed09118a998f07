"""The files of a turn as a node keeps them: their states, and the lines that the turn wrote.

Nodes are kept in git, and the SHA-256 of a short value is easily guessed. So the states of a secret file are sealed
with a key that stays in the journal: the names in the node reveal nothing of the content. With the key the states can
be found again; without it, in a clone for instance, they are names like any other, equal for equal contents.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from nebula.blame.line_record import record_lines
from nebula.events import Diff
from nebula.files.protected_names import names_secret
from nebula.graph.values import FileState
from nebula.messages.redaction import Redactor
from nebula.value import replace
from nebula.workspace.contract import Workspace
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.guard.paths import normal_path
from nebula.workspace.journal.objects import seal_with
from nebula.workspace.journal.states import parse_state, rename_content
from nebula.workspace.local import LocalWorkspace

if TYPE_CHECKING:
    from nebula.workspace.file_history import FileHistory


def seal_files(files: Sequence[FileState], workspace: Workspace | None) -> Sequence[FileState]:
    """Return the files of a turn as a node keeps them."""
    if not any(names_secret(each.path) for each in files):
        return files
    try:
        return _sealed(files, workspace.history.seal) if isinstance(workspace, LocalWorkspace) else _sealed(files)
    except (WorkspaceError, OSError):  # the journal cannot be used: then nobody can find the states again
        return _sealed(files)


def find_sealed(files: Iterable[FileState], history: FileHistory) -> list[FileState]:
    """Return the files of a node with the states that the journal knows; unknown ones stay as they are."""
    found = []
    for each in files:
        if names_secret(each.path):
            each = _with_states(each, partial(history.unseal, each.path))
        found.append(each)
    return found


def _sealed(files: Sequence[FileState], seal: Callable[[str], str] | None = None) -> list[FileState]:
    nobodys = partial(seal_with, os.urandom(32))
    name = seal or partial(rename_content, new=nobodys)
    return [_with_states(each, name) if names_secret(each.path) else each for each in files]


def _with_states(file: FileState, name: Callable[[str], str]) -> FileState:
    before, after = (name(state) if state else "" for state in (file.before, file.after))
    return replace(file, before=before, after=after)


def file_states(
    summed: Sequence[Diff], changes: Sequence[Diff], workspace: Workspace | None, redactor: Redactor
) -> list[FileState]:
    """Return the files of a turn, from its changes, both in order and summed up."""
    told = written_lines(changes, workspace, redactor)
    return [
        replace(told.get(each.path) or FileState(each.path), before=each.before, after=each.after) for each in summed
    ]


def written_lines(changes: Sequence[Diff], workspace: Workspace | None, redactor: Redactor) -> dict[str, FileState]:
    """Return the lines that a turn with these changes wrote, by path, as far as the journal of the workspace has them;
    none for secret files."""
    steps = [FileState(each.path, each.before, each.after) for each in changes if _may_be_told(each)]
    if not steps or not isinstance(workspace, LocalWorkspace):
        return {}
    try:
        return record_lines(steps, workspace.history.content, lambda line: redactor.text(line) == line)
    except (WorkspaceError, OSError):  # the node matters more than its lines
        return {}


def _may_be_told(change: Diff) -> bool:
    states = [parse_state(state).kind for state in (change.before, change.after) if state]
    try:
        secret = normal_path(change.path).standing.secret
    except WorkspaceError:
        return False
    return not secret and all(kind == "file" for kind in states)
