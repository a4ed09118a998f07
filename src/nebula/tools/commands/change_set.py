"""The changes that a command left in its layer, as one set to approve or refuse."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial

from nebula.events import Diff, ProposedChange
from nebula.files.digest import digest
from nebula.language import Sentence
from nebula.sandbox.changes.reader import DEEPEST
from nebula.sandbox.contract import ChangeSet, CommandResult, Entry, LayerChange
from nebula.sandbox.layer import Layer
from nebula.tools.commands.compared_texts import Compared, compare_texts
from nebula.tools.commands.ignored import split_ignored
from nebula.tools.commands.repository_words import describe_repository, join_described, show_name
from nebula.value import replace, value
from nebula.workspace.contract import PathChange
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.guard.paths import folders_above
from nebula.workspace.guard.repositories import RepositoryFinder
from nebula.workspace.journal.states import EntryState
from nebula.workspace.local import LocalWorkspace
from nebula.workspace.proposing import is_blank

MAX_DIFFED = 400
"""So many changes of a set get a diff; nobody would read more."""
LOOKED_AT = 64 * 1024
"""Bytes of a file that show whether there is anything to read in it."""
FEW = 3
"""So many names fit into the middle of a sentence."""
NAMED = 20
"""Paths that one sentence lists."""


@value
class LeftOut:
    path: str
    why: str


@value
class CommandChanges:
    """The set: what is proposed, what is written along with it, and what is left out whatever the answer."""

    layer: Layer
    proposed: tuple[ProposedChange, ...]
    by_path: Mapping[str, tuple[LayerChange, ...]]
    """The changes behind each proposed path, in order."""
    folders: tuple[LayerChange, ...] = ()
    """Folders that were made for proposed paths, or left empty by them."""
    ignored: tuple[LayerChange, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    git: tuple[Sentence, ...] = ()
    """What the changes under `.git` mean."""
    repository: tuple[LayerChange, ...] = ()
    """The files of those changes, where the user allowed them by name."""
    unkept: tuple[str, ...] = ()
    """Secret files that git would no longer hold with their true content: then changes under `.git` are left out,
    whatever was allowed."""
    moved: bool = False
    """The user allowed changes under `.git`, but the repository is no longer as the command found it."""

    @property
    def is_minor(self) -> bool:
        """Return whether nobody has to be asked about any of it."""
        return not self.proposed and not self.repository and not self.ignored

    @property
    def is_ignored(self) -> bool:
        """Return whether there are only files that git ignores, such as a compiler's."""
        return bool(self.ignored) and not self.proposed and not self.repository

    @property
    def needs_names(self) -> tuple[str, ...]:
        """Paths that were left out only because nobody has allowed them by name; `.git` stands for all changes under
        it."""
        files = [each.path for each in self.left_out if each.why == "permission"]
        return (*files, *((".git",) if self.git and not self.repository else ()))

    def remarks(self) -> tuple[Sentence, ...]:
        """Return what else to read before answering."""
        said = []
        if self.ignored:
            size = sum(change.after.size for change in self.ignored if change.after is not None)
            said.append(
                Sentence(
                    _IGNORED,
                    count=f"{len(_files_or_folders(self.ignored)):,}",
                    size=_size(size),
                    places=_places(self.ignored),
                )
            )
        if self.repository:
            what = join_described(self.git)
            said.append(Sentence("It changes the repository, not restorable by undo: {what}.", what=what))
        elif self.git and self.unkept:
            said.append(self.say_unkept())
        elif self.moved:
            said.append(Sentence(REPOSITORY_MOVED, what=join_described(self.git)))
        elif self.git:
            what = join_described(self.git)
            said.append(Sentence("Left out, because it changes the repository: {what}.", what=what))
        if (more := len(self.proposed) - MAX_DIFFED) > 0:
            said.append(
                Sentence("{count} files are shown without their difference: there are too many.", count=f"{more:,}")
            )
        return (*said, *self.name_left_out().values())

    def say_unkept(self) -> Sentence:
        """Return why the changes under `.git` are not applied, and what helps."""
        options = " ".join(f"--allow {show_name(path)}" for path in self.unkept[:NAMED])
        return Sentence(_UNKEPT, what=join_described(self.git), paths=_named(list(self.unkept)), options=options)

    def name_left_out(self) -> dict[str, Sentence]:
        """Return a sentence on the paths that were left out, by reason."""
        whys: dict[str, list[str]] = {}
        for each in self.left_out:
            whys.setdefault(each.why, []).append(each.path)
        return {why: Sentence(_LEFT_OUT[why], paths=_named(paths), most=DEEPEST) for why, paths in whys.items()}

    def path_changes(self, paths: Collection[str] | None) -> list[PathChange]:
        """Return the changes to apply: all, or only these paths with the folders that they need."""
        wanted = self.by_path if paths is None else {path: self.by_path[path] for path in paths}
        chosen = [change for changes in wanted.values() for change in changes]
        folders = [
            folder
            for folder in self.folders
            if paths is None or any(change.path.startswith(f"{folder.path}/") for change in chosen)
        ]
        return self._last_of_each(sorted((*folders, *chosen), key=lambda each: (each.path, each.kind != "deleted")))

    def meant(self, paths: Collection[str]) -> list[ProposedChange]:
        """Return what a yes to these paths writes; a yes to all includes what git ignores, and git's own files."""
        if paths:
            return [each for each in self.proposed if each.path in paths]
        beside = [
            ProposedChange(each.path, each.kind, beyond_text=_is_beyond_text(self.layer, each))
            for each in (*self.ignored, *self.repository)
        ]
        return [*self.proposed, *beside]

    def known(self, paths: Iterable[str]) -> list[str]:
        return [path for path in paths if path in self.by_path]

    def repository_changes(self) -> list[PathChange]:
        """Return the changes of the repository, contents before the names that refer to them: a branch never points at
        a commit that is not there yet."""
        return self._last_of_each(sorted(self.repository, key=lambda change: "/objects/" not in f"{change.path}/"))

    def ignored_changes(self) -> list[PathChange]:
        return self._last_of_each(self.ignored)

    def _last_of_each(self, changes: Iterable[LayerChange]) -> list[PathChange]:
        """Return the last change of each path: a file that replaces a deleted one comes after the deletion."""
        merged = {change.path: change for change in changes}
        return [self._path_change(change) for change in merged.values()]

    def _path_change(self, change: LayerChange) -> PathChange:
        after, read = change.after, partial(self.layer.read, change.path)
        if after is not None and after.kind == "link":
            read = partial(os.fsencode, after.target or "")
        elif after is not None and change.secret and change.before is not None:
            after = replace(after, digest=None)
            read = partial(_append, self.layer, change.path)  # a log that the command saw empty, and wrote to
        state, still_there = _name_state(after, read), partial(_is_unchanged, self.layer, change)
        return PathChange(change.path, None, state, read, still_there)


