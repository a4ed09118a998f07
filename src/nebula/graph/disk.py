"""The data folder: its lock, its journal, and steps that change several files as one.

nodes/ flows/ metadata/ config.yaml     the seed's files, for people and for git
.gitignore .gitattributes               so that git keeps the files and leaves the rest
.state/                                 lock, journal, cache; this machine's business only
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence

from . import files
from .errors import BadFile
from .journal import Journal, Operation, Put, Remove, Step, boot_id, checksum
from .layout import is_path
from .lock import StoreLock

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


class Disk:
    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)
        self._state = os.path.join(self.root, STATE)
        self.lock = StoreLock(os.path.join(self._state, "lock"))
        self.journal = Journal(os.path.join(self._state, "journal"))
        self._temporary = itertools.count()
        self._prepared = False
        self._folders: set[str] = set()

    def path(self, *parts: str) -> str:
        return os.path.join(self.root, *parts)

    def state_path(self, name: str) -> str:
        return os.path.join(self._state, name)

    def temporary(self) -> str:
        return os.path.join(self._state, f"new-{os.getpid()}-{next(self._temporary)}")

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

    def write(self, path: str, data: bytes, *, durable: bool = False) -> None:
        """Replaces one file as a whole, outside of any step."""
        folder = os.path.dirname(self.path(path))
        if folder not in self._folders:
            files.make_folder(folder)
            self._folders.add(folder)
        try:
            files.replace_file(self.path(path), data, self.temporary(), durable=durable)
        except FileNotFoundError:
            # The folder went away under us (a checkout, say).
            files.make_folder(folder)
            files.replace_file(self.path(path), data, self.temporary(), durable=durable)

    def remove(self, path: str) -> None:
        try:
            os.unlink(self.path(path))
        except FileNotFoundError:
            return

    def commit(self, operations: Sequence[Operation]) -> None:
        """Carries out a step; on return it outlives a power cut. Call with the lock held."""
        if Journal.fits(operations):
            if not self.journal.append(operations):
                self.flush()
                self.journal.append(operations)
            self._apply(operations, durable=False)
        else:
            self._apply(operations, durable=True)
            # Nothing to replay, but other processes see by the journal that something happened.
            if not self.journal.append([], durable=False):
                self.flush()

    def _apply(self, operations: Sequence[Operation], *, durable: bool) -> None:
        for op in operations:
            if isinstance(op, Put):
                self.write(op.path, op.data, durable=durable)
            else:
                self.remove(op.path)
                if durable:
                    files.sync_path(os.path.dirname(self.path(op.path)))

    def mark(self) -> object:
        """Something that changes with every step of any process. Reading it needs no lock."""
        return self.journal.mark() if os.path.exists(self.state_path("journal")) else None

    def flush(self) -> None:
        """Brings everything in the journal to its files' place on the disk and empties it; lock held."""
        self._sync(self.journal.steps())
        self.journal.clear()

    def checkpoint(self) -> None:
        """The same with the lock held only for moments, so that writers hardly notice."""
        with self.lock:
            if self.journal.is_empty():
                return
            steps, mark = self.journal.steps(), self.journal.mark()
        self._sync(steps)
        with self.lock:
            if self.journal.mark() != mark:
                self._sync(self.journal.steps()[len(steps) :])
            self.journal.clear()

    def _sync(self, steps: Sequence[Step]) -> None:
        touched = {op.path for step in steps for op in step.operations}
        folders: set[str] = set()
        for path in touched:
            files.sync_path(self.path(path))
            kind, _, _ = path.partition("/")
            files.sync_path(self.path(kind, "index.tsv"))
            folders |= {os.path.dirname(path), kind}
        for folder in folders:
            files.sync_path(self.path(folder))

    def recover(self) -> list[str]:
        """Finishes the steps that a crash left in the journal only; returns the paths they concern.

        Within one run of the machine only the last step can be unfinished. After a restart any file may be as
        it was before; one that matches none of the states the journal knows was edited since and is left alone.
        """
        if not os.path.exists(self.state_path("journal")):
            return []
        with self.lock:
            steps = self.journal.steps()
            if steps and steps[-1].boot == boot_id() != "":
                steps = steps[-1:]
            history: dict[str, list[Operation]] = {}
            for step in steps:
                for op in step.operations:
                    if _is_ours(op.path):
                        history.setdefault(op.path, []).append(op)
            for path, operations in history.items():
                self._finish(path, operations)
            return list(history)

    def _finish(self, path: str, operations: list[Operation]) -> None:
        try:
            current = self.read(path)
        except BadFile:
            return
        known = {op.before for op in operations}
        if not current or checksum(current) in known:
            last = operations[-1]
            if isinstance(last, Remove):
                self.remove(path)
            elif current != last.data:
                self.write(path, last.data)

    def close(self) -> None:
        self.journal.close()
        self.lock.close()


def _is_ours(path: str) -> bool:
    """Paths of a journal are checked like any other: the folder may have come from a stranger."""
    kind, _, rest = path.partition("/")
    return kind in KINDS and is_path(rest, KINDS[kind])
