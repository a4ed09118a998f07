"""Count the files that a new commit changes: a commit that a command made in its layer, not yet in the repository.

The objects that the command made are loose objects in the layer and are read there; the tree of the commit before, and
a folder that the command brought back, are in the repository. If an object cannot be read there is no count: a wrong
one would be worse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nebula.git import GitFailed, safe_git
from nebula.sandbox.changes.git_objects import FOLDER_MODE, OBJECT_NAME, NotAnObject, tree_entries, unpack
from nebula.sandbox.layer import Layer

_MOST_BYTES = 16 << 20
_MOST_TREES = 2_000
Entry = tuple[str, str]
"""A mode and the name of an object."""


def count_files(root: str, layer: Layer, before: str | None, after: str | None) -> int | None:
    """Return in how many files the commits `before` and `after` differ; None where that cannot be told."""
    if after is None or not OBJECT_NAME.fullmatch(after) or (before is not None and not OBJECT_NAME.fullmatch(before)):
        return None
    try:
        commit = _read(root, layer, after, "commit")
        tree = re.match(rb"tree ([0-9a-f]+)\n", commit)
        if tree is None:
            return None
        old = _entries_before(root, before) if before is not None else {}
        new = dict(_changed(root, layer, tree[1].decode(), "", old, [_MOST_TREES]))
    except (NotAnObject, GitFailed):
        return None
    same_folders = tuple(f"{path}/" for path, entry in new.items() if entry is None)
    files = {path: entry for path, entry in new.items() if entry is not None}
    before_files = {path: entry for path, entry in old.items() if entry[0] != FOLDER_MODE}
    gone = sum(path not in files and not path.startswith(same_folders) for path in before_files)
    return gone + sum(before_files.get(path) != entry for path, entry in files.items())


def _entries_before(root: str, commit: str) -> dict[str, Entry]:
    """Return each path of a commit in the repository, folders included, with its mode and the name of its object."""
    told = safe_git(root, "ls-tree", "-r", "-t", "-z", "--full-tree", commit)
    if not told.ok:
        raise NotAnObject
    found = {}
    for line in told.stdout.split(b"\0")[:-1]:
        facts, _, path = line.partition(b"\t")
        mode, _, name = facts.decode("ascii", "replace").split(" ")
        found[path.decode("utf-8", "surrogateescape")] = mode.lstrip("0"), name
    return found


def _changed(
    root: str, layer: Layer, tree: str, above: str, old: dict[str, Entry], room: list[int]
) -> Iterator[tuple[str, Entry | None]]:
    """Yield the files of a tree with their entries; an unchanged folder is one path with None."""
    room[0] -= 1
    if room[0] < 0:
        raise NotAnObject
    for mode, inside, name in tree_entries(_read(root, layer, tree, "tree"), len(tree) // 2):
        path = above + inside
        if mode != FOLDER_MODE:
            yield path, (mode, name)
        elif old.get(path) == (mode, name):
            yield path, None
        else:
            yield from _changed(root, layer, name, f"{path}/", old, room)


def _read(root: str, layer: Layer, name: str, kind: str) -> bytes:
    """Return a loose object that the command made, else the repository's. Raises NotAnObject."""
    try:
        packed = layer.read(f".git/objects/{name[:2]}/{name[2:]}", _MOST_BYTES)
    except OSError:
        told = safe_git(root, "cat-file", kind, name)
        if not told.ok:
            raise NotAnObject from None
        return told.stdout
    return unpack(packed, kind, _MOST_BYTES)
