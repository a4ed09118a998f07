"""The files of a turn: what it changed, how they differ from now or from another turn's, and how to restore them.

A plan is shown before it is carried out, and carried out only while it is still the plan that was shown.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from nebula.agent.undo import (
    UndoRefused,
    carry_out,
    difference,
    journal_of,
    restore_plan,
    state_after,
    undo_plan,
    whole_texts,
)
from nebula.files.digest import digest
from nebula.language import Sentence
from nebula.value import replace, value
from nebula.workspace.contract import Workspace
from nebula.workspace.diff import TextDiff
from nebula.workspace.errors import ProtectedPath, SecretPath, WorkspaceError
from nebula.workspace.file_history import FileHistory, FilePlan, ends
from nebula.workspace.journal.changes import RecordedChange
from nebula.workspace.local import LocalWorkspace

if TYPE_CHECKING:
    from nebula.agent.judging import Judge
    from nebula.graph.values import Node


@value
class FileDifference:
    path: str
    diff: TextDiff
    conflict: Sentence | None = None
    """Why this file cannot be restored."""
    protected: Sentence | None = None
    """Why this file is restored only where somebody names it."""


@value
class ReturnPlan:
    """What has to change so that the files are as a turn left them."""

    name: str
    """Identifies the plan, so that somebody agrees to exactly what was shown."""
    files: tuple[FileDifference, ...]
    deleted: tuple[str, ...] = ()
    """Files that somebody deleted by hand and that will be back: the journal did not record the deletion."""


def changed_by(workspace: Workspace, turn_id: str) -> list[FileDifference]:
    """Return the change of a turn to each file, from its first content to its last."""
    history = journal_of(workspace)
    changes = (change for change in history.changes(turn_id) if change.kind in ("write", "restore"))
    found = [
        FileDifference(path, difference(history, path, first.before, last.after))
        for path, (first, last) in sorted(ends(changes).items())
    ]
    return [each for each in found if each.diff.text]


def between(workspace: Workspace, one: Node, other: Node) -> list[FileDifference]:
    """Return the differences between the files as one turn left them and as the other did."""
    history = journal_of(workspace)
    changes = history.changes()
    old, new = state_after(changes, one), state_after(changes, other)
    differing = sorted(path for path in old if old[path] != new[path])
    return [FileDifference(path, difference(history, path, old[path], new[path])) for path in differing]


def plan_return(workspace: Workspace, node: Node) -> ReturnPlan:
    plan = restore_plan(workspace, node)
    protected = _protected(workspace, plan)
    shown = described(workspace, plan)
    return replace(shown, files=tuple(replace(each, protected=protected.get(each.path)) for each in shown.files))


def take_files(
    workspace: Workspace, node: Node, seen: str, judge: Judge | None = None, named: Collection[str] = ()
) -> tuple[FilePlan, list[Sentence]]:
    """Restore the files of `node`; return what was done, under a name by which it can be undone, and why files were
    left out: secret and control files are restored only where they are `named`. Raises UndoRefused where the plan is
    not the one that was `seen`."""
    plan = restore_plan(workspace, node)
    if _name(plan) != seen:
        raise UndoRefused("The files changed since this was shown; nothing was touched. Look again.")
    left = {path: why for path, why in _protected(workspace, plan).items() if path not in named}
    plan = replace(plan, steps=tuple(step for step in plan.steps if step.path not in left))
    if plan.steps:
        carry_out(workspace, plan, judge=judge)
    return plan, list(left.values())


def _protected(workspace: Workspace, plan: FilePlan) -> dict[str, Sentence]:
    """Return the files of a plan that the user's settings do not name although the guard asks for that, each with the
    reason."""
    found: dict[str, Sentence] = {}
    if isinstance(workspace, LocalWorkspace):
        repositories = workspace.repositories()
        for step in plan.steps:
            try:
                workspace.may_change(step.path, repositories)
            except (ProtectedPath, SecretPath) as refusal:
                found[step.path] = Sentence(refusal.sentence, **refusal.values)
            except WorkspaceError:
                pass  # a step that cannot be made says so itself
    return found


def give_files_back(workspace: Workspace, taken: str, judge: Judge | None = None) -> tuple[str, ...]:
    """Undo what `take_files` did, and return the paths. Raises UndoRefused where that is no longer possible."""
    return carry_out(workspace, undo_plan(workspace, turn_id=taken), judge=judge)


def described(workspace: Workspace, plan: FilePlan) -> ReturnPlan:
    """Return what a plan would do to each file, to be shown before it is carried out."""
    history = journal_of(workspace)
    files = tuple(
        FileDifference(step.path, difference(history, step.path, step.before, step.after), step.conflict)
        for step in plan.steps
    )
    return ReturnPlan(_name(plan), files, _deleted_by_hand(history, plan))


def _deleted_by_hand(history: FileHistory, plan: FilePlan) -> tuple[str, ...]:
    missing = [step.path for step in plan.steps if step.before is None and step.after is not None]
    left = {change.path: change.after for change in history.changes()} if missing else {}
    return tuple(path for path in missing if left.get(path) is not None)


def _name(plan: FilePlan) -> str:
    steps = repr([(step.path, step.before, step.after, bool(step.conflict)) for step in plan.steps])
    return digest(steps.encode())


@value
class FileTexts:
    """The texts of a file before and after a turn; None: there was no file. Both None: it was not text."""

    path: str
    old: str | None
    new: str | None


def texts_by_turn(workspace: Workspace, turn_ids: Collection[str]) -> dict[str, list[FileTexts]]:
    """Return the files of each of these turns as whole texts; the journal is read once."""
    history = journal_of(workspace)
    changes: dict[str, list[RecordedChange]] = {}
    for change in history.changes():
        if change.turn in turn_ids and change.kind == "write":
            changes.setdefault(change.turn, []).append(change)
    return {
        turn_id: [
            FileTexts(path, *whole_texts(history, first.before, last.after))
            for path, (first, last) in sorted(ends(made).items())
        ]
        for turn_id, made in changes.items()
    }
