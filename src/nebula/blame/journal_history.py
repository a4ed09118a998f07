"""What is known of a project's files: from its journal, and from the files as they are now."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property

from nebula.blame.kept.basis import Basis, sign
from nebula.blame.reflog import carried_times, find_logs, seconds
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.journal.changes import RecordedChange
from nebula.workspace.journal.objects import KEPT_BYTES
from nebula.workspace.journal.reader import JournalReader, name_turn
from nebula.workspace.reading import ReadingWorkspace

MOST_OF_FILE = KEPT_BYTES
"""Bytes; of larger files no turn changes any."""


class JournalHistory:
    """Implements `blame.fold.History`. Reads only; what is not asked for is not read, and what is, is noted in
    `basis`."""

    def __init__(self, workspace: ReadingWorkspace, journal: JournalReader, basis: Basis) -> None:
        self._workspace = workspace
        self._journal = journal
        self._basis = basis
        self._end = 0

    def paths(self, end: int) -> Sequence[str]:
        found = [path for path, changes in self._by_path.items() if changes[0].seq < end]
        if end > self._end:  # one more may come
            self._basis.journal_end = self._end
        return found

    def changes(self, path: str) -> Sequence[RecordedChange]:
        return self._by_path.get(path, ())

    def changes_of(self, turn: str) -> Sequence[RecordedChange]:
        self._note_touched(name_turn(turn), self._by_turn.get(turn, ()))
        return self._by_turn.get(turn, ())

    def content(self, state: str) -> bytes | None:
        # Damage shows as lines of somebody else, and nothing is written from it; checking each one takes half the time.
        return self._journal.content(state, check=False)

    def now(self, path: str) -> bytes | None:
        """Return a file as it is; None where there is none, and for what is secret or reached through a link."""
        self._note_touched(path, self.changes(path))
        self._basis.look_at(os.path.join(self._workspace.root, path))
        try:
            if self._workspace.resolve(path) != path:
                return None
            return self._workspace.read_bytes(path, MOST_OF_FILE)
        except WorkspaceError:
            return None

    def changed_at(self, path: str) -> float:
        """Return when a file was changed last, in seconds; 0 where there is none."""
        signature = sign(os.path.join(self._workspace.root, path))
        return signature[0] / 1e9 if signature is not None else 0.0

    def has_turn(self, turn: str) -> bool:
        """Return True if the journal has a change of a turn. A node is made when its turn is over: that stays so."""
        return turn in self._by_turn

    def _note_touched(self, name: str, changes: Sequence[RecordedChange]) -> None:
        self._basis.touched[name] = changes[-1].seq if changes else -1

    def was_carried(self, since: str, until: str | None) -> bool:
        if not since:
            return False
        first = int(seconds(since))  # git counts whole seconds
        last = seconds(until) if until is not None else float("inf")
        return any(first <= each <= last for each in self._carried)

    @cached_property
    def began(self) -> float:
        """When a turn first changed a file of the project, in seconds."""
        return seconds(self._changes[0].ts) if self._changes else 0.0

    @cached_property
    def _carried(self) -> list[int]:
        self._basis.look_at(*find_logs(self._workspace.root))
        return carried_times(self._workspace.root)

    @cached_property
    def _changes(self) -> list[RecordedChange]:
        self._end = self._journal.end()
        return self._journal.changes()

    @cached_property
    def _by_path(self) -> dict[str, list[RecordedChange]]:
        found: dict[str, list[RecordedChange]] = {}
        for change in self._changes:
            found.setdefault(change.path, []).append(change)
        return found

    @cached_property
    def _by_turn(self) -> dict[str, list[RecordedChange]]:
        found: dict[str, list[RecordedChange]] = {}
        for change in self._changes:
            found.setdefault(change.turn, []).append(change)
        return found
