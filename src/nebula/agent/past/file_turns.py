"""Find the turns that changed a file, and undo one turn's part of it while the rest stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nebula.agent.judging import Judge
from nebula.agent.undo import UndoRefused, carry_out, difference, journal_of, text_of
from nebula.events import ProposedChange, new_trace_id
from nebula.value import value
from nebula.workspace.contract import Workspace
from nebula.workspace.diff import TextDiff, diff_texts, merged
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.file_history import FilePlan
from nebula.workspace.guard.paths import normal_path

if TYPE_CHECKING:
    from nebula.graph.values import Node


@value
class FileTurn:
    """One turn's change to a file, from its first content to its last."""

    turn_id: str
    ts: str
    before: str | None
    after: str | None
    added: int
    removed: int
    node: Node | None
    """None where something other than a turn changed the file, such as /restore."""

    @property
    def prompt(self) -> str:
        return self.node.prompt if self.node is not None else ""


@value
class PartTakenBack:
    """What undoing a part would do: a plan if the journal has the content, else the text to write."""

    path: str
    diff: TextDiff
    plan: FilePlan | None = None
    text: str = ""
    expected: str = ""
    group: str = ""


def turns_of(workspace: Workspace, path: str, find: Callable[[str], Node | None]) -> list[FileTurn]:
    """Return the turns that changed a file, newest first. Raises UndoRefused where there is no journal."""
    history = journal_of(workspace)
    name = normal_path(path).text
    ends: dict[str, tuple[str, str | None, str | None]] = {}
    for change in history.changes():
        if change.path == name and change.kind in ("write", "restore"):
            first = ends[change.turn][1] if change.turn in ends else change.before
            ends[change.turn] = (change.ts, first, change.after)
    turns = []
    for turn, (ts, before, after) in ends.items():
        diff = difference(history, name, before, after)
        turns.append(FileTurn(turn, ts, before, after, diff.added, diff.removed, find(turn)))
    return turns[::-1]


def plan_part(workspace: Workspace, path: str, turn: FileTurn) -> PartTakenBack:
    """Return what undoes a turn's part of a file. Raises UndoRefused where later changes are in the way."""
    history = journal_of(workspace)
    name = normal_path(path).text
    group = new_trace_id()
    now = history.plan_restore({name: turn.after}, group)
    if not now.steps:  # the file is as the turn left it: its old content comes back exactly
        plan = history.plan_restore({name: turn.before}, group)
        step = plan.steps[0] if plan.steps else None
        if step is not None and step.conflict is not None:
            raise UndoRefused.of(step.conflict)
        return PartTakenBack(name, difference(history, name, turn.after, turn.before), plan, group=group)
    old, new = text_of(history, turn.before), text_of(history, turn.after)
    try:
        current = workspace.read_file(name)
    except WorkspaceError as error:
        raise UndoRefused.of(error) from None
    text = merged(new, current.content, old) if old is not None and new is not None else None
    if text is None:
        raise UndoRefused("{path}: later changes touch the same lines; nothing was touched.", path=name)
    diff = diff_texts(name, current.content, text)
    return PartTakenBack(name, diff, None, text, current.sha256, group)


def take_back(workspace: Workspace, part: PartTakenBack, judge: Judge | None = None) -> None:
    """Apply the part; it is recorded like any other change, so it can be undone. Raises UndoRefused."""
    if part.plan is not None:
        carry_out(workspace, part.plan, judge=judge)
        return
    if judge is not None:
        diff = part.diff
        change = ProposedChange(part.path, "changed", diff.added, diff.removed, diff.text, new=part.text)
        judge("restore", [change])
    try:
        workspace.for_turn(part.group).write_file(part.path, part.text, "overwrite", expected=part.expected)
    except WorkspaceError as error:
        raise UndoRefused.of(error) from None
