"""The upper side against the project: what was created, changed and deleted.

Only the upper side is walked, and the project where something was deleted: the cost follows what the command touched.
What is there but the same (a file opened for writing, a folder made and unmade) is no change.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

from nebula.files.beneath import FOLDER_FLAGS
from nebula.files.protected_names import names_secret
from nebula.sandbox.changes import content, git
from nebula.sandbox.changes.renames import pair_renames
from nebula.sandbox.contract import ChangeSet, Entry, LayerChange, Refused
from nebula.sandbox.errors import LeftTooMuch
from nebula.sandbox.layer import Layer, stamp_of
from nebula.sandbox.tracked.kept import find_replaced
from nebula.sandbox.tracked.views import RepositoryView, is_masked
from nebula.value import field, record, replace, value

DEEPEST: Final = 100
"""Folders in folders; what is made below is never proposed."""
_OPAQUE = "user.overlay.opaque"


def read_changes(
    layer: Layer,
    *,
    masks: Mapping[str, bytes],
    names: Mapping[str, Collection[str]],
    hidden: Collection[str],
    started_ns: int,
    limit: int,
    repositories: Collection[RepositoryView] = (),
    is_secret: Callable[[str], bool] = names_secret,
    whole: bool = False,
) -> ChangeSet:
    """Return what the command changed. `names` are those in each folder when it began, `repositories` those that it
    saw otherwise than they are. `is_secret` judges paths. `whole`: the upper side is a
    copy of the lower one, so what it does not have is deleted. Raises LeftTooMuch when the files are larger than
    `limit` together."""
    reader = _Reader(masks, names, frozenset(hidden), started_ns, limit)
    os.fchmod(layer.upper, 0o700)  # it may be closed even to us
    repositories = [each.taken_back(layer) for each in repositories]
    reader.walk(_Folder(layer.upper, layer.lower, opaque=whole))
    git_files = git.without_refreshed_indexes(layer, reader.git_files)
    layer.remember_indexes(change.path for change in git_files if git.is_index(change.path))
    return ChangeSet(
        changes=tuple(pair_renames(layer, _in_order(reader.changes))),
        git=tuple(git.meanings(layer, git_files)),
        git_files=tuple(_in_order(git_files)),
        refused=tuple(sorted(reader.refused, key=lambda each: each.path)),
        unkept=find_replaced(layer, git_files, masks, repositories, is_secret),
    )


def _in_order(changes: list[LayerChange]) -> list[LayerChange]:
    """Return the changes sorted. What stands in the place of a deleted file depends on the same file of the project."""
    gone = {change.path: change for change in changes if change.kind == "deleted"}
    joined = [
        replace(change, stamp=gone[change.path].stamp, conflict=gone[change.path].conflict)
        if change.kind == "created" and change.path in gone
        else change
        for change in changes
    ]
    return sorted(joined, key=lambda change: (change.path, change.kind != "deleted"))


def _holds_files(folder: int, name: str) -> bool:
    """Return whether anything but folders is there: showing a skill leaves its empty folders behind."""
    found = _lstat(folder, name)
    if found is None or not stat.S_ISDIR(found.st_mode):
        return True
    try:
        return any(names for _, _, names, _ in os.fwalk(name, dir_fd=folder))
    except OSError:
        return False  # nobody may look into it, so nothing was shown there


@value
class _Folder:
    upper: int
    lower: int | None
    prefix: str = ""
    depth: int = 0
    opaque: bool = False
    """What stands in the lower folder and not in the upper one is gone."""


@record
class _Reader:
    masks: Mapping[str, bytes]
    names: Mapping[str, Collection[str]]
    hidden: frozenset[str]
    started_ns: int
    room: int
    """Bytes that the files may have together."""
    changes: list[LayerChange] = field(default_factory=list)
    git_files: list[LayerChange] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)

    def walk(self, folder: _Folder) -> None:
        with os.scandir(folder.upper) as entries:
            found = {entry.name: entry.stat(follow_symlinks=False) for entry in entries}
        for name, after in found.items():
            if folder.prefix + name not in self.hidden:
                self._look_at(folder, name, after)
            elif not content.is_whiteout(after) and _holds_files(folder.upper, name):
                self.refused.append(Refused(folder.prefix + name, "hidden"))
        if folder.opaque and folder.lower is not None:
            for name in set(os.listdir(folder.lower)) - found.keys():
                self._delete(folder, name)

    def _look_at(self, folder: _Folder, name: str, after: os.stat_result) -> None:
        path = folder.prefix + name
        odd = content.odd_kind(after)
        if content.is_whiteout(after):
            self._delete(folder, name)
        elif odd is not None:
            self.refused.append(Refused(path, odd))
            self._delete(folder, name)
        elif stat.S_ISDIR(after.st_mode):
            self._look_into(folder, name, after)
        else:
            before = _lstat(folder.lower, name)
            if before is not None and stat.S_ISDIR(before.st_mode):
                self._delete(folder, name)
                before = None
            self._compare(folder, name, before, after)

    def _look_into(self, folder: _Folder, name: str, after: os.stat_result) -> None:
        path = folder.prefix + name
        before = _lstat(folder.lower, name)
        if before is not None and not stat.S_ISDIR(before.st_mode):
            self._delete(folder, name)
            before = None
        mode = content.ordinary_mode(stat.S_IMODE(after.st_mode), before and before.st_mode)
        if before is None:
            self._add(self._change(path, "created", None, Entry("folder", mode), None))
        elif mode != stat.S_IMODE(before.st_mode):
            old = Entry("folder", stat.S_IMODE(before.st_mode))
            self._add(LayerChange(path, "mode", old, Entry("folder", mode), stamp=stamp_of(before)))
        if folder.depth >= DEEPEST:
            self.refused.append(Refused(path, "too deep"))
            return
        lower_parent = folder.lower if before is not None else None
        with _opened(folder.upper, name, after) as upper, _opened(lower_parent, name) as lower:
            if upper is not None:
                opaque = not is_masked(path, self.masks) and (folder.opaque or _is_opaque(upper))
                self.walk(_Folder(upper, lower, f"{path}/", folder.depth + 1, opaque))

    def _compare(self, folder: _Folder, name: str, before: os.stat_result | None, after: os.stat_result) -> None:
        path = folder.prefix + name
        self.room -= after.st_size
        if self.room < 0:
            raise LeftTooMuch
        if path in self.masks and self._is_untouched_mask(folder, name, before, after):
            return
        new = content.describe(folder.upper, name, after, with_digest=True, repair=True)
        mode = content.ordinary_mode(new.mode, before and before.st_mode)
        if mode != new.mode:
            self.refused.append(Refused(path, "set-user-ID"))
            new = replace(new, mode=mode)
        old = None
        if before is not None and folder.lower is not None:
            if content.odd_kind(before):
                self.refused.append(Refused(path, "was a " + str(content.odd_kind(before))))
                return
            old = content.describe(folder.lower, name, before, with_digest=not is_masked(path, self.masks))
        kind = _kind(old, new)
        if kind is not None:
            self._add(self._change(path, kind, old, new, before))

    def _is_untouched_mask(
        self, folder: _Folder, name: str, before: os.stat_result | None, after: os.stat_result
    ) -> bool:
        mask = self.masks[folder.prefix + name]
        if before is None or not stat.S_ISREG(after.st_mode) or after.st_size != len(mask):
            return False
        if stat.S_ISREG(before.st_mode) and stat.S_IMODE(before.st_mode) != stat.S_IMODE(after.st_mode):
            return False
        return content.has_content(folder.upper, name, after, mask)

    def _delete(self, folder: _Folder, name: str) -> None:
        """Add the deletion of everything that stood there in the project."""
        before = _lstat(folder.lower, name)
        path = folder.prefix + name
        if before is None or folder.lower is None or path in self.hidden:
            return
        if content.odd_kind(before):
            self.refused.append(Refused(path, "was a " + str(content.odd_kind(before))))
            return
        is_folder = stat.S_ISDIR(before.st_mode)
        if is_folder and folder.depth >= DEEPEST:
            self.refused.append(Refused(path, "too deep"))
            return
        if is_folder:
            with _opened(folder.lower, name) as lower:
                if lower is not None:
                    below = _Folder(-1, lower, f"{path}/", folder.depth + 1)
                    for each in os.listdir(lower):
                        self._delete(below, each)
        old = content.describe(folder.lower, name, before, with_digest=False)
        self._add(self._change(path, "deleted", old, None, before))

    def _change(
        self, path: str, kind: str, old: Entry | None, new: Entry | None, before: os.stat_result | None
    ) -> LayerChange:
        if before is None:
            was_removed = self._was_there(path) and not self._is_replaced(path)
            return LayerChange(path, kind, old, new, secret=is_masked(path, self.masks), conflict=was_removed)
        conflict = not stat.S_ISDIR(before.st_mode) and before.st_ctime_ns >= self.started_ns
        return LayerChange(
            path, kind, old, new, secret=is_masked(path, self.masks), conflict=conflict, stamp=stamp_of(before)
        )

    def _was_there(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        return name in self.names.get(f"{folder}/" if folder else "", ())

    def _is_replaced(self, path: str) -> bool:
        """Return whether something of another kind stands there still: its deletion has been added just before."""
        return any(each[-1].path == path for each in (self.changes, self.git_files) if each)

    def _add(self, change: LayerChange) -> None:
        (self.git_files if git.is_git_path(change.path) else self.changes).append(change)


def _kind(old: Entry | None, new: Entry) -> str | None:
    if old is None:
        return "created"
    if (old.kind, old.digest, old.target) != (new.kind, new.digest, new.target) or old.size != new.size:
        return "link" if new.kind == "link" else "changed"
    return "mode" if old.mode != new.mode else None


def _lstat(folder: int | None, name: str) -> os.stat_result | None:
    try:
        return None if folder is None else os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _is_opaque(handle: int) -> bool:
    read = getattr(os, "getxattr", None)
    try:
        return read is not None and bool(read(handle, _OPAQUE) == b"y")
    except OSError:
        return False  # it has no such attribute


@contextmanager
def _opened(parent: int | None, name: str, ours: os.stat_result | None = None) -> Iterator[int | None]:
    """Yield a folder in a folder; None where there is none that we may open. `ours`: it is in the layer, and is made
    readable."""
    handle = None
    if ours is not None and parent is not None and os.geteuid() != 0 and ours.st_mode & 0o500 != 0o500:
        content.make_readable(parent, name, ours)
    if parent is not None:
        with suppress(FileNotFoundError, PermissionError):
            handle = os.open(name, FOLDER_FLAGS, dir_fd=parent)
    try:
        yield handle
    finally:
        if handle is not None:
            os.close(handle)
