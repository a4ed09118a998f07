"""What an answer was worked out from, so that one kept from before is known to hold still.

A file counts as unchanged while its time, its size and its inode are. One that changed a moment ago may change again
within the same tick of the clock, so nothing is kept that rests on it.
"""

from __future__ import annotations

import os
import time
from typing import Any, Final

from nebula.blame.reflog import changed_files
from nebula.git import GitFailed, git_setting
from nebula.value import field, record

_TICK_NS: Final = 30_000_000

Signature = list[int] | None
"""Time of change, size and inode; None: there is nothing."""


def sign(path: str) -> Signature:
    """Return the signature of a file or directory, links not followed."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return [found.st_mtime_ns, found.st_size, found.st_ino]


@record
class Basis:
    """The files, paths and facts that an answer rests on, beside the file itself and the journal's records of it."""

    files: dict[str, Signature] = field(default_factory=dict)
    """By absolute path, from before they were read."""
    touched: dict[str, int] = field(default_factory=dict)
    """Other paths, and turns, with the place of the journal's newest record about each."""
    journal_end: int | None = None
    """Set where the changes of all files were looked at."""
    email: str | None = None
    """Of the user, where git's authors were compared with it."""
    changed: dict[str, list[str]] = field(default_factory=dict)
    """By project: the files that are not as the last commit has them, where lines were looked for in these."""

    def look_at(self, *paths: str) -> None:
        """Note files that are about to be read; the first look at each counts."""
        for path in paths:
            if path not in self.files:
                self.files[path] = sign(path)

    def look_into(self, folder: str) -> None:
        """Note a directory of numbered directories: what comes into one of them, or goes."""
        self.look_at(folder)
        try:
            names = [name for name in os.listdir(folder) if name.isdigit()]
        except OSError:
            return
        self.look_at(*(os.path.join(folder, name) for name in names))

    def rest_on(self, other: Basis) -> None:
        """Take in what another answer was worked out from."""
        self.files = other.files | self.files
        self.touched = other.touched | self.touched
        self.journal_end = other.journal_end if self.journal_end is None else self.journal_end
        self.email = other.email if self.email is None else self.email
        self.changed = other.changed | self.changed

    def holds(self, journal_end: int) -> bool:
        """Return True if all of it is as it was, but for the journal's records, which are not looked at here."""
        if self.journal_end not in (None, journal_end) or self.email not in (None, own_address()):
            return False
        if not all(sign(path) == known for path, known in self.files.items()):
            return False
        return all(changed_files(root) == known for root, known in self.changed.items())

    @property
    def is_settled(self) -> bool:
        """True when nothing of it changed within the last moment."""
        now = time.time_ns()
        return all(each is None or abs(now - each[0]) > _TICK_NS for each in self.files.values())

    def to_json(self) -> list[Any]:
        return [self.files, self.touched, self.journal_end, self.email, self.changed]


def own_address() -> str:
    """Return the address that the environment sets for commits."""
    return os.environ.get("GIT_AUTHOR_EMAIL", "")


def own_email(root: str) -> str | None:
    """Return the address under which the user commits here; None where it is not configured."""
    try:
        return own_address() or git_setting(root, "user.email")
    except GitFailed:
        return None
