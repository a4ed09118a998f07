"""The data folder: its lock, its journal, and steps that change several files as one.

nodes/ flows/ metadata/ config.yaml     the seed's files, for people and for git
.gitignore .gitattributes               so that git keeps the files and leaves the rest
.state/                                 lock and journal, for all who write here at once

What is derived from them (the node index, marks) lies in the user's home: see `DataFolder.derived`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from nebula.files.home import derived_folder
from nebula.graph.disk.files import STATE, Files
from nebula.graph.disk.journal import Extend, Journal, JournalStep, Operation, Put, Remove, boot_id, checksum
from nebula.graph.disk.lock import StoreLock
from nebula.graph.disk.numbered_paths import KINDS
from nebula.graph.errors import BadFile

_GIT_IGNORE = f"/{STATE}/\n"
_GIT_ATTRIBUTES = """\
/nodes/index.tsv merge=union
/flows/index.tsv merge=union
/metadata/*.yaml merge=union
/nodes/*/*.xml conflict-marker-size=32
/flows/*/*.yaml conflict-marker-size=32
"""
_BLOCK = 512
"""The disk writes no less at once."""
_MAX_FILE = 512 * 1024 * 1024


class DataFolder(Files):
    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.lock = StoreLock(lambda: self.open_state("lock", create=True))
        self.journal = Journal(self, self.lock)
        self.write_extended: Callable[[set[str]], None] = _nothing_to_write
        """Writes the flows at these paths with what the journal adds to them; set by the flow files."""
        self.finish_step: Callable[[], object] = self.recover
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
            self.journal.close()
            self.lock.close()
        return changed

    def prepare(self) -> None:
        """Makes the folder ready for writing, once."""
        self.look()
        if self._prepared:
            return
        self.make()
        with self.lock:
            for name in KINDS:
                self.make_folder(name)
            for name, text in ((".gitignore", _GIT_IGNORE), (".gitattributes", _GIT_ATTRIBUTES)):
                if not self.exists(name):
                    self.replace(name, text.encode("utf-8"))
        self._prepared = True

    def can_write(self) -> bool:
        """True when there is a journal and it may be written; a folder that was only read has nothing to recover."""
        return self.signature(f"{STATE}/journal") is not None and os.access(
            f"{STATE}/journal", os.W_OK, dir_fd=self.folder.fd
        )

    def read(self, path: str, limit: int = _MAX_FILE) -> bytes | None:
        try:
            return self.load(path, limit)[0]
        except FileNotFoundError:
            return None

    @contextlib.contextmanager
    def commit(self, operations: Sequence[Operation]) -> Iterator[None]:
        """Carries out a step: all of it, or none and an exception. Inside it is done and outlives a power cut; there
        the caller writes what is kept beside the files (lines of an index, say). Whoever comes after one that died
        before the end does all of that once more. Call with the lock held."""
        if self._replaces_extended(operations):
            raise RuntimeError("a flow with additions in the journal must be flushed before it is replaced")
        if not self.journal.append(operations):
            self.flush()
            self.journal.append(operations)
        undo: list[tuple[str, bytes | None]] = []
        try:
            for op in operations:
                if isinstance(op, Extend):
                    continue
                is_new = op.before == -1
                undo.append((op.path, None if is_new else self.read(op.path)))
                if isinstance(op, Put):
                    self.replace(op.path, op.data, is_new=is_new)
                else:
                    self.remove(op.path)
        except BaseException:
            self._take_back(undo)
            raise
        yield
        self.lock.leave_note(bytes(self.journal.mark()))

    def _replaces_extended(self, operations: Sequence[Operation]) -> bool:
        extended = self.journal.extended()
        return any(op.path in extended for op in operations if not isinstance(op, Extend))

    def _take_back(self, undo: list[tuple[str, bytes | None]]) -> None:
        try:
            for path, content in reversed(undo):
                if content is None:
                    self.remove(path)
                else:
                    self.replace(path, content)
        finally:
            self.journal.retract()
            with contextlib.suppress(OSError):  # the first error is the one to report
                self.flush(anyway=True)

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """The lock, with the journal looked at once, and what the holder before left in the middle finished."""
        with self.lock:
            if self.lock.depth == 1:
                self.journal.look()
                if self.journal.outline() and not self.lock.note.startswith(bytes(self.journal.mark())):
                    self.finish_step()
                    self.lock.leave_note(bytes(self.journal.mark()))
            yield

    def flush(self, *, anyway: bool = False) -> None:
        """Brings everything in the journal to its files' place on the disk and empties it; lock held. `anyway`: an
        empty one begins anew as well, so that whoever has seen a step that was taken back looks again."""
        steps = list(self.journal.outline())
        if steps or anyway:
            self.write_extended(_extended(steps))
            self._sync(steps)
            self.journal.drop(len(steps))

    def checkpoint(self) -> None:
        """The same with the lock held only for moments, so that writers hardly notice."""
        if not self.can_write():
            return
        with self.exclusive():
            steps, epoch = list(self.journal.outline()), self.journal.mark().epoch
            if not steps:
                return
            self.write_extended(_extended(steps))
        self._sync(steps)
        with self.exclusive():
            if self.journal.mark().epoch == epoch:
                self.journal.drop(len(steps))
                self.lock.leave_note(bytes(self.journal.mark()))

    def _sync(self, steps: Iterable[JournalStep]) -> None:
        touched = {op.path for step in steps for op in step.operations}
        kinds = {path.partition("/")[0] for path in touched}
        folders = {os.path.dirname(path) for path in touched} | kinds
        paths = [*sorted(touched), *(f"{kind}/index.tsv" for kind in sorted(kinds)), *sorted(folders)]
        self.sync(paths)

    def recover(self) -> list[str]:
        """Finishes the steps that a crash left in the journal only; returns the paths they concern.

        Within one run of the machine only the last step can be unfinished. After a restart any file may be as
        it was before; one that matches none of the states the journal knows was edited since and is left alone.
        """
        if not self.journal.outline() or not self.can_write():
            return []
        with self.exclusive():
            steps = self.journal.steps()
            restarted = not steps or steps[-1].boot != boot_id() or not steps[-1].boot
            history: dict[str, list[Put | Remove]] = {}
            for step in steps if restarted else steps[-1:]:
                for op in step.operations:
                    if not isinstance(op, Extend):
                        history.setdefault(op.path, []).append(op)
            for path, operations in history.items():
                self._finish(path, operations)
            if restarted:
                with contextlib.suppress(BadFile):  # reported to whoever asks for that flow
                    self.flush()
            return list(history)

    def _finish(self, path: str, operations: list[Put | Remove]) -> None:
        try:
            current = self.read(path) or b""
        except BadFile:
            return
        written = [op.data for op in operations if isinstance(op, Put)]
        states = {op.before for op in operations} | {checksum(data) for data in written}
        if checksum(current) in states or any(_is_torn(current, data) for data in written) or not current:
            last = operations[-1]
            if isinstance(last, Remove):
                self.remove(path)
            elif current != last.data:
                self.replace(path, last.data)

    def close(self) -> None:
        self.journal.close()
        self.lock.close()
        self._let_go()
        self._derived = ""


def _is_torn(current: bytes, data: bytes) -> bool:
    """True for what a power cut can leave of a file that was just written: parts of it, the rest missing or zeros.
    No editor leaves that."""
    if len(current) > len(data):
        return False
    blocks = range(0, len(current), _BLOCK)
    return all(
        (block := current[at : at + _BLOCK]) == data[at : at + len(block)] or not block.strip(b"\0") for at in blocks
    )


def _extended(steps: Iterable[JournalStep]) -> set[str]:
    return {op.path for step in steps for op in step.operations if isinstance(op, Extend)}


def _nothing_to_write(_paths: set[str]) -> None:
    """Stands in until a flow store says how."""
