"""What a commit hands over, until the index has taken it in.

The hook writes one file for each commit and goes on; whoever opens the index next takes the files in. An entry only
says which paths to look at: what is indexed is what the files hold then. So a commit that is given up in the end, or an
entry taken in twice, leaves the index right, and an entry is removed only after its change is in the index.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence

from nebula.files.home import derived_folder
from nebula.files.reading import UnreadableFile, read_below
from nebula.index.constants import MAX_ENTRY_BYTES
from nebula.index.in_step.hook_run import QUEUE_NAME
from nebula.value import value


@value
class Change:
    """One path of a staged change, as `git diff --cached --raw -z -M` writes it."""

    path: str
    moved_from: str = ""


class Queue:
    def __init__(self, root: str, home: str | None = None) -> None:
        self.folder = os.path.join(derived_folder(root, home), QUEUE_NAME)

    def entries(self) -> list[str]:
        """Return the names of what waits, the oldest first."""
        try:
            return sorted(name for name in os.listdir(self.folder) if not name.startswith("."))
        except FileNotFoundError:
            return []

    def add(self, paths: Sequence[str]) -> None:
        """Files that somebody else than a commit changed."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        name = f"{time.time_ns()}-{os.getpid()}"
        unfinished = os.path.join(self.folder, f".new-{name}")
        with open(unfinished, "wb") as file:
            for path in paths:
                file.write(b":000000 000000 0 0 M\0%b\0" % os.fsencode(path))
        os.rename(unfinished, os.path.join(self.folder, name))

    def read(self, entry: str) -> list[Change]:
        """Return the changes of an entry; none where it cannot be read: `sync` finds them all the same."""
        try:
            data = read_below(self.folder, entry, MAX_ENTRY_BYTES)
        except UnreadableFile:
            return []
        return parse_changes(data or b"")

    def remove(self, entry: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.folder, entry))


def parse_changes(data: bytes) -> list[Change]:
    """Return the changes in lines such as `:100644 100644 <old> <new> M\\0path\\0`, where a rename has two paths. What
    is cut off or odd is left out."""
    fields = data.split(b"\0")
    changes = []
    at = 0
    while at + 1 < len(fields):
        about = fields[at].split(b" ")
        if len(about) != 5 or not about[4]:
            break
        status = about[4][:1]
        first = os.fsdecode(fields[at + 1])
        if status in b"RC" and at + 2 < len(fields):
            changes.append(Change(os.fsdecode(fields[at + 2]), first if status == b"R" else ""))
            at += 3
        else:
            changes.append(Change(first))
            at += 2
    return changes
