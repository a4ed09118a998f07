"""Which of a command's results git ignores: counted, not proposed."""

from __future__ import annotations

import os
from collections.abc import Iterable

from nebula.git import GitFailed, innermost_repository, safe_git
from nebula.sandbox.contract import LayerChange
from nebula.sandbox.layer import Layer

Changes = list[LayerChange]
_RULE_BYTES = 500
"""Of a `.gitignore` that says no more than that all is ignored."""


def split_ignored(root: str, changes: Iterable[LayerChange], layer: Layer) -> tuple[Changes, Changes]:
    """(what git tracks or would track, what it ignores). A folder goes with what is in it."""
    changes = list(changes)
    ignored = _ignored_paths(root, changes) | _self_ignored(changes, layer)
    if not ignored:
        return changes, []
    above: set[str] = set()
    for change in changes:
        if not change.is_folder and change.path not in ignored:
            above.update(folders_above(change.path))
    kept: list[LayerChange] = []
    left: list[LayerChange] = []
    for change in changes:
        name = f"{change.path}/" if change.is_folder else change.path
        (left if name in ignored and change.path not in above else kept).append(change)
    return kept, left


def _ignored_paths(root: str, changes: list[LayerChange]) -> set[str]:
    """Each repository is asked about its own files: git gives up at the first one that lies in a submodule, or behind
    what is still a link in the project."""
    asked: dict[str, list[str]] = {}
    folders: dict[str, str | None] = {}
    for change in changes:
        folder = os.path.dirname(change.path)
        if folder not in folders:
            folders[folder] = None if _is_behind_link(root, folder) else innermost_repository(root, folder)
        repository = folders[folder]
        if repository is not None:
            name = f"{change.path}/" if change.is_folder else change.path
            asked.setdefault(repository, []).append(name)
    return {
        repository + name
        for repository, names in asked.items()
        for name in _ask_git(root, repository, [name[len(repository) :] for name in names])
    }


def _is_behind_link(root: str, folder: str) -> bool:
    return any(os.path.islink(os.path.join(root, each)) for each in (folder, *folders_above(folder)) if each)


def _ask_git(root: str, repository: str, names: list[str]) -> list[str]:
    feed = b"\0".join(os.fsencode(name) for name in sorted(names)) + b"\0"
    try:
        found = safe_git(os.path.join(root, repository), "check-ignore", "--stdin", "-z", feed=feed)
    except GitFailed:
        return []  # without git nothing is ignored
    return [os.fsdecode(name) for name in found.stdout.split(b"\0") if name]


def _self_ignored(changes: list[LayerChange], layer: Layer) -> set[str]:
    """Caches that bring along a rule against themselves (pytest, mypy, ruff, virtual environments)."""
    folders = tuple(
        change.path.removesuffix(".gitignore")
        for change in changes
        if change.kind == "created" and change.path.endswith("/.gitignore") and _ignores_all(change, layer)
    )
    names = (f"{change.path}/" if change.is_folder else change.path for change in changes)
    return {name for name in names if name.startswith(folders)} if folders else set()


def _ignores_all(change: LayerChange, layer: Layer) -> bool:
    try:
        return b"*" in layer.read(change.path, _RULE_BYTES).split()
    except OSError:
        return False


def folders_above(path: str) -> Iterable[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path