_IGNORED = "Ignored by git, kept or dropped with the same answer, not restorable by undo: {count} ({size}), {places}."
_UNKEPT = (
    "Left out, because git would keep secret files as the command saw or wrote them, without having seen what is in "
    "them: {what} ({paths}). Leave these files out of the commit; started with {options}, commands see them."
)
REPOSITORY_MOVED = "Left out, because the repository changed meanwhile: {what}. The same command can be run again."
_LEFT_OUT = {
    "conflict": "Left out, because it changed in the project meanwhile: {paths}.",
    "permission": "Left out, because secret and control files need a permission by name (--allow): {paths}.",
    "renamed": "Left out, because its new name is: {paths}.",
    "kind": "Left out, because it is neither a file, a link nor a folder: {paths}.",
    "set-user-ID": "Proposed without their set-user-ID and set-group-ID bits: {paths}.",
    "too deep": "Left out, because it lies more than {most} folders deep: what is in {paths}.",
    "name": "Left out, because of its name: {paths}.",
    "extension": "Left out, because EC_ALLOW_EXT does not name files of this kind: {paths}.",
}


_WHY = {"protected_path": "permission", "secret_path": "permission", "extension_not_allowed": "extension"}
"""The reason by the code of the guard's refusal."""


def read_command_changes(result: CommandResult, workspace: LocalWorkspace) -> CommandChanges:
    """Return the changes, judged path by path, with diffs. The layer stays open while this is in use."""
    found, layer = result.changes, result.layer
    assert layer is not None  # noqa: S101 - it was read back
    split = split_ignored(workspace.root, found.changes, layer)
    left_out = [
        LeftOut(each.path, each.what if each.what in _LEFT_OUT else "kind")
        for each in found.refused
        if each.what != "hidden"
    ]
    conflicts = set(layer.conflicts(split.proposed))
    by_path: dict[str, list[LayerChange]] = {}
    repositories = workspace.repositories([change.path for change in found.changes if change.after is not None])
    for change in split.proposed:
        why = "conflict" if change.path in conflicts else _refusal(change, workspace, repositories)
        if why:
            left_out.append(LeftOut(change.path, why))
        else:
            by_path.setdefault(change.path, []).append(change)
    left_out += _halves_of_renames(split.proposed, by_path)
    folders = _implied_folders(by_path)
    for folder in folders:
        del by_path[folder.path]
    allowed = [change for change in split.ignored if not _refusal(change, workspace, repositories)]
    proposed = [
        _proposed(layer, changes, with_diff=number < MAX_DIFFED) for number, changes in enumerate(by_path.values())
    ]
    repository, moved = ((), False) if found.unkept else _allowed_in_repository(found, layer, workspace)
    return CommandChanges(
        layer=layer,
        proposed=tuple(proposed),
        by_path={path: tuple(changes) for path, changes in by_path.items()},
        folders=tuple(folders),
        ignored=tuple(allowed),
        left_out=tuple(dict.fromkeys(left_out)),
        git=tuple(describe_repository(found, layer, workspace.root)),
        repository=repository,
        moved=moved,
        unkept=found.unkept,
    )


