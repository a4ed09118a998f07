"""Read a journal without changing it: nothing is created, set aside or repaired, and a stranger's journal is
ignored."""

from __future__ import annotations

import os
from typing import Final

from nebula.files.beneath import FILE_FLAGS, FOLDER_FLAGS, open_by_walking
from nebula.files.descriptors import ClosedByBlock, closed_after
from nebula.files.digest import digest
from nebula.files.reading import read_all
from nebula.workspace.journal.changes import (
    CHANGES_FILE,
    HEADER_ROOM,
    RecordedChange,
    header_of,
    read_records,
    replay_records,
)
from nebula.workspace.journal.objects import read_object
from nebula.workspace.journal.states import content_name
from nebula.workspace.state_folder import STATE_DIR

_ANCHOR: Final = 256
_LONGEST_RECORD: Final = 1 << 16


def name_turn(group: str) -> str:
    """Return a name for a turn that no path can have."""
    return f"\0{group}"


class JournalReader(ClosedByBlock):
    """The journal of the project at `root`; empty where no journal was made there."""

    def __init__(self, root: str) -> None:
        self._changes_fd = self._objects_fd = -1
        with closed_after(os.open(os.path.realpath(root), FOLDER_FLAGS)) as root_fd:
            try:
                self._open(root_fd)
            except OSError:  # there is none, or something else has its name
                self.close()

    def _open(self, root_fd: int) -> None:
        with closed_after(open_by_walking(root_fd, (STATE_DIR, "journal"), FOLDER_FLAGS)) as folder_fd:
            self._changes_fd = os.open(CHANGES_FILE, FILE_FLAGS, dir_fd=folder_fd)
            if os.pread(self._changes_fd, HEADER_ROOM, 0).partition(b"\n")[0] == header_of(folder_fd):
                self._objects_fd = os.open("objects", FOLDER_FLAGS, dir_fd=folder_fd)
            else:
                self.close()

    def close(self) -> None:
        for fd in (self._changes_fd, self._objects_fd):
            if fd != -1:
                os.close(fd)
        self._changes_fd = self._objects_fd = -1

    def end(self) -> int:
        """Return the position of the next record; 0 without a journal."""
        return os.fstat(self._changes_fd).st_size if self._changes_fd != -1 else 0

    def changes(self, start: int = 0) -> list[RecordedChange]:
        """Return the changes at `start` or after it, oldest first."""
        if self._changes_fd == -1:
            return []
        os.lseek(self._changes_fd, start, os.SEEK_SET)
        content = read_all(self._changes_fd, max(0, self.end() - start))
        entries = replay_records(read_records(content, start)).values()
        return [entry for entry in entries if isinstance(entry, RecordedChange)]

    def touched_since(self, start: int) -> tuple[dict[str, int], int]:
        """Return, with the position of its last record, each path and each turn (`name_turn`) that a record at `start`
        or after it names; and the position of the next record. A cancelled change names its path, too."""
        if self._changes_fd == -1:
            return {}, 0
        content = os.pread(self._changes_fd, max(0, self.end() - start), start)
        found: dict[str, int] = {}
        for place, record in read_records(content, start):
            of = record.get("of")
            told = self._record_at(of) if record.get("kind") == "abort" and isinstance(of, int) else record
            if isinstance(path := told.get("path"), str):
                found[path] = found[name_turn(str(told.get("author") or told.get("group", "")))] = place
        return found, start + content.rfind(b"\n") + 1

    def anchor(self, place: int) -> str:
        """Return a text that identifies the journal up to a position."""
        if self._changes_fd == -1:
            return ""
        before = os.pread(self._changes_fd, _ANCHOR, max(0, place - _ANCHOR))[: place if place < _ANCHOR else _ANCHOR]
        return f"{os.fstat(self._changes_fd).st_ino} {digest(before)}"

    def _record_at(self, place: int) -> dict[str, object]:
        line = os.pread(self._changes_fd, _LONGEST_RECORD, place) if 0 <= place < self.end() else b""
        return next((record for _, record in read_records(line[: line.find(b"\n") + 1])), {})

    def content(self, state: str, *, check: bool = True) -> bytes | None:
        """Return the content of a state; None where it was not kept or, with `check`, is damaged."""
        return read_object(self._objects_fd, content_name(state) or "", check=check) if self._objects_fd != -1 else None
