"""What belongs to a set of changes and has no undo: files that git ignores, and git's own.

It is applied with the set, whole or not at all. Everything new is first written to a folder of the journal, so that a
full disk is noticed before anything is touched; a plan is written next; then each new file gets its name, and what
stood there moves into that folder. Whoever has to take the set back, at once or after a kill, reads the plan from its
end. Nothing is ever staged in the project itself. Nothing is synced: after a loss of power, git may have to be asked.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

from nebula.files.beneath import FILE_FLAGS
from nebula.files.descriptors import closed_after
from nebula.files.untrusted_json import parse_json
from nebula.value import replace, value
from nebula.workspace.contract import PathChange
from nebula.workspace.errors import AlreadyExists, PathEscape, Stale, WorkspaceError
from nebula.workspace.guard.jail import Jail, status_at, translate
from nebula.workspace.guard.paths import folders_above, normal_path
from nebula.workspace.journal.states import parse_state
from nebula.workspace.state_folder import open_state_dir
from nebula.workspace.writing.writer import FileWriter

_PLAN: Final = "plan.jsonl"
_LONGEST_LINE: Final = 64 * 1024
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
_IMPLIED_FOLDER: Final = 0o777


@value
class BesideStep:
    """One step for one path. Files are recognised by their inodes: a plan that came with a project matches none."""

    number: int
    path: str
    do: str
    """"remove" or "rmdir"; "mkdir" or "put"."""
    mode: int = 0
    old: int | None = None
    """The inode of what is there; None: nothing is."""
    new: int | None = None
    """The inode of the staged file."""

    @property
    def staged(self) -> str:
        return f"{self.number}.new"

    @property
    def kept(self) -> str:
        return f"{self.number}.old"


class BesideWriter:
    """Its caller holds the set's marker, so only one process works here."""

    def __init__(self, jail: Jail, writer: FileWriter) -> None:
        self._jail = jail
        self._calls = writer.calls

    def apply(self, changes: Sequence[PathChange]) -> None:
        """Apply all changes, or raise; then the caller calls `take_back`."""
        if not changes:
            return
        with self._slots() as slots:
            self._clear(slots)
            steps = self._stage(slots, self._plan(changes), {change.path: change for change in changes})
            self._write_plan(slots, steps)
            for step in steps:
                try:
                    self._carry_out(slots, step)
                except OSError as error:
                    raise translate(error, step.path) from None

    def take_back(self) -> tuple[list[str], list[str]]:
        """Return the paths that were restored, and those that somebody else has changed since."""
        taken, left = [], []
        with self._slots() as slots:
            for step in reversed(self._read_plan(slots)):
                try:
                    if self._undo(slots, step):
                        taken.append(step.path)
                except (OSError, WorkspaceError):
                    left.append(step.path)
        return taken, left

    def clear(self) -> None:
        """Remove the staged and kept files: the set is complete, or was undone."""
        with self._slots() as slots:
            self._clear(slots)

    @contextmanager
    def _slots(self) -> Iterator[int]:
        with closed_after(open_state_dir(self._jail.fd, "journal", "beside", calls=self._calls)) as slots:
            try:
                yield slots
            except OSError as error:
                raise translate(error, ".nebula/journal/beside") from None

    def _clear(self, slots: int) -> None:
        for name in sorted(os.listdir(slots), reverse=True):  # the plan first: without it the rest is not used
            with suppress(OSError):  # a folder that somebody put there
                self._calls.unlink(name, slots)

    def _plan(self, changes: Sequence[PathChange]) -> list[BesideStep]:
        going: dict[str, BesideStep] = {}
        coming: dict[str, BesideStep] = {}
        for change in changes:
            path, after = change.path, None if change.after is None else parse_state(change.after)
            found = self._jail.status(normal_path(path))
            is_folder = found is not None and stat.S_ISDIR(found.st_mode)
            makes_folder = after is not None and after.kind == "folder"
            if is_folder and makes_folder:
                continue
            if found is not None and (is_folder or makes_folder or after is None):
                do, mode = ("rmdir", stat.S_IMODE(found.st_mode)) if is_folder else ("remove", 0)
                going[path] = BesideStep(0, path, do, mode, found.st_ino)
                found = None
            if after is not None:
                for folder in folders_above(path):
                    if folder not in coming and not self._jail.exists(folder):
                        coming[folder] = BesideStep(0, folder, "mkdir", _IMPLIED_FOLDER)
                do = "mkdir" if makes_folder else "put"
                coming[path] = BesideStep(0, path, do, after.mode or 0, None if found is None else found.st_ino)
        first = sorted(going.values(), key=lambda step: step.path.count("/"), reverse=True)
        return [replace(step, number=number) for number, step in enumerate((*first, *coming.values()))]

    def _stage(self, slots: int, steps: list[BesideStep], changes: dict[str, PathChange]) -> list[BesideStep]:
        staged = []
        for step in steps:
            if step.do == "put":
                change = changes[step.path]
                if parse_state(change.after or "").kind == "link":
                    self._calls.symlink(os.fsdecode(change.read()), step.staged, slots)
                else:
                    self._write(slots, step.staged, change.read(), step.mode)
                found = os.stat(step.staged, dir_fd=slots, follow_symlinks=False)
                staged.append(replace(step, new=found.st_ino))
            else:
                staged.append(step)
        return staged

    def _write(self, slots: int, name: str, content: bytes, mode: int) -> None:
        with closed_after(self._calls.create(name, slots, 0o600)) as fd:
            self._calls.write(fd, content)
            self._calls.fchmod(fd, mode)

    def _write_plan(self, slots: int, steps: list[BesideStep]) -> None:
        rows: list[Any] = [{"home": os.fstat(slots).st_ino}]
        rows += [[step.number, step.path, step.do, step.mode, step.old, step.new] for step in steps]
        self._write(slots, _PLAN, "".join(json.dumps(row) + "\n" for row in rows).encode(), 0o600)

    def _read_plan(self, slots: int) -> list[BesideStep]:
        """Return the steps of a plan that was written in this folder; none for a stranger's plan."""
        try:
            handle = os.open(_PLAN, FILE_FLAGS, dir_fd=slots)
        except OSError:
            return []
        with open(handle, "rb") as file:
            try:
                if parse_json(file.readline(_LONGEST_LINE)) != {"home": os.fstat(slots).st_ino}:
                    return []
                lines = iter(lambda: file.readline(_LONGEST_LINE), b"")
                return [BesideStep(*parse_json(line)) for line in lines if line.endswith(b"\n")]
            except (ValueError, TypeError):
                return []  # killed while the plan was written: nothing was done yet

    def _carry_out(self, slots: int, step: BesideStep) -> None:
        with self._parent(step) as (folder, name):
            if step.do == "rmdir":
                _tolerating(errno.ENOTEMPTY, self._calls.rmdir, name, folder)  # somebody else's files are in it
            elif step.do == "remove":
                self._calls.rename(name, folder, step.kept, slots)
            elif step.do == "mkdir":
                mode = step.mode if step.mode == _IMPLIED_FOLDER else step.mode | 0o700
                self._calls.mkdir(name, folder, mode)
            elif step.old is None:
                self._link(step.staged, slots, name, folder)
            else:
                self._link(name, folder, step.kept, slots)
                if _inode_at(slots, step.kept) != step.old:
                    raise Stale("{path}: changed since; nothing was touched.", path=step.path)
                self._calls.rename(step.staged, slots, name, folder)

    def _undo(self, slots: int, step: BesideStep) -> bool:
        """Return whether there was anything to undo."""
        kept = _inode_at(slots, step.kept)
        try:
            with self._parent(step) as (folder, name):
                now = _inode_at(folder, name)
                if step.do == "mkdir":
                    return _is_folder(folder, name) and _tolerating(errno.ENOTEMPTY, self._calls.rmdir, name, folder)
                if step.do == "rmdir":
                    return now is None and _tolerating(None, self._calls.mkdir, name, folder, step.mode)
                if step.old is None:
                    return now == step.new and _tolerating(None, self._calls.unlink, name, folder)
                if kept != step.old or now == step.old:
                    return False
                if now not in (None, step.new):
                    raise Stale("{path}: changed since; nothing was touched.", path=step.path)
                self._calls.rename(step.kept, slots, name, folder)
                return True
        except (FileNotFoundError, PathEscape, AlreadyExists):
            return False  # not even its folder was made

    @contextmanager
    def _parent(self, step: BesideStep) -> Iterator[tuple[int, str]]:
        path = normal_path(step.path)
        with closed_after(self._jail.open_parent(path)) as folder:
            yield folder, path.name

    def _link(self, name: str, folder: int, new_name: str, new_folder: int) -> None:
        """Give a file a second name; where the file system has no hard links, rename it."""
        try:
            self._calls.link(name, folder, new_name, new_folder)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self._calls.rename(name, folder, new_name, new_folder)


def _inode_at(folder: int, name: str) -> int | None:
    found = status_at(folder, name)
    return None if found is None else found.st_ino


def _is_folder(folder: int, name: str) -> bool:
    found = status_at(folder, name)
    return found is not None and stat.S_ISDIR(found.st_mode)


def _tolerating(number: int | None, call: Any, *args: Any) -> bool:
    """Return whether a call succeeded; False where it failed with this error number."""
    try:
        call(*args)
    except OSError as error:
        if error.errno != number:
            raise
        return False
    return True
