"""Undo and redo the file changes of a session, show a turn's changes, restore the files that an earlier turn left.

All of it reads the workspace's journal, which has each turn's changes under its id. A restore is recorded there like
any other change. A file that somebody else has changed since is never touched.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from nebula.errors import NebulaError
from nebula.events import ProposedChange, new_trace_id
from nebula.files.digest import digest
from nebula.value import replace
from nebula.workspace.contract import Workspace
from nebula.workspace.diff import TextDiff, diff_texts
from nebula.workspace.errors import NotKept, WorkspaceError
from nebula.workspace.file_history import FileHistory, FilePlan, is_among, states_after
from nebula.workspace.journal.changes import RecordedChange
from nebula.workspace.journal.states import EntryState, content_name, parse_state
from nebula.workspace.local import LocalWorkspace
from nebula.workspace.proposing import is_blank
from nebula.workspace.records import moment

if TYPE_CHECKING:
    from nebula.agent.judging import Judge
    from nebula.graph.values import Node


class UndoRefused(NebulaError):
    """Raised where it cannot be done, and nothing was touched; the sentence says why."""


class NothingToUndo(UndoRefused):
    """Raised where no turn changed a file, or all of them are undone."""


class NoJournalHere(UndoRefused):
    """Raised where the files are on another machine."""


def undo_plan(workspace: Workspace, passing: Collection[str] = (), turn_id: str | None = None) -> FilePlan:
    """Return the plan that undoes a turn: by default the last one that changed files, whoever took it, except those in
    `passing`. Raises NothingToUndo."""
    try:
        return journal_of(workspace).plan_undo(turn_id, passing)
    except NotKept as nothing:
        raise NothingToUndo.of(nothing) from None


def redo_plan(workspace: Workspace) -> FilePlan:
    """Return the plan that redoes what was undone last, by anybody. Raises NothingToUndo."""
    try:
        return journal_of(workspace).plan_redo()
    except NotKept as nothing:
        raise NothingToUndo.of(nothing) from None


def left_changed(workspace: Workspace, turn_id: str) -> list[str]:
    """Return the files that differ from what they were before a turn. Raises UndoRefused where there is no journal."""
    try:
        return [step.path for step in journal_of(workspace).plan_undo(turn_id).steps]
    except NotKept:  # it was undone, or changed nothing
        return []


def difference(history: FileHistory, path: str, old: str | None, new: str | None) -> TextDiff:
    """Return the changed lines between two states (None or an empty name: no file), and before them what lines do not
    show: another mode, a link or a folder that was added or removed, a content that is no text."""
    diff = diff_texts(path, text_of(history, old), text_of(history, new))
    before, after = (parse_state(each) if each else None for each in (old, new))
    notes = [_note_on_kind(before, after)]
    are_files = all(each.kind == "file" for each in (before, after) if each)
    if are_files and content_name(old) != content_name(new) and whole_texts(history, old, new) == (None, None):
        notes.append(f"binary: {_describe_content(history, old)} → {_describe_content(history, new)}")
    return replace(diff, text="".join(f"{note}\n" for note in notes if note) + diff.text)


def _note_on_kind(before: EntryState | None, after: EntryState | None) -> str:
    if before and after and before.kind == after.kind and None not in (before.mode, after.mode):
        return f"mode {before.mode:o} → {after.mode:o}" if before.mode != after.mode else ""
    if before is None and after and after.kind == "file" and (after.mode or 0) & 0o111:
        return f"mode {after.mode:o}"
    kinds = [each.kind if each else "nothing" for each in (before, after)]
    return "" if {"link", "folder"}.isdisjoint(kinds) else f"{kinds[0]} → {kinds[1]}"


def _describe_content(history: FileHistory, state: str | None) -> str:
    if not state:
        return "nothing"
    content = history.content(state)
    return "not kept" if content is None else f"{len(content):,} bytes, sha256 {digest(content)[:12]}"


def restore_plan(workspace: Workspace, node: Node) -> FilePlan:
    """Return the plan that restores the files as that turn left them. A file whose present content the journal does not
    know was changed by somebody else and is skipped; it is named if a later turn changed it as well, since one would
    expect it to be restored."""
    history = journal_of(workspace)
    changes = history.changes()
    known: dict[str, set[str | None]] = {}
    for change in changes:
        known.setdefault(change.path, set()).update((change.before, change.after))
    restore_id = new_trace_id()
    steps = history.plan_restore(state_after(changes, node), restore_id).steps
    ours = {step.path: step.after for step in steps if is_among(step.before, known.get(step.path, ()))}
    later = {change.path for change in changes[_end_of(changes, node) :]}
    passed_over = tuple(step.path for step in steps if step.path in later and step.path not in ours)
    return replace(history.plan_restore(ours, restore_id), passed_over=passed_over)


def carry_out(
    workspace: Workspace, plan: FilePlan, session_id: str = "", judge: Judge | None = None
) -> tuple[str, ...]:
    """Carry out a plan and return the paths that changed; the journal notes the session. Raises UndoRefused, and
    whatever `judge`, which runs the user's hooks, raises."""
    history = journal_of(workspace)
    if judge is not None and plan.steps and not plan.conflicts:
        judge(plan.kind, [propose(history, step.path, step.before, step.after) for step in plan.steps])
    try:
        return tuple(step.path for step in history.apply(plan, session_id))
    except WorkspaceError as refusal:
        raise UndoRefused.of(refusal) from None


