"""What is known of a project's files: from its journal, and from the files as they are now."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from nebula.blame.reflog import carried_times, seconds
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.journal.changes import RecordedChange
from nebula.workspace.journal.objects import KEPT_BYTES
from nebula.workspace.journal.reader import JournalReader
from nebula.workspace.reading import ReadingWorkspace

MOST_OF_FILE = KEPT_BYTES
"""Bytes; of larger files no turn changes any."""


class JournalHistory:
    """Implements `blame.fold.History`. Reads only; what is not asked for is not read."""

    def __init__(self, workspace: ReadingWorkspace, journal: JournalReader) -> None:
        self._workspace = workspace
        self._journal = journal

    def paths(self) -> Sequence[str]:
        return list(self._by_path)

    def changes(self, path: str) -> Sequence[RecordedChange]:
        return self._by_path.get(path, ())

    def changes_of(self, group: str) -> Sequence[RecordedChange]:
        return self._by_group.get(group, ())

    def content(self, state: str) -> bytes | None:
        # Damage shows as lines of somebody else, and nothing is written from it; checking each one takes half the time.
        return self._journal.content(state, check=False)

    def now(self, path: str) -> bytes | None:
        """Return a file as it is; None where there is none, and for what is secret or reached through a link."""
        try:
            if self._workspace.resolve(path) != path:
                return None
            return self._workspace.read_bytes(path, MOST_OF_FILE)
        except WorkspaceError:
            return None

    def was_carried(self, since: str, until: str | None) -> bool:
        if not since:
            return False
        first = int(seconds(since))  # git counts whole seconds
        last = seconds(until) if until is not None else float("inf")
        return any(first <= each <= last for each in self._carried)

    @cached_property
    def _carried(self) -> list[int]:
        return carried_times(self._workspace.root)

    @cached_property
    def _changes(self) -> list[RecordedChange]:
        return self._journal.changes()

    @cached_property
    def _by_path(self) -> dict[str, list[RecordedChange]]:
        found: dict[str, list[RecordedChange]] = {}
        for change in self._changes:
            found.setdefault(change.path, []).append(change)
        return found

    @cached_property
    def _by_group(self) -> dict[str, list[RecordedChange]]:
        found: dict[str, list[RecordedChange]] = {}
        for change in self._changes:
            found.setdefault(change.group, []).append(change)
        return found