def report_applied(proposed: Iterable[ProposedChange], applied: Iterable[PathChange]) -> list[Diff]:
    """Return the applied changes, with the diffs that were shown."""
    shown = {each.path: each for each in proposed}
    return [
        Diff(each.path, seen.diff, seen.added, seen.removed, each.before or "", each.after or "")
        for each in applied
        if (seen := shown.get(each.path)) is not None
    ]


def _refusal(change: LayerChange, workspace: LocalWorkspace, repositories: RepositoryFinder) -> str:
    if change.secret:
        return "permission"
    try:
        workspace.may_change(change.path, repositories)
    except WorkspaceError as error:
        return _WHY.get(error.code, "name")
    return ""


def _halves_of_renames(proposed: Iterable[LayerChange], by_path: dict[str, list[LayerChange]]) -> list[LeftOut]:
    """Take out the deletions of files whose new names are left out, and those of the folders above them: their content
    would be nowhere."""
    found = []
    for change in proposed:
        old = change.renamed_from
        if old in by_path and change.path not in by_path:
            kept = [path for path in (old, *folders_above(old)) if path in by_path]
            found += [LeftOut(path, "renamed") for path in kept]
            for path in kept:
                del by_path[path]
    return found


def _allowed_in_repository(
    found: ChangeSet, layer: Layer, workspace: LocalWorkspace
) -> tuple[tuple[LayerChange, ...], bool]:
    """Return all of these files or none, since half a commit is a broken repository; and whether there are none only
    because the repository changed in between."""
    files = found.git_files
    allowed = all(
        workspace.may_change_repository(change.path) and (not change.secret or _is_log(change)) for change in files
    )
    moved = bool(files) and allowed and bool(layer.conflicts(files))
    return (files if allowed and not moved else ()), moved


def _implied_folders(by_path: Mapping[str, list[LayerChange]]) -> list[LayerChange]:
    """Return the folders that are made or removed together with files in them: they need no question of their own."""
    inside = {folder for path in by_path for folder in folders_above(path)}
    return [
        changes[0]
        for path, changes in by_path.items()
        if path in inside and len(changes) == 1 and changes[0].kind in {"created", "deleted"} and changes[0].is_folder
    ]


