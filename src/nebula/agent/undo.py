"""Back and forth with the files of a session: undo, redo, the difference a turn made, the state an earlier turn left.

All of it reads the workspace's journal, where a turn's changes stand under its id. A restore is recorded there like
any other change. A file that was changed by somebody else since is never touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from nebula.events import new_trace_id
from nebula.workspace.diff import TextDiff, diff_texts
from nebula.workspace.errors import NotFound, WorkspaceError

if TYPE_CHECKING:
    from nebula.graph.values import Node
    from nebula.workspace.contract import Workspace
    from nebula.workspace.history import History, Plan


class UndoRefused(Exception):
    """It cannot be done, and nothing was touched; the sentence says why."""


class NothingToUndo(UndoRefused):
    """No turn changed a file, or all of them are undone."""


class NoJournalHere(UndoRefused):
    """The files are on another machine."""


def undo(workspace: Workspace) -> tuple[str, ...]:
    """Takes back the last turn that changed files; the files it touched."""
    history = journal_of(workspace)
    try:
        plan = history.plan_undo()
    except NotFound as nothing:
        raise NothingToUndo(nothing.message) from None
    return _carry_out(history, plan)


def redo(workspace: Workspace) -> tuple[str, ...]:
    history = journal_of(workspace)
    try:
        plan = history.plan_redo()
    except NotFound as nothing:
        raise NothingToUndo(nothing.message) from None
    return _carry_out(history, plan)


def differences(workspace: Workspace, turn_id: str) -> list[TextDiff]:
    """What a turn did to each file, from the first content to the last; empty where it changed none."""
    history = journal_of(workspace)
    ends: dict[str, tuple[str | None, str | None]] = {}
    for change in history.changes(turn_id):
        if change.kind in ("write", "restore"):
            first = ends[change.path][0] if change.path in ends else change.before
            ends[change.path] = (first, change.after)
    diffs = [diff_texts(path, _text(history, old), _text(history, new)) for path, (old, new) in sorted(ends.items())]
    return [diff for diff in diffs if diff.text]


def restore_plan(workspace: Workspace, kept: Sequence[Node], left: Sequence[Node]) -> Plan:
    """How to put the files of turns that are left behind back as the kept path had them.

    A file whose content now is not one that the journal knows was changed by somebody else, and is not in the plan.
    """
    history = journal_of(workspace)
    state = _state(kept, left)
    known: dict[str, set[str | None]] = {}
    for change in history.changes():
        known.setdefault(change.path, set()).update((change.before, change.after))
    restore_id = new_trace_id()
    steps = history.plan_restore(state, restore_id).steps
    ours = {step.path: step.target for step in steps if step.current in known.get(step.path, set())}
    return history.plan_restore(ours, restore_id)


def carry_out(workspace: Workspace, plan: Plan) -> tuple[str, ...]:
    return _carry_out(journal_of(workspace), plan)


def journal_of(workspace: Workspace) -> History:
    from nebula.workspace.local import LocalWorkspace

    if not isinstance(workspace, LocalWorkspace):
        raise NoJournalHere("The files are behind a gateway; undo works only on this machine.")
    return workspace.history


def _state(kept: Sequence[Node], left: Sequence[Node]) -> Mapping[str, str | None]:
    """Path → content hash (None: no file) on the kept path, for the files that the turns left behind have touched."""
    before: dict[str, str | None] = {}
    for node in left:
        for file in node.files:
            before.setdefault(file.path, file.before or None)
    for node in kept:
        for file in node.files:
            if file.path in before:
                before[file.path] = file.after or None
    return before


def _carry_out(history: History, plan: Plan) -> tuple[str, ...]:
    try:
        return tuple(step.path for step in history.apply(plan))
    except WorkspaceError as refusal:
        raise UndoRefused(refusal.message) from None


def _text(history: History, sha256: str | None) -> str | None:
    if sha256 is None:
        return None
    content = history.content(sha256)
    return None if content is None else content.decode("utf-8", "replace")
