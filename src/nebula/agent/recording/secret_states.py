"""The states of secret files in a node: under names that say nothing of the content.

A node lies in git, and the SHA-256 of a short value is soon guessed. So a secret file's states are sealed with a key
that stays in the journal. Whoever has that finds the states again; for others, a clone say, they are names like any
other, the same for the same content.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from nebula.files.protected_names import names_secret
from nebula.value import replace
from nebula.workspace.contract import Workspace
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.journal.objects import seal_with
from nebula.workspace.journal.states import rename_content
from nebula.workspace.local import LocalWorkspace

if TYPE_CHECKING:
    from nebula.graph.values import FileState
    from nebula.workspace.file_history import FileHistory


def seal_files(files: Sequence[FileState], workspace: Workspace | None) -> Sequence[FileState]:
    """Return the files of a turn as a node keeps them."""
    if not any(names_secret(each.path) for each in files):
        return files
    try:
        return _sealed(files, workspace.history.seal) if isinstance(workspace, LocalWorkspace) else _sealed(files)
    except (WorkspaceError, OSError):  # the journal cannot be used: then nobody finds them again
        return _sealed(files)


def find_sealed(files: Iterable[FileState], history: FileHistory) -> list[FileState]:
    """Return the files of a node with the states that the journal knows; what it does not know stays as it is."""
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
