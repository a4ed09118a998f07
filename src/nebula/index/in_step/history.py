"""What was said of files when they were changed: the subjects of past commits, as far back as is useful.

It is a help that is never needed: without git, in a clone without a past, or where git takes too long, the index has
less of it or none. All of it follows from the commit that is checked out, so an index kept in step has the same past as
one built anew; commits that were read once are not read again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Sequence

from nebula.git import GitFailed, safe_git
from nebula.index.constants import (
    HISTORY_BATCH,
    HISTORY_COMMITS,
    HISTORY_FILES,
    HISTORY_GIT_TIMEOUT_S,
    HISTORY_MOVES,
    HISTORY_SECONDS,
    HISTORY_SUBJECT_LETTERS,
)
from nebula.index.stores.past import PastCommit
from nebula.index.stores.store import Store

UNFINISHED = "?"
_COMMIT, _SUBJECT = b"\1", b"\2"


def follow_history(root: str, store: Store, commit: str, paths: Collection[str]) -> None:
    """Bring what past commits say of the files of this commit, its `paths`, in step with it. Of a long past that is
    not known yet it reads as much as it may at once, the newest first, and the rest when it is called again."""
    try:
        wanted = _commits_before(root, commit) if commit else []
        known = store.past_commits()
        missing = [each for each in wanted if each not in known]
        read = _read(root, missing)
    except GitFailed:
        store.set_meta("history", commit)  # asked again for another commit: git may need as long once more
        return
    past = known | {each.id: each for each in read}
    mark = commit if len(read) == len(missing) else UNFINISHED
    store.set_past(mark, [past[each] for each in wanted if each in past], paths)


def _commits_before(root: str, commit: str) -> list[str]:
    """Return this commit and those before it, the newest first."""
    found = safe_git(
        root, "rev-list", "--no-merges", f"--max-count={HISTORY_COMMITS}", commit, "--", timeout=HISTORY_GIT_TIMEOUT_S
    )
    return found.stdout.decode().split() if found.ok else []


def _read(root: str, commits: Sequence[str]) -> list[PastCommit]:
    """Read these commits, batch by batch, until the time is over; one batch in any case."""
    deadline = time.monotonic() + HISTORY_SECONDS
    read: list[PastCommit] = []
    while len(read) < len(commits) and (not read or time.monotonic() < deadline):
        batch = commits[len(read) : len(read) + HISTORY_BATCH]
        told = safe_git(
            root,
            "diff-tree",
            "--stdin",
            "-r",
            "-z",
            "-M100%",  # by blob id alone: a content that moved unchanged
            "--relative",
            "--always",
            "--name-status",
            "--format=%x01%H%x02%s",
            feed="\n".join(batch).encode() + b"\n",
            timeout=HISTORY_GIT_TIMEOUT_S,
        )
        found = {each.id: each for each in _parse(told.stdout)} if told.ok else {}
        read += [found.get(commit, PastCommit(commit)) for commit in batch]
    return read


def _parse(told: bytes) -> Iterator[PastCommit]:
    for entry in told.split(_COMMIT)[1:]:
        head, _, rest = entry.partition(b"\0")
        commit, _, subject = head.partition(_SUBJECT)
        fields = [os.fsdecode(field) for field in rest.lstrip(b"\n").split(b"\0")]
        changed, moves = _changes(fields)
        says_something = len(changed) <= HISTORY_FILES
        yield PastCommit(
            commit.decode(),
            subject.decode("utf-8", "replace")[:HISTORY_SUBJECT_LETTERS].strip() if says_something else "",
            tuple(changed) if says_something else (),
            tuple(moves[:HISTORY_MOVES]),
        )


def _changes(fields: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the paths that were changed, and (from, to) of the contents that were moved."""
    changed, moves = [], []
    rest = iter(fields)
    for status in rest:
        if status.startswith("R"):
            moves.append((next(rest, ""), next(rest, "")))
        elif status:
            changed.append(next(rest, ""))
    return changed, moves
