"""Tell the model what happened to files since its last turn: undone, redone, restored, or edited by somebody.

This is worked out from the journal and the present files, compared with the end of that turn. So the model is told
once, with the next prompt, whoever changed the files and whether or not the session was closed in between.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from nebula.agent.recording.file_states import find_sealed
from nebula.agent.undo import UndoRefused, journal_of
from nebula.agent.workbench import ProjectAccess
from nebula.attachments import Attachment
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.file_history import FileHistory
from nebula.workspace.journal.changes import RecordedChange
from nebula.workspace.journal.states import same_state
from nebula.workspace.records import moment
from nebula.workspace.state_folder import STATE_DIR

if TYPE_CHECKING:
    from nebula.graph.values import Node

MOST_FILES = 200
"""Files of the last turn that are compared with what the turn left."""
MOST_NAMED = 50
_OUTDATED = "What you know of these files is out of date. Read them before you rely on it."
_DONE = {
    "undo": "the user took this change back (undo)",
    "redo": "the user did this change again (redo)",
    "restore": "the user put it back as an earlier turn had left it (restore)",
    "write": "changed by another turn, which is not part of this conversation",
}
_EDITED = "edited by the user or another program"


def changes_since(project: ProjectAccess, find: Callable[[str], Node | None], last: str) -> tuple[Attachment, ...]:
    """Return one attachment on the files that changed after the turn `last` ended; none where there is no journal."""
    if not os.path.isdir(os.path.join(project.root, STATE_DIR, "journal")) or (node := find(last)) is None:
        return ()
    try:
        found = _find_changes(journal_of(project.workspace), node)
    except UndoRefused:
        return ()
    paths = sorted(found)
    lines = [f"- {path}: {found[path]}" for path in paths[:MOST_NAMED]]
    if len(paths) > MOST_NAMED:
        lines.append(f"- … and {len(paths) - MOST_NAMED} more files")
    more = f" … +{len(paths) - 1}" if len(paths) > 1 else ""
    text = "\n".join((_OUTDATED, *lines))
    return (Attachment.of_text(f"± {paths[0]}{more}", "since", text),) if paths else ()


def _find_changes(history: FileHistory, last: Node) -> dict[str, str]:
    """Return a remark for each path whose state differs from the end of the turn."""
    left = {each.path: each.after or None for each in find_sealed(last.files[:MOST_FILES], history)}
    later: dict[str, list[RecordedChange]] = {}
    for change in _changes_after(history, last):
        if change.kind != "write" or change.path in left:
            later.setdefault(change.path, []).append(change)
    found = {}
    for path in dict.fromkeys((*left, *later)):
        remark = _describe(history, path, later.get(path, ()), left)
        if remark:
            found[path] = remark
    return found


def _changes_after(history: FileHistory, last: Node) -> list[RecordedChange]:
    ended = moment(last.timestamp)

    def is_old(change: RecordedChange) -> bool:
        if change.turn == last.id and change.kind == "write":
            return True
        try:
            return moment(change.ts) <= ended
        except ValueError:  # a damaged line has no readable time
            return False

    return history.changes_after(is_old)


def _describe(history: FileHistory, path: str, later: Sequence[RecordedChange], left: Mapping[str, str | None]) -> str:
    before = later[0].before if later else left[path]
    after = later[-1].after if later else before
    try:
        now = history.current(path, (before, after))
    except WorkspaceError:  # a folder or a link now has its name
        return _EDITED
    if same_state(now, before):
        return ""
    done = _DONE[later[-1].kind] if later and same_state(now, after) else _EDITED
    return done if now is not None else f"{done}; the file does not exist now"
