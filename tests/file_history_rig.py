"""Planning and carrying out in one step, and changes to carry out, for tests that look at what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nebula.files.digest import digest
from nebula.workspace.contract import PathChange
from nebula.workspace.file_history import FileHistory
from nebula.workspace.journal.states import EntryKind


def undo(history: FileHistory, group: str | None = None) -> tuple[PathChange, ...]:
    return history.apply(history.plan_undo(group))


def redo(history: FileHistory, group: str | None = None) -> tuple[PathChange, ...]:
    return history.apply(history.plan_redo(group))


def restore(history: FileHistory, state: Mapping[str, str | None], group: str) -> tuple[PathChange, ...]:
    return history.apply(history.plan_restore(state, group))


def path_change(
    path: str,
    kind: EntryKind | None = None,
    mode: int = 0o644,
    content: bytes = b"",
    still_there: Callable[[], bool] | None = None,
) -> PathChange:
    """A change of one path, as a command's layer would hand it over; no kind: it shall be gone."""
    names = {"file": f"{digest(content)}:{mode:o}", "link": f"link:{digest(content)}", "folder": f"folder:{mode:o}"}
    return PathChange(path, None, names[kind] if kind else None, content.__bytes__, still_there)
