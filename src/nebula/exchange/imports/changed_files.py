"""What a turn of another agent did to files, as a node holds it: paths, states, and the lines it wrote.

Only files of the project are kept, and of a secret file nothing but its name. Where the record has the texts before and
after, the lines follow from them; where it has a patch alone, from that.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence

from nebula.blame import text
from nebula.blame.line_record import UNTOLD, hash_key, hash_line, record_lines
from nebula.exchange.imports.contract import FileEdit
from nebula.graph.values import FileState
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.guard.paths import normal_path

MOST_FILES = 500
MOST_LINES = 20_000
"""Of one turn and file; beyond that it is no longer somebody's writing."""


def file_states(
    edits: Iterable[FileEdit], root: str, folder: str, may_tell: Callable[[str], bool]
) -> tuple[FileState, ...]:
    """Return the files that the edits of one turn changed. `folder` is where the session took place, which may have
    been another directory than `root`: on another machine, or below."""
    by_path: dict[str, list[FileEdit]] = {}
    for edit in edits:
        path = path_in_project(edit.path, root, folder)
        if path is not None:
            by_path.setdefault(path, []).append(edit)
    return tuple(_state(path, own, may_tell) for path, own in list(by_path.items())[:MOST_FILES])


def path_in_project(path: str, root: str, folder: str) -> str | None:
    """Return a recorded path as the project names it; None for one outside, or that no project can have."""
    if "\0" in path:
        return None
    base = _base(root, folder)
    if os.path.isabs(path):
        place = os.path.normpath(path)
        inside = next((each for each in (folder, root) if each and _is_below(place, each)), None)
        if inside is None:
            return None
        path = os.path.relpath(place, inside)
        base = base if inside == folder else ""
    path = os.path.normpath(os.path.join(base, path))
    try:
        return None if path.startswith("..") else normal_path(path).text
    except WorkspaceError:
        return None


def _base(root: str, folder: str) -> str:
    """Return the place of the session in the project, where it was below it."""
    return os.path.relpath(folder, root) if folder and folder != root and _is_below(folder, root) else ""


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(os.path.join(folder, ""))


def _state(path: str, edits: Sequence[FileEdit], may_tell: Callable[[str], bool]) -> FileState:
    first, last = edits[0].before, edits[-1].after
    before = _hash(first) if first else ""
    after = "" if last is None else _hash(last)
    if normal_path(path).standing.secret:
        return FileState(path)
    if all(edit.before is not None and edit.after is not None for edit in edits):
        contents = {_hash(each): each.encode() for edit in edits for each in (edit.before or "", edit.after or "")}
        steps = [FileState(path, _hash(e.before) if e.before else "", _hash(e.after or "")) for e in edits]
        return record_lines(steps, contents.get, may_tell).get(path) or FileState(path, before, after)
    return FileState(path, before, after, *_lines_of_patches(edits, may_tell))


def _lines_of_patches(edits: Sequence[FileEdit], may_tell: Callable[[str], bool]) -> tuple[str, str]:
    runs, gone = [], []
    count = 0
    for change in (each for edit in edits for each in edit.lines):
        count += len(change.added) + len(change.removed)
        if count > MOST_LINES:
            break
        if change.added:
            hashes = (hash_line(line.encode()) if may_tell(line) else UNTOLD for line in change.added)
            runs.append(f"{max(1, change.start)}:{''.join(hashes)}")
        kept = {text.key(line.encode()) for line in change.added}
        keys = (text.key(line.encode()) for line in change.removed if may_tell(line))
        gone += [hash_key(key) for key in keys if text.is_telling(key) and key not in kept]
    return " ".join(runs), "".join(gone)


def _hash(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()
