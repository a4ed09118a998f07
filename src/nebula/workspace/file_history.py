"""Undo, redo, and restoring the files as a node left them.

A change is first planned and shown, then applied exactly as shown: a plan names the present content of each file, and
if a file has another one when the plan is applied, nothing is touched. It is recorded like any other change, so it can
be undone itself. A file is removed only if the agent made it and its content is known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Literal

from nebula.language import Sentence, sentence_of
from nebula.value import field, record, replace, value
from nebula.workspace.contract import PathChange
from nebula.workspace.errors import NotKept, ProtectedPath, Stale, WorkspaceError
from nebula.workspace.guard.jail import translate
from nebula.workspace.guard.paths import normal_path
from nebula.workspace.journal.changes import ChangeKind, RecordedChange, TurnMark
from nebula.workspace.journal.states import content_name, parse_state, rename_content, same_state
from nebula.workspace.writing.entries import EntryMover
from nebula.workspace.writing.writer import FileWriter

if TYPE_CHECKING:
    from nebula.workspace.writing.change_sets import ChangeSetWriter

PlanKind = Literal["undo", "redo", "restore"]


@value
class FilePlan:
    kind: PlanKind
    group: str
    steps: tuple[PathChange, ...]
    """Only files that would change, sorted by path."""
    emptied: tuple[str, ...] = ()
    """Directories to remove if they are empty afterwards."""
    undone_by: str = ""
    """The session that undid what a redo would do again."""
    passed_over: tuple[str, ...] = ()
    """Files that are not restored because somebody else has changed them."""
    turns: tuple[str, ...] = ()
    """The turns whose changes an undo takes back."""

    @property
    def conflicts(self) -> tuple[PathChange, ...]:
        return tuple(step for step in self.steps if step.conflict)


@record
class _Timeline:
    """The state of each group after replaying the journal."""

    done: dict[str, None] = field(default_factory=dict)
    """Groups in order, as keys, so that one is found and removed in constant time."""
    undone: dict[str, None] = field(default_factory=dict)
    changes: dict[str, list[RecordedChange]] = field(default_factory=dict)
    moved_by: dict[str, str] = field(default_factory=dict)
    """The session that last undid or redid a group."""

    def replay(self, entry: RecordedChange | TurnMark) -> None:
        group = entry.group
        if isinstance(entry, TurnMark):
            self._move(group, self.undone if entry.undone else self.done)
            self.moved_by[group] = entry.by
        elif entry.kind in {"write", "restore"}:
            if group in self.undone or group not in self.changes:
                self.changes[group] = []
            self.changes[group].append(entry)
            self.undone.clear()
            self._move(group, self.done)

    def _move(self, group: str, to: dict[str, None]) -> None:
        for groups in (self.done, self.undone):
            groups.pop(group, None)
        to[group] = None


class FileHistory:
    def __init__(self, writer: FileWriter, set_writer: Callable[[str, ChangeKind], ChangeSetWriter]) -> None:
        self._writer = writer
        self._set_writer = set_writer

    def changes(self, name: str | None = None) -> list[RecordedChange]:
        """Return the recorded changes of a turn or a set, or all changes, oldest first."""
        return [each for each in self._writer.log.changes() if name is None or name in (each.turn, each.group)]

    def changes_after(self, is_old: Callable[[RecordedChange], bool]) -> list[RecordedChange]:
        """Return the changes after the newest one for which `is_old` is true, oldest first."""
        return self._writer.log.changes_after(is_old)

    def content(self, state: str) -> bytes | None:
        """Return the content of a state if the journal kept it (for a link its target), else None; None for a folder,
        too."""
        return self._writer.objects.get(content_name(state) or "")

    def seal(self, state: str) -> str:
        """Return the name of a state in the form that others may see: it reveals nothing of the content."""
        return rename_content(state, self._writer.objects.sealer())

    def unseal(self, path: str, state: str) -> str:
        """Return the state behind a sealed name, if the journal knows it or keeps its content; else the name itself."""
        seal, sealed = self._writer.objects.sealer(), content_name(state)
        states = {each for change in self.changes() if change.path == path for each in (change.before, change.after)}
        names = chain(filter(None, map(content_name, states)), self._writer.objects.names())
        name = next((each for each in names if seal(each) == sealed), None)
        return state if name is None else rename_content(state, lambda _: name)

    def plan_undo(self, group: str | None = None, passing: Collection[str] = ()) -> FilePlan:
        """Return the plan that undoes a group; without a group the last one that changed something and is not in
        `passing`."""
        timeline = self._timeline()
        candidates = [each for each in timeline.done if each not in passing]
        if group is None and not candidates and self._writer.log.has_news_of_foreign():
            raise NotKept(
                "There is nothing to undo: the history of changes in .nebula/journal was made in another folder, "
                "of which this one is a copy."
            )
        group = _choose(group, candidates, "undo")
        changed = ends(timeline.changes[group]).items()
        steps = [self._step(path, {last.after, last.before}, first.before) for path, (first, last) in changed]
        made = tuple(folder for change in timeline.changes[group] for folder in change.made)
        turns = tuple(dict.fromkeys(change.turn for change in timeline.changes[group]))
        return replace(_plan("undo", group, steps, made), turns=turns)

    def plan_redo(self, group: str | None = None) -> FilePlan:
        """Return the plan that redoes what was undone last, if nothing was written since."""
        timeline = self._timeline()
        group = _choose(group, list(timeline.undone), "redo")
        changed = ends(timeline.changes[group]).items()
        steps = [self._step(path, {first.before}, last.after) for path, (first, last) in changed]
        return replace(_plan("redo", group, steps), undone_by=timeline.moved_by[group])

    def plan_restore(self, state: Mapping[str, str | None], group: str) -> FilePlan:
        """Return the plan that brings files to a recorded state: path -> sha256, or None for a file that did not
        exist."""
        own: dict[str, set[str | None]] = {}
        for change in self._writer.log.changes():
            own.setdefault(change.path, set()).update({change.before, change.after})
        return _plan("restore", group, [self._plan_one_restore(path, state[path], own) for path in state])

    def apply(self, plan: FilePlan, by: str = "") -> tuple[PathChange, ...]:
        """Carry out a plan for a session. Raises Stale, with nothing touched, if it has conflicts or a file changed
        since it was made."""
        if plan.conflicts:
            raise _in_the_way(plan.conflicts)
        changes = self._path_changes(plan)
        paths = [normal_path(change.path) for change in changes]
        with self._writer.locked(paths):
            for path, change in zip(paths, changes, strict=True):
                if not same_state(self._writer.state(path), change.before):
                    raise Stale("{path}: changed since; nothing was touched. Look at it and try again.", path=path.text)
            with self._set_writer(plan.group, plan.kind).as_one():
                EntryMover(self._writer, plan.group, plan.kind).carry_out(changes)
            if plan.kind != "restore":
                self._mark(plan, by)
        self._writer.remove_folders(plan.emptied)
        return plan.steps

    def _timeline(self) -> _Timeline:
        timeline = _Timeline()
        for entry in self._writer.log.read():
            timeline.replay(entry)
        return timeline

    def _step(self, path: str, known: set[str | None], target: str | None) -> PathChange:
        """Return a step that may run only while the file has a content that the journal left it with."""
        try:
            current = self.current(path, {*known, target})
        except WorkspaceError as error:
            return PathChange(path, None, target, conflict=sentence_of(error))
        if not same_state(current, target) and not is_among(current, known):
            changed = Sentence("{path}: changed since; nothing was touched.", path=path)
            return PathChange(path, current, target, conflict=changed)
        return self._require_content(PathChange(path, current, target))

    def _plan_one_restore(self, path: str, target: str | None, own: Mapping[str, set[str | None]]) -> PathChange:
        contents = own.get(path, set())
        try:
            current = self.current(path, {*contents, target})
        except WorkspaceError as error:
            return PathChange(path, None, target, conflict=sentence_of(error))
        known = is_among(current, contents)
        odd = current is not None and parse_state(current).kind != "file"
        if (odd and not known) or (target is None and current is not None and not (None in contents and known)):
            foreign = Sentence("{path}: was not made by the agent as it is now, so it stays.", path=path)
            return PathChange(path, current, target, conflict=foreign)
        return self._require_content(PathChange(path, current, target))

    def _require_content(self, step: PathChange) -> PathChange:
        """Return the step; with a conflict where the journal did not keep the content that it needs."""
        target = step.after
        if target is None or same_state(step.before, target) or parse_state(target).kind == "folder":
            return step
        if content_name(step.before) == content_name(target) or self.content(target) is not None:
            return step
        gone = Sentence("{path}: that content was not kept.", path=step.path)
        return replace(step, conflict=gone)

    def current(self, path: str, others: Collection[str | None]) -> str | None:
        """Return the present state of the path; for a file only its content, where no state in `others` names a
        mode."""
        place = normal_path(path)
        if place.standing.untouchable or not place.parts:
            raise ProtectedPath("{path}: is never written.", path=place.text)
        state = self._writer.state(place)
        if state is None or parse_state(state).kind != "file":
            return state
        with_modes = any(each is not None and parse_state(each).mode is not None for each in others)
        return state if with_modes else content_name(state)

    def _mark(self, plan: FilePlan, by: str) -> None:
        """Mark the groups as undone or redone, last of all: a crash before it leaves them marked as done, so they can
        be undone again."""
        try:
            self._writer.log.append(TurnMark(plan.group, plan.kind == "undo", by))
        except OSError as error:
            raise translate(error, ".nebula/journal") from None

    def _path_changes(self, plan: FilePlan) -> list[PathChange]:
        """Return the steps of a plan with all contents loaded, before anything is touched."""
        modes = self._modes(plan)
        changes = []
        for step in plan.steps:
            path = normal_path(step.path).text
            content = self.content(step.after or "") if step.after else b""
            if content is None and content_name(step.after) not in {None, content_name(step.before)}:
                raise NotKept("{path}: that content was not kept.", path=step.path)
            read = partial(bytes, content or b"")
            changes.append(replace(step, path=path, read=read, mode=modes.get(path)))
        return changes

    def _modes(self, plan: FilePlan) -> dict[str, int]:
        """Return the permissions that removed files had, if some of them are to be restored."""
        if all(step.before is not None or step.after is None for step in plan.steps):
            return {}
        return {change.path: change.mode for change in self._writer.log.changes() if change.mode is not None}


def _plan(kind: PlanKind, group: str, steps: Sequence[PathChange], emptied: tuple[str, ...] = ()) -> FilePlan:
    changing = (step for step in steps if step.conflict or not same_state(step.before, step.after))
    return FilePlan(kind, group, tuple(sorted(changing, key=lambda step: step.path)), emptied)


def states_after(changes: Sequence[RecordedChange], end: int) -> dict[str, str | None]:
    """Return path → state (None: nothing) after the first `end` of these changes, for every path in them."""
    state: dict[str, str | None] = {change.path: change.after for change in changes[:end]}
    for change in changes[end:]:
        state.setdefault(change.path, change.before)
    # A change of the content alone names no mode and leaves the mode as it is; the next change that names one has it.
    unsettled = {path for path, each in state.items() if each is not None and parse_state(each).mode is None}
    for change in changes[end:]:
        if change.path not in unsettled:
            continue
        then, before = state[change.path], change.before
        mode = None if before is None else parse_state(before).mode
        if mode is not None and then is not None:
            state[change.path] = replace(parse_state(then), mode=mode).name
        if mode is not None or before is None:
            unsettled.remove(change.path)
    return state


def is_among(state: str | None, states: Collection[str | None]) -> bool:
    return any(same_state(state, each) for each in states)


def _choose(group: str | None, candidates: Sequence[str], what: str) -> str:
    if group is None and candidates:
        return candidates[-1]
    if group is None or group not in candidates:
        raise NotKept("There is nothing to undo." if what == "undo" else "There is nothing to redo.")
    return group


def _in_the_way(conflicts: Sequence[PathChange]) -> Stale:
    first = conflicts[0].conflict
    if len(conflicts) == 1 and first is not None:
        return Stale.of(first)
    return Stale("{first} So it is with {count} files.", first=first, count=len(conflicts))


def ends(changes: Iterable[RecordedChange]) -> dict[str, tuple[RecordedChange, RecordedChange]]:
    """Return the first and the last change of each path."""
    found: dict[str, tuple[RecordedChange, RecordedChange]] = {}
    for change in changes:
        first, _ = found.get(change.path, (change, change))
        found[change.path] = first, change
    return found
