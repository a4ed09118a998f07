"""Renames: a deleted and a created file with the same content."""

from __future__ import annotations

import os
from collections import defaultdict

from nebula.files.beneath import FOLDER_FLAGS, best_opener
from nebula.files.descriptors import closed_after
from nebula.sandbox.changes import content
from nebula.sandbox.contract import LayerChange
from nebula.sandbox.layer import Layer
from nebula.value import replace


def pair_renames(layer: Layer, changes: list[LayerChange]) -> list[LayerChange]:
    """Return the changes with renames named; only files whose size occurs on both sides are read."""
    wanted = {change.after.size for change in changes if _is_new_file(change) and change.after is not None}
    deleted: defaultdict[str, list[str]] = defaultdict(list)
    for change in changes:
        gone = change.before
        if change.kind == "deleted" and gone is not None and gone.kind == "file" and gone.size in wanted - {0}:
            digest = None if change.secret else _digest_below(layer.lower, change.path)
            if digest is not None:
                deleted[digest].append(change.path)
    return [_paired(change, deleted) for change in changes] if deleted else changes


def _paired(change: LayerChange, deleted: defaultdict[str, list[str]]) -> LayerChange:
    digest = change.after and change.after.digest
    candidates = deleted.get(digest or "", []) if _is_new_file(change) else []
    if not candidates:
        return change
    name = os.path.basename(change.path)
    chosen = next((path for path in candidates if os.path.basename(path) == name), candidates[0])
    candidates.remove(chosen)
    return replace(change, renamed_from=chosen)


def _is_new_file(change: LayerChange) -> bool:
    return change.kind == "created" and change.after is not None and change.after.kind == "file"


def _digest_below(root: int, path: str) -> str | None:
    *parents, name = path.split("/")
    try:
        with closed_after(best_opener()(root, parents, FOLDER_FLAGS)) as folder:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            return content.describe(folder, name, found, with_digest=True).digest
    except OSError:
        return None  # it has changed since
