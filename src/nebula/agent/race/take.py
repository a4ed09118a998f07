"""Take the changes of tries: as one change set, against the project as it is now.

A path is taken only where the project still has the version from the start of the race; where it already has the try's
version there is nothing to do. Anything else is a conflict: it is named, and left alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from nebula.agent.assembly import graph_opener, open_audit_log, take_back_half_applied
from nebula.agent.recording.file_states import find_sealed, written_lines
from nebula.agent.undo import propose, whole_texts
from nebula.config import Settings
from nebula.errors import EXIT_USAGE, NebulaError
from nebula.events import Approval, Diff, ProposedChange, new_trace_id
from nebula.events.approval import TAKE
from nebula.files.digest import digest
from nebula.graph.errors import GraphError
from nebula.graph.flows.change import GraphChange, NodeEdit
from nebula.graph.values import FileState
from nebula.language import Sentence
from nebula.messages.redaction import Redactor
from nebula.tools.approval import Approver, Decision
from nebula.tools.commands.change_set import report_applied
from nebula.tools.contract import CancelledLate, to_the_end
from nebula.value import replace, value
from nebula.workspace.contract import PathChange
from nebula.workspace.diff import apply_hunks, diff_texts
from nebula.workspace.errors import AlreadyExists, Stale, WorkspaceError
from nebula.workspace.journal.states import parse_state, same_state
from nebula.workspace.local import LocalWorkspace
from nebula.workspace.state_folder import prepare_state_folder

if TYPE_CHECKING:
    from nebula.graph.graph import Graph

HTTP_OK, HTTP_CONFLICT = 200, 409
"""How the audit log records that something was taken, or was in conflict."""


class CannotTake(NebulaError):
    """Raised when there is no such try, or it has no such path."""

    exit_code = EXIT_USAGE


@value
class Wanted:
    """A try, its changes, and the files and folders to take from it; none: all of it."""

    node_id: str
    files: tuple[FileState, ...]
    paths: tuple[str, ...] = ()
    hunks: tuple[int, ...] = ()
    """For a single file: the hunks of its difference to take, from 1; none: all of them."""


@value
class TakenSet:
    decision: Decision = Decision(True)
    applied: tuple[Diff, ...] = ()
    conflicts: tuple[str, ...] = ()
    """Paths that changed in the project since the start of the race."""
    left_out: tuple[WorkspaceError, ...] = ()
    """Paths that the policy does not allow."""
    remarks: tuple[Sentence, ...] = ()
    """Remarks on changes that an earlier process had left half applied."""

    @property
    def is_whole(self) -> bool:
        return self.decision.allowed and not self.conflicts and not self.left_out


def choose_files(wanted: Sequence[Wanted]) -> list[FileState]:
    """Return the changes to take, by path. Raises CannotTake where a path was not changed by its try, or is taken from
    two tries that changed it differently."""
    chosen: dict[str, FileState] = {}
    for each in wanted:
        for state in _matching(each):
            known = chosen.setdefault(state.path, state)
            if (known.before, known.after) != (state.before, state.after):
                raise CannotTake(
                    "{path} differs between two of these tries; take it from only one of them.", path=state.path
                )
    return [chosen[path] for path in sorted(chosen)]


def _matching(wanted: Wanted) -> list[FileState]:
    if not wanted.paths:
        return list(wanted.files)
    found = []
    for path in wanted.paths:
        name = path.strip("/").removeprefix("./")
        below = [state for state in wanted.files if f"{state.path}/".startswith(f"{name}/")]
        if not below:
            raise CannotTake("{node} did not change {path}.", path=path, node=wanted.node_id)
        found += below
    return list({state.path: state for state in found}.values())


async def take_tries(
    wanted: Sequence[Wanted], workspace: LocalWorkspace, ask: Approver, settings: Settings
) -> TakenSet:
    """Take changes from tries of a race, and record what was taken from which try: in the audit log, and its lines in
    the try's node. Raises CannotTake, and CancelledLate once all of that is done."""
    try:
        done = await take(wanted, workspace, ask)
    except CancelledLate as late:
        _record(wanted, late.outcome, workspace, settings)
        raise
    await to_the_end(partial(_record, wanted, done, workspace, settings))
    return done


def _record(wanted: Sequence[Wanted], done: TakenSet, workspace: LocalWorkspace, settings: Settings) -> None:
    owner = _find_owners(wanted)
    taken: dict[str, list[Diff]] = {}
    for applied in done.applied:
        taken.setdefault(owner[applied.path], []).append(applied)
    if taken:
        keep_taken_lines(taken, workspace, settings)
    log = open_audit_log(settings, prepare_state_folder(settings.root))
    if log is None:
        return
    with closing(log):
        for applied in done.applied:
            log.record(owner[applied.path], TAKE, applied.path, None, HTTP_OK)
        for path in done.conflicts:
            log.record(owner[path], TAKE, path, None, HTTP_CONFLICT)


def _find_owners(wanted: Sequence[Wanted]) -> dict[str, str]:
    """Return for each path the try that it is taken from: of several with the same version the first."""
    return {state.path: each.node_id for each in reversed(wanted) for state in _matching(each)}


async def take(wanted: Sequence[Wanted], workspace: LocalWorkspace, ask: Approver, *, group: str = "") -> TakenSet:
    """Propose the changes as one set, and apply what was allowed, whole or not at all. `group` is the name of the set
    in the journal; by default the try that a path comes from. Raises CannotTake, and CancelledLate with the set."""
    chosen = await asyncio.to_thread(find_sealed, choose_files(wanted), workspace.history)
    cut_short = tuple(await asyncio.to_thread(take_back_half_applied, workspace))
    done = await _take_chosen(chosen, wanted, workspace, ask, group)
    return replace(done, remarks=cut_short)


