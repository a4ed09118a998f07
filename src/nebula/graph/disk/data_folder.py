"""The data folder: its lock, its journal, and steps that change several files as one.

nodes/ flows/ metadata/ config.yaml     the seed's files, for people and for git
.gitignore .gitattributes               so that git keeps the files and leaves the rest
.state/                                 lock, journal, cache; this machine's business only
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from nebula.graph.disk import files
from nebula.graph.disk.journal import Extend, Journal, Operation, Put, Remove, Step, boot_id, checksum
from nebula.graph.disk.lock import StoreLock
from nebula.graph.disk.numbered_paths import is_path
from nebula.graph.errors import BadFile

STATE = ".state"
KINDS = {"nodes": "xml", "flows": "yaml"}
_GIT_IGNORE = f"/{STATE}/\n"
_GIT_ATTRIBUTES = """\
/nodes/index.tsv merge=union
/flows/index.tsv merge=union
/metadata/*.yaml merge=union
/nodes/*/*.xml conflict-marker-size=32
/flows/*/*.yaml conflict-marker-size=32
"""
_MAX_FILE = 512 * 1024 * 1024


class DataFolder:
    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)
        self._state = os.path.join(self.root, STATE)
        self.lock = StoreLock(os.path.join(self._state, "lock"))
        self.journal = Journal(os.path.join(self._state, "journal"))
        self.write_extended: Callable[[set[str]], None] = _nothing_to_write
        """Writes the flows at these paths with what the journal adds to them; set by the flow store."""
        self._temporary = itertools.count()
        self._prepared = False
        self._folders: set[str] = set()

    def path(self, *parts: str) -> str:
        return "/".join((self.root, *parts))

    def state_path(self, name: str) -> str:
        return os.path.join(self._state, name)

    def _new_file(self) -> str:
        return os.path.join(self._state, f"new-{os.getpid()}-{next(self._temporary)}")

    def can_keep_state(self) -> bool:
        """Makes the folder for this machine's own files if it can; False in a place that cannot be written."""
        try:
            if files.make_folder(self._state) and not os.path.lexists(self.path(".gitignore")):
                self.write(".gitignore", _GIT_IGNORE.encode("utf-8"))
        except (OSError, BadFile):
            return False
        return os.access(self._state, os.W_OK)

    def prepare(self) -> None:
        """Makes the folder ready for writing, once."""
        if self._prepared:
            return
        os.makedirs(self.root, exist_ok=True)
        files.make_folder(self._state)
        with self.lock:
            for name in KINDS:
                files.make_folder(self.path(name))
            for name, text in ((".gitignore", _GIT_IGNORE), (".gitattributes", _GIT_ATTRIBUTES)):
                if not os.path.lexists(self.path(name)):
                    self.write(name, text.encode("utf-8"))
            self._sweep()
        self._prepared = True

    def _sweep(self) -> None:
        """Takes away what a killed writer left unfinished; we hold the lock, so nobody is writing."""
        for name in os.listdir(self._state):
            if name.startswith("new-"):
                os.unlink(os.path.join(self._state, name))

    def read(self, path: str, limit: int = _MAX_FILE) -> bytes | None:
        try:
            return files.read_file(self.path(path), limit)[0]
        except FileNotFoundError:
            return None

    def write(self, path: str, data: bytes, *, durable: bool = False, is_new: bool = False) -> None:
        """Replaces one file as a whole, outside of any step."""
        full = self.path(path)
        folder = os.path.dirname(full)
        if folder not in self._folders:
            files.make_folder(folder)
            self._folders.add(folder)
        try:
            files.replace_file(full, data, self._new_file(), durable=durable, is_new=is_new)
        except FileNotFoundError:
            # The folder went away under us (a checkout, say).
            files.make_folder(folder)
            files.replace_file(full, data, self._new_file(), durable=durable, is_new=is_new)

    def remove(self, path: str) -> None:
        try:
            os.unlink(self.path(path))
        except FileNotFoundError:
            return

    def commit(self, operations: Sequence[Operation]) -> None:
        """Carries out a step: all of it, or none and an exception. On return it outlives a power cut. Call with the
        lock held."""
        if self._replaces_extended(operations):
            raise RuntimeError("a flow with additions in the journal must be flushed before it is replaced")
        fits = Journal.fits(operations)
        # A step too large to journal leaves an empty record: other processes see that something happened.
        recorded = operations if fits else []
        if not self.journal.append(recorded, durable=fits):
            self.flush()
            self.journal.append(recorded, durable=fits)
        try:
            self._apply(operations, durable=not fits)
        except BaseException:
            self.journal.retract()
            with contextlib.suppress(OSError):  # the first error is the one to tell
                self.flush()
            raise

    def _replaces_extended(self, operations: Sequence[Operation]) -> bool:
        extended = self.journal.extended()
        return any(op.path in extended for op in operations if not isinstance(op, Extend))

    def _apply(self, operations: Sequence[Operation], *, durable: bool) -> None:
        undo: list[tuple[str, bytes | None]] = []
        try:
            for op in operations:
                if isinstance(op, Extend):
                    continue
                undo.append((op.path, None if op.before == -1 else self.read(op.path)))
                if isinstance(op, Put):
                    self.write(op.path, op.data, durable=durable, is_new=op.before == -1)
                else:
                    self.remove(op.path)
                    if durable:
                        files.sync_path(os.path.dirname(self.path(op.path)))
        except BaseException:
            for path, content in reversed(undo):
                if content is None:
                    self.remove(path)
                else:
                    self.write(path, content)
            raise

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """The lock, with the journal looked at once."""
        with self.lock, self.journal.held():
            yield

    def flush(self) -> None:
        """Brings everything in the journal to its files' place on the disk and empties it; lock held."""
        steps = list(self.journal.outline())
        if steps:
            self.write_extended(_extended(steps))
            self._sync(steps)
            self.journal.drop(len(steps))

    def checkpoint(self) -> None:
        """The same with the lock held only for moments, so that writers hardly notice."""
        with self.exclusive():
            steps, epoch = list(self.journal.outline()), self.journal.mark().epoch
            if not steps:
                return
            self.write_extended(_extended(steps))
        self._sync(steps)
        with self.exclusive():
            if self.journal.mark().epoch == epoch:
                self.journal.drop(len(steps))

    def _sync(self, steps: Iterable[Step]) -> None:
        touched = {op.path for step in steps for op in step.operations}
        kinds = {path.partition("/")[0] for path in touched}
        folders = {os.path.dirname(path) for path in touched} | kinds
        paths = [*sorted(touched), *(f"{kind}/index.tsv" for kind in sorted(kinds)), *sorted(folders)]
        files.sync_paths([self.path(path) for path in paths])

    def recover(self) -> list[str]:
        """Finishes the steps that a crash left in the journal only; returns the paths they concern.

        Within one run of the machine only the last step can be unfinished. After a restart any file may be as
        it was before; one that matches none of the states the journal knows was edited since and is left alone.
        """
        if not self.journal.outline() or not os.access(self._state, os.W_OK):
            return []
        with self.exclusive():
            steps = self.journal.steps()
            restarted = not steps or steps[-1].boot != boot_id() or not steps[-1].boot
            history: dict[str, list[Put | Remove]] = {}
            for step in steps if restarted else steps[-1:]:
                for op in step.operations:
                    if not isinstance(op, Extend) and _is_ours(op.path):
                        history.setdefault(op.path, []).append(op)
            for path, operations in history.items():
                self._finish(path, operations)
            if restarted:
                with contextlib.suppress(BadFile):  # told by whoever asks for that flow
                    self.flush()
            return list(history)

    def _finish(self, path: str, operations: list[Put | Remove]) -> None:
        try:
            current = self.read(path)
        except BadFile:
            return
        states = {op.before for op in operations} | {checksum(op.data) for op in operations if isinstance(op, Put)}
        if not current or checksum(current) in states:
            last = operations[-1]
            if isinstance(last, Remove):
                self.remove(path)
            elif current != last.data:
                self.write(path, last.data)

    def close(self) -> None:
        self.journal.close()
        self.lock.close()


def _extended(steps: Iterable[Step]) -> set[str]:
    return {op.path for step in steps for op in step.operations if isinstance(op, Extend) and _is_ours(op.path)}


def _is_ours(path: str) -> bool:
    """Paths of a journal are checked like any other: the folder may have come from a stranger."""
    kind, _, rest = path.partition("/")
    return kind in KINDS and is_path(rest, KINDS[kind])


def _nothing_to_write(_paths: set[str]) -> None:
    """Stands in until a flow store says how."""
