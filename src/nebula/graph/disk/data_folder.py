"""The data folder: its lock, and steps that change several files as one.

nodes/ flows/ metadata/ config.yaml     the seed's files, for people and for git
.gitignore .gitattributes               so that git keeps the files and leaves the rest
.state/                                 the lock and the step under way, for all who write here at once

What is derived from them (the node index, marks) lies in the user's home: see `DataFolder.derived`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from nebula.files.flushing import flush_together
from nebula.files.home import derived_folder
from nebula.files.reading import read_limited
from nebula.files.syscalls import REAL
from nebula.graph.disk.files import STATE, Files
from nebula.graph.disk.numbered_paths import KINDS
from nebula.graph.disk.step import Move, Operation, Put, Remove, StepFile
from nebula.graph.errors import BadFile

_GIT_IGNORE = f"/{STATE}/\n"
_GIT_ATTRIBUTES = """\
* -text
/nodes/index.tsv merge=union
/flows/index.tsv merge=union
/metadata/*.yaml merge=union
/nodes/*/*.xml conflict-marker-size=32 merge=nebula-graph
/flows/*/*.yaml conflict-marker-size=32 merge=nebula-graph
"""
_MAX_RULES = 1 << 20
_MAX_FILE = 512 * 1024 * 1024


class StoreLock:
    """Lets one write at a time, among the threads of a process and the processes of a machine. Re-entrant. The lock
    file stays where it is: removing it would split the lock."""

    def __init__(self, open_file: Callable[[], int]) -> None:
        self._open_file = open_file
        self.threads = threading.RLock()
        """The part of the lock that concerns this process: enough for reading what only we keep in memory."""
        self.depth = 0
        """How often the thread that holds it has taken it."""
        self._handle = -1

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        with self.threads:
            if self.depth == 0:
                if self._handle < 0:
                    self._handle = self._open_file()
                fcntl.flock(self._handle, fcntl.LOCK_EX)
            self.depth += 1
            try:
                yield
            finally:
                self.depth -= 1
                if self.depth == 0:
                    fcntl.flock(self._handle, fcntl.LOCK_UN)

    def close(self) -> None:
        with self.threads:
            if self._handle >= 0 and self.depth == 0:
                os.close(self._handle)
                self._handle = -1


class DataFolder(Files):
    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.lock = StoreLock(lambda: self.open_state("lock"))
        self.step_file = StepFile(self)
        self.finish_step: Callable[[], object] = self.redo_step
        """Finishes what somebody died in the middle of; the store adds what it keeps beside the files of a step."""
        self._prepared = False
        self._derived = ""

    @property
    def derived(self) -> str:
        """The folder, in the user's home, for what can be thrown away; nothing derived is read from the project."""
        if not self._derived:
            self._derived = derived_folder(self.root)
        return self._derived

    def look(self) -> bool:
        changed = super().look()
        if changed:
            self._prepared = False
            self.lock.close()
        return changed

    def prepare(self) -> None:
        """Make the folder ready for writing, once."""
        self.look()
        if self._prepared:
            return
        self.make()
        with self.lock.held():
            for name in KINDS:
                self.make_folder(name)
            self._make_ours(".gitignore", _GIT_IGNORE)
            self._make_ours(".gitattributes", _GIT_ATTRIBUTES)
        self._prepared = True

    def _make_ours(self, name: str, rules: str) -> None:
        """Let our rules have the last word in a file for git, whatever stands in it: a clone may bring others."""
        with contextlib.suppress(BadFile):  # no file at all: git reads none there either
            lines = (self.read(name, _MAX_RULES) or b"").decode("utf-8", "replace").splitlines()
            others = [line for line in lines if line not in rules.splitlines()]
            text = "".join(f"{line}\n" for line in others) + rules
            if lines != text.splitlines():
                self.replace(name, text.encode("utf-8"))

    def can_write(self) -> bool:
        """True where somebody has written before and we may as well; a folder that was only read stays as it is."""
        found = self.status(STATE)
        return found is not None and os.access(STATE, os.W_OK, dir_fd=self.folder.fd)

    def read(self, path: str, limit: int = _MAX_FILE) -> bytes | None:
        try:
            return self.load(path, limit)[0]
        except FileNotFoundError:
            return None

    @contextlib.contextmanager
    def commit(self, operations: Sequence[Operation]) -> Iterator[None]:
        """Carry out a step: all of it, or none and an exception. Inside it is done and outlives a power cut; there the
        caller writes what is kept beside the files (lines of an index, say). Whoever comes after one that died before
        the end does all of that once more. Call with the lock held."""
        moves: list[Move] = []
        old: dict[str, int] = {}
        self.step_file.write([])
        try:
            for op in sorted(operations, key=_place_in_step):
                staged = ""
                if isinstance(op, Put):
                    with self.as_bad_file(op.path):
                        staged = self.state.write_new(op.data, self.mode_of(op.path), durable=False)
                moves.append(Move(op.path, self.signature(op.path), staged))
            flush_together(self.state, [move.staged for move in moves if move.staged], REAL.fsync)
            self.step_file.write(moves)
            for move in moves:
                # To read it as well, in case it has to come back, costs a tenth of an append to a long flow.
                old[move.path] = self.open(move.path) if move.before else -1
                self.move_in(move.staged, move.path)
            flush_together(self.folder, _folders_of(moves), REAL.fsync_dir)
        except BaseException:
            self._take_back(old)
            raise
        finally:
            for handle in old.values():
                if handle >= 0:
                    os.close(handle)
        yield
        with contextlib.suppress(OSError):  # whoever comes next finds nothing left to do
            self.step_file.write(None)

    def _take_back(self, old: dict[str, int]) -> None:
        """Put back what the files held, by path and descriptor. Where that fails, too, the step stays written down:
        whoever comes next finishes it."""
        for path, handle in reversed(old.items()):
            if handle < 0:
                self.remove(path)
                continue
            content = read_limited(handle, path, _MAX_FILE)
            if self.read(path) != content:
                self.replace(path, content, durable=True)
        flush_together(self.folder, _folders_of(old.items()), REAL.fsync_dir)
        self.step_file.clear()

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the lock, with what the holder before left in the middle finished."""
        with self.lock.held():
            if self.lock.depth == 1 and self.step_file.is_there():
                self.finish_step()
                self.step_file.clear()
            yield

    def redo_step(self) -> list[str]:
        """Finish the step that somebody died in the middle of; return the paths it concerns. A file that is neither as
        it was before nor as it should be was edited since and is left alone. Call with the lock held."""
        moves = self.step_file.read()
        for move in moves:
            with contextlib.suppress(BadFile):
                is_waiting = not move.staged or self.signature(f"{STATE}/{move.staged}") is not None
                if is_waiting and self.signature(move.path) == move.before:
                    self.move_in(move.staged, move.path)
        flush_together(self.folder, _folders_of(moves), REAL.fsync_dir)
        return [move.path for move in moves]

    def close(self) -> None:
        self.lock.close()
        self._let_go()
        self._derived = ""


def _folders_of(steps: Iterable[tuple[str, *tuple[Any, ...]]]) -> list[str]:
    """Return the folders in which files came or went, for tuples that begin with a path."""
    return [path.rpartition("/")[0] for path, *_ in steps]


def _place_in_step(op: Operation) -> int:
    """Nodes come before the flows that name them, and go after them."""
    if isinstance(op, Remove):
        return 2
    return 0 if op.path.startswith("nodes/") else 1