async def _take_chosen(
    chosen: list[FileState], wanted: Sequence[Wanted], files: LocalWorkspace, ask: Approver, group: str
) -> TakenSet:
    for each in wanted:
        if each.hunks:
            chosen = [await asyncio.to_thread(_only_hunks, chosen, each.hunks, files)]
    proposed, changes, conflicts = await asyncio.to_thread(_compare, chosen, files)
    if not changes:
        return TakenSet(conflicts=tuple(conflicts))
    remarks: tuple[Sentence, ...] = ()
    if conflicts:
        said = Sentence("Left out, because it changed in the project meanwhile: {paths}.", paths=", ".join(conflicts))
        remarks = (said,)
    name = " ".join((TAKE, *(each.node_id for each in wanted)))
    question = Approval(new_trace_id(), "command", TAKE, tuple(proposed), name, remarks=remarks)
    decision = await ask(question)
    if not decision.allowed:
        return TakenSet(decision, conflicts=tuple(conflicts))
    if decision.paths:
        changes = [change for change in changes if change.path in decision.paths]
    if not group:
        group, changes = _name_authors(changes, _find_owners(wanted))

    def apply() -> TakenSet:
        done = files.for_turn(group).apply_changes(changes)
        applied = tuple(report_applied(proposed, done.applied))
        late = [path for path, problem in done.left_out if isinstance(problem, Stale | AlreadyExists)]
        refused = [problem for path, problem in done.left_out if path not in late]
        return TakenSet(decision, applied, (*conflicts, *late), tuple(refused))

    return await to_the_end(apply)


def _name_authors(changes: Sequence[PathChange], owners: dict[str, str]) -> tuple[str, list[PathChange]]:
    """Return the name of the set, and its changes with their authors: where all come from one try the set has its name,
    and no change needs an author."""
    names = {owners[change.path] for change in changes}
    if len(names) == 1:
        return names.pop(), list(changes)
    return new_trace_id(), [replace(change, author=owners[change.path]) for change in changes]


def _only_hunks(chosen: Sequence[FileState], hunks: Sequence[int], files: LocalWorkspace) -> FileState:
    """Return the change of one file with only some of its hunks; the resulting content is kept in the journal."""
    if len(chosen) != 1:
        raise CannotTake("Hunks belong to one file; name it.")
    state, history = chosen[0], files.history
    old, new = whole_texts(history, state.before, state.after)
    found = diff_texts(state.path, old, new).hunks
    if new is None or not found or not all(1 <= number <= len(found) for number in hunks):
        raise CannotTake("{path} has no such hunks.", path=state.path)
    content = apply_hunks(old, [hunk for number, hunk in enumerate(found, 1) if number in hunks]).encode()
    files.keep_content(content)
    return replace(state, after=replace(parse_state(state.after), content=digest(content)).name)


def _compare(
    chosen: Sequence[FileState], files: LocalWorkspace
) -> tuple[list[ProposedChange], list[PathChange], list[str]]:
    """Return the changes to ask about, the changes to apply, and the conflicts."""
    history = files.history
    proposed, changes, conflicts = [], [], []
    for each in chosen:
        before, after = each.before or None, each.after or None
        try:
            found = files.state(each.path)
        except WorkspaceError:
            conflicts.append(each.path)
            continue
        if same_state(found, after):
            continue
        content = b"" if after is None else history.content(after)
        if not same_state(found, before) or (content is None and not (after or "").startswith("folder:")):
            conflicts.append(each.path)
            continue
        proposed.append(propose(history, each.path, before, after))
        still = partial(_is_unchanged, files, each.path, before)
        changes.append(PathChange(each.path, before, after, partial(bytes, content or b""), still))
    return proposed, changes, conflicts


def _is_unchanged(files: LocalWorkspace, path: str, before: str | None) -> bool:
    return same_state(files.state(path), before)


def keep_taken_lines(taken: Mapping[str, Sequence[Diff]], workspace: LocalWorkspace, settings: Settings) -> None:
    """Record in each node, by id, which lines of these changes it wrote. A graph that cannot be written loses only
    that."""
    state = prepare_state_folder(settings.root)
    if not (state.has_graph and state.keeps_records):
        return
    redactor = Redactor(settings.secrets)
    graph = graph_opener(settings)()
    try:
        for node_id, applied in taken.items():
            _add_lines(graph, node_id, written_lines(applied, workspace, redactor))
    except (GraphError, OSError):
        return  # the files and the journal have the changes already
    finally:
        graph.close()


def _add_lines(graph: Graph, node_id: str, told: Mapping[str, FileState]) -> None:
    node = graph.get_node(node_id)
    files = tuple(_with_lines(each, told[each.path]) if each.path in told else each for each in node.files)
    if files != node.files:
        graph.apply(GraphChange(edit=(NodeEdit(node, replace(node, files=files)),)))


def _with_lines(state: FileState, own: FileState) -> FileState:
    """Return `state` with the lines of `own` added: some hunks of a file may be taken today, and others tomorrow. Lines
    that were undone and are taken again are in it already."""
    wrote = " ".join(dict.fromkeys((*state.wrote.split(), *own.wrote.split())))
    removed = state.removed if state.removed.endswith(own.removed) else state.removed + own.removed
    return replace(state, wrote=wrote, removed=removed)
