"""The project as a task found it: a copy of what is there now, with every change since then taken back."""

from __future__ import annotations

import os
import shutil
from datetime import datetime

from nebula.agent.figures.gather import is_since
from nebula.workspace.file_history import FileHistory, ends
from nebula.workspace.journal.states import parse_state
from nebula.workspace.local import open_workspace
from nebula.workspace.project_copy import copy_project


def copy_as_before(root: str, target: str, begun: datetime) -> list[str]:
    """Make the copy, and return the paths whose earlier content was not kept: they are as they are now."""
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