def propose(history: FileHistory, path: str, before: str | None, after: str | None) -> ProposedChange:
    """Return a change from one state to another, to be shown and judged before it is made."""
    kind = "deleted" if not after else "changed" if before else "created"
    diff = difference(history, path, before, after)
    texts = whole_texts(history, before, after)
    beyond = not after or _is_beyond_text(parse_state(before) if before else None, parse_state(after))
    left, was = (history.content(state) if state else None for state in (after, before))
    beyond = beyond or (is_blank(left or b"") and not is_blank(was or b""))
    return ProposedChange(path, kind, diff.added, diff.removed, diff.text, "", *texts, beyond_text=beyond)


def _is_beyond_text(before: EntryState | None, after: EntryState) -> bool:
    """Return whether more changes than the text of a file; a mode that nobody noted may have been any."""
    can_run = bool((after.mode or 0) & 0o111)
    if after.kind != "file" or before is None:
        return after.kind != "file" or can_run
    if before.kind != "file" or None in (before.mode, after.mode):
        return before.kind != "file" or can_run
    return before.mode != after.mode


def journal_of(workspace: Workspace) -> FileHistory:
    if not isinstance(workspace, LocalWorkspace):
        raise NoJournalHere("The files are behind a gateway (EC_MCP_URL); undo works only on this machine.")
    try:
        return workspace.history
    except WorkspaceError as refusal:  # the project's folder for it cannot be used
        raise UndoRefused.of(refusal) from None


def state_after(changes: Sequence[RecordedChange], node: Node) -> dict[str, str | None]:
    """Return path → content hash (None: no file) at the end of the turn, for every file that was ever changed here. The
    journal's order decides, not the path of the conversation: a file that another conversation made in the meantime was
    there as well."""
    return states_after(changes, _end_of(changes, node))


def _end_of(changes: Sequence[RecordedChange], node: Node) -> int:
    """Return how many of the changes had been made when the turn ended."""
    own = [place for place, change in enumerate(changes) if change.turn == node.id and change.kind == "write"]
    return own[-1] + 1 if own else sum(moment(change.ts) <= moment(node.timestamp) for change in changes)


def text_of(history: FileHistory, state: str | None) -> str | None:
    content = history.content(state) if state else None
    return None if content is None else content.decode("utf-8", "replace")


def whole_texts(history: FileHistory, before: str | None, after: str | None) -> tuple[str | None, str | None]:
    """Return the texts of two states, exactly; None for a state without a file. Both are None where one of them is not
    text: a part must not pass for the whole."""
    contents = [history.content(state) if state else b"" for state in (before, after)]
    try:
        texts = [None if each is None or b"\0" in each else each.decode() for each in contents]
    except UnicodeDecodeError:
        return None, None
    if None in texts:
        return None, None
    return texts[0] if before else None, texts[1] if after else None
