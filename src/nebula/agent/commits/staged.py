"""What is staged for the next commit, and the turns that made it.

A turn counts for a file where it wrote it after the state that is committed: decided by contents, so a commit of a part
leaves the turns of the rest to the next one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from nebula.blame.commits import content_at
from nebula.files.digest import digest
from nebula.files.protected_names import names_secret
from nebula.git import GitFailed, find_repository, safe_git
from nebula.value import value
from nebula.workspace.diff import diff_texts
from nebula.workspace.journal.changes import RecordedChange
from nebula.workspace.journal.reader import JournalReader
from nebula.workspace.journal.states import content_name

TIMEOUT_S = 20.0
MOST_DIFF_BYTES = 24_000
"""Of all diffs together that the model is shown."""


@value
class StagedFile:
    """A path with changes in the index."""

    path: str
    """From the repository's root."""
    status: str
    """As git has it: A, M, D, R …"""


def staged_files(root: str) -> list[StagedFile]:
    """Return what is staged in the repository around the directory `root`. Raises GitFailed."""
    told = safe_git(root, "status", "--porcelain=v1", "-z", "--untracked-files=no", timeout=TIMEOUT_S)
    if not told.ok:
        raise GitFailed("git cannot read this repository: {problem}", problem=told.stderr.strip())
    found = []
    fields = iter(told.stdout.decode("utf-8", "surrogateescape").split("\0"))
    for each in fields:
        if len(each) < 4:
            continue
        if each[0] in "RC":
            next(fields, None)  # the name it had
        if each[0] not in " ?!":
            found.append(StagedFile(each[3:], each[0]))
    return found


def staged_diff(root: str, files: Iterable[StagedFile]) -> str:
    """Return the staged changes as one text of limited size; of secret files nothing but the name is in it."""
    room, parts = MOST_DIFF_BYTES, []
    for each in files:
        if room <= 0:
            break
        if names_secret(each.path):
            continue
        old, new = (_text(_content(root, revision, each.path)) for revision in ("HEAD", ""))
        text = diff_texts(each.path, old, new).text[:room]
        room -= len(text.encode("utf-8", "replace"))
        parts.append(text)
    return "\n".join(parts)


def turns_behind(root: str, files: Sequence[StagedFile]) -> list[str]:
    """Return the ids of the turns that wrote what is staged, oldest first."""
    repository = find_repository(root)
    top = repository[0] if repository is not None else root
    below = os.path.relpath(os.path.realpath(root), os.path.realpath(top))
    own = {os.path.relpath(each.path, below): each.path for each in files}
    with JournalReader(root) as journal:
        changes = [change for change in journal.changes() if change.path in own]
    found: dict[int, str] = {}
    for name, path in own.items():
        course = [change for change in changes if change.path == name]
        for change in course[_committed_until(course, _content(root, "HEAD", path)) :]:
            if change.kind == "write":
                found[change.seq] = change.turn
    return list(dict.fromkeys(found[seq] for seq in sorted(found)))


def _committed_until(course: Sequence[RecordedChange], committed: bytes | None) -> int:
    """Return how many of a file's changes led to the committed content; 0 where none of them did."""
    state = None if committed is None else digest(committed)
    for place in range(len(course) - 1, -1, -1):
        if content_name(course[place].after) == state:
            return place + 1
        if content_name(course[place].before) == state:
            return place
    return 0


def _content(root: str, revision: str, path: str) -> bytes | None:
    """Return a file as it is in HEAD, or staged where `revision` is empty; `path` is from the repository's root."""
    repository = find_repository(root)
    if repository is None:
        return None
    if revision:
        return content_at(repository[0], revision, path)
    found = safe_git(repository[0], "cat-file", "blob", f":{path}", timeout=TIMEOUT_S)
    return found.stdout if found.ok else None


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode("utf-8", "replace")