def _proposed(layer: Layer, changes: list[LayerChange], *, with_diff: bool) -> ProposedChange:
    first, last = changes[0], changes[-1]
    kind = last.kind if len(changes) == 1 else "changed"
    beyond = len(changes) > 1 or _is_beyond_text(layer, last)
    renamed = show_name(last.renamed_from or "")
    compared = compare_texts(layer, first, last) if with_diff else Compared(note="no difference: too many files")
    notes = _notes(first.before, last.after, compared)
    if compared is None:
        return ProposedChange(last.path, kind, diff=notes, renamed_from=renamed, beyond_text=beyond)
    counts, texts = (compared.added, compared.removed), (compared.old, compared.new)
    return ProposedChange(last.path, kind, *counts, notes + compared.text, renamed, *texts, beyond_text=beyond)


def _is_beyond_text(layer: Layer, change: LayerChange) -> bool:
    """Return whether more changes than the text of a file: its mode, what stands there at all, or whether there is any
    text."""
    before, after = change.before, change.after
    if after is None or after.kind != "file":
        return True
    if before is None:
        return bool(after.mode & 0o111)
    if (before.kind, before.mode) != (after.kind, after.mode):
        return True
    return before.size > 0 and (after.size == 0 or is_blank(layer.read(change.path, LOOKED_AT)))


def _notes(before: Entry | None, after: Entry | None, compared: Compared | None) -> str:
    """Return what a diff of lines cannot show, one line each."""
    lines = []
    if before is not None and after is not None and before.kind == after.kind and before.mode != after.mode:
        lines.append(f"mode {before.mode:o} → {after.mode:o}")
    elif before is None and after is not None and after.mode & 0o111 and after.kind == "file":
        lines.append(f"mode {after.mode:o}")
    if "link" in {entry.kind for entry in (before, after) if entry is not None}:
        lines.append(f"{_described(before)} → {_described(after)}")
    elif compared is None:
        lines.append(f"binary: {_described(before)} → {_described(after)}")
    if compared is not None and compared.note:
        lines.append(compared.note)
    return "".join(f"{line}\n" for line in lines)


def _described(entry: Entry | None) -> str:
    if entry is None:
        return "nothing"
    if entry.kind == "link":
        target = show_name(entry.target or "").replace("\n", "␊")  # no line of it may pass for one of a difference
        return f"link to {target}"
    return f"{entry.kind}, {_size(entry.size)}" + (f", sha256 {entry.digest[:12]}" if entry.digest else "")


def _name_state(entry: Entry | None, read: Callable[[], bytes]) -> str | None:
    """Return the journal's name of the state that the command left."""
    if entry is None:
        return None
    if entry.kind == "folder":
        return EntryState("folder", mode=entry.mode).name
    content = entry.digest or digest(read())
    return EntryState("link", content).name if entry.kind == "link" else EntryState("file", content, entry.mode).name


def _is_log(change: LayerChange) -> bool:
    """Return whether the path is a reflog, to which git only appends."""
    return "/logs/" in f"{change.path}/" and (change.after is None or change.after.kind in {"file", "folder"})


def _append(layer: Layer, path: str) -> bytes:
    return layer.read_before(path) + layer.read(path)


def _is_unchanged(layer: Layer, change: LayerChange) -> bool:
    return not layer.conflicts([change])


def _named(paths: list[str]) -> str:
    more = f" … +{len(paths) - NAMED}" if len(paths) > NAMED else ""
    return ", ".join(map(show_name, sorted(set(paths))[:NAMED])) + more


def _files_or_folders(changes: Sequence[LayerChange]) -> Sequence[LayerChange]:
    """Return the files, since they imply their folders; where there are none, the folders."""
    return [each for each in changes if not each.is_folder] or changes


def _places(changes: Sequence[LayerChange]) -> str:
    """Return the names of the files where they are few, else the folders at the top of the project that hold them."""
    paths = [f"{each.path}/" if each.is_folder else each.path for each in _files_or_folders(changes)]
    if len(paths) > FEW:
        paths = [f"{top}/" if below else top for top, below, _ in (path.partition("/") for path in paths)]
    places = sorted(set(paths))
    return ", ".join(map(show_name, places[:FEW])) + (" …" if len(places) > FEW else "")


def _size(count: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
