"""Split the results of a command: those that are proposed, those that git ignores and that are only counted, and
caches, which are dropped.

Git is asked in the project itself, so the rules are those from before the command: a command that writes a `.gitignore`
cannot hide its changes with it. Whatever git tracks, or was in the project before, is proposed by name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

from nebula.git import ask_git, innermost_repository
from nebula.sandbox.contract import LayerChange
from nebula.sandbox.home.tool_settings import GRADLE
from nebula.sandbox.layer import Layer
from nebula.value import value
from nebula.workspace.guard.paths import folders_above

CACHES: Final = frozenset(
    {
        "__pycache__", ".cache", ".coverage", ".eslintcache", ".gradle", ".hypothesis", ".mypy_cache", ".nyc_output",
        ".parcel-cache", ".pytest_cache", ".ruff_cache", ".tox", ".turbo", ".vite", ".vitest",
    }
)  # fmt: skip
"""Names of files and folders that a test run leaves behind. They are dropped without a question, unless git tracks
them."""
INSTALLED: Final = frozenset({"node_modules", ".venv", "venv", "target"})
"""Folders that a package manager or a compiler fills. Where git ignores them, changed files in them are counted like
new ones: a single `npm ci` would otherwise propose, and keep for undo, tens of thousands of files."""
_MADE_BY_GRADLE = "build"
"""The same, but only beside a script of Gradle, which writes its reports there in every test run. Elsewhere the name
means nothing."""
_RULE_BYTES = 500
"""How much is read of a `.gitignore` to find out whether its only rule ignores everything."""


@value
class SplitChanges:
    proposed: tuple[LayerChange, ...]
    """What git tracks or would track, and all that was in the project before."""
    ignored: tuple[LayerChange, ...] = ()


def split_ignored(root: str, changes: Iterable[LayerChange], layer: Layer) -> SplitChanges:
    """Split the changes of a command. A folder is in the part of its files; caches are in neither."""
    changes = list(changes)
    ignored = _ignored_paths(root, changes)
    self_ignored = _self_ignored(changes, layer)
    caches = {_name_of(change) for change in changes if not CACHES.isdisjoint(change.path.split("/"))}
    tracked = _tracked_paths(root, changes) if self_ignored or caches - ignored else set()
    there = {change.path for change in changes if change.before is not None}
    installed = {name for name in ignored if _is_installed(root, name)}
    left: list[LayerChange] = []
    kept: list[LayerChange] = []
    for change in changes:
        name = _name_of(change)
        is_known = change.path in tracked
        if name in caches and not is_known:
            continue
        is_old = change.path in there and name not in installed
        (left if name in ignored | self_ignored and not is_known and not is_old else kept).append(change)
    above = {folder for change in kept if not change.is_folder for folder in folders_above(change.path)}
    needed = [change for change in left if change.is_folder and change.path in above]
    return SplitChanges(
        tuple(sorted((*kept, *needed), key=lambda change: (change.path, change.kind != "deleted"))),
        tuple(change for change in left if change not in needed),
    )


def _name_of(change: LayerChange) -> str:
    return f"{change.path}/" if change.is_folder else change.path


def _is_installed(root: str, path: str) -> bool:
    parts = path.split("/")
    if not INSTALLED.isdisjoint(parts):
        return True
    above = parts[: parts.index(_MADE_BY_GRADLE)] if _MADE_BY_GRADLE in parts else None
    return above is not None and any(os.path.isfile(os.path.join(root, *above, name)) for name in GRADLE)


def _ignored_paths(root: str, changes: list[LayerChange]) -> set[str]:
    return {
        repository + name
        for repository, names in _by_repository(root, changes).items()
        for name in _list_names(root, repository, ("check-ignore", "--stdin", "-z"), sorted(names))
    }


def _tracked_paths(root: str, changes: list[LayerChange]) -> set[str]:
    """Return the paths that are in a git index, also of files that are not in the work tree."""
    return {
        repository + name
        for repository, names in _by_repository(root, changes).items()
        for name in set(_list_names(root, repository, ("ls-files", "-z"))).intersection(names)
    }


def _by_repository(root: str, changes: list[LayerChange]) -> dict[str, set[str]]:
    """Return the paths of the changes by repository, relative to it. Each repository is asked about its own files: git
    gives up at the first path inside a submodule, or behind a link that the command replaced by a folder."""
    asked: dict[str, set[str]] = {}
    folders: dict[str, str | None] = {}
    for change in changes:
        if change.is_folder and os.path.islink(os.path.join(root, change.path)):
            continue
        folder = os.path.dirname(change.path)
        if folder not in folders:
            folders[folder] = None if _is_behind_link(root, folder) else innermost_repository(root, folder)
        repository = folders[folder]
        if repository is not None:
            asked.setdefault(repository, set()).add(_name_of(change)[len(repository) :])
    return asked


def _is_behind_link(root: str, folder: str) -> bool:
    return any(os.path.islink(os.path.join(root, each)) for each in (folder, *folders_above(folder)) if each)


def _list_names(root: str, repository: str, question: tuple[str, ...], names: Iterable[str] = ()) -> list[str]:
    feed = b"".join(os.fsencode(name) + b"\0" for name in names)
    # Without git nothing is ignored and nothing is tracked.
    told = ask_git(os.path.join(root, repository), *question, feed=feed or None) or b""
    return [os.fsdecode(name) for name in told.split(b"\0") if name]


def _self_ignored(changes: list[LayerChange], layer: Layer) -> set[str]:
    """Return what is in folders that the command made and that hold a `.gitignore` for themselves (the caches of
    pytest, mypy and ruff, virtual environments)."""
    there = {change.path for change in changes if change.before is not None}
    made = {change.path for change in changes if change.is_folder and change.kind == "created"} - there
    folders = tuple(
        change.path.removesuffix(".gitignore")
        for change in changes
        if change.kind == "created"
        and os.path.basename(change.path) == ".gitignore"
        and os.path.dirname(change.path) in made
        and _ignores_all(change, layer)
    )
    return {name for name in map(_name_of, changes) if name.startswith(folders)} if folders else set()


def _ignores_all(change: LayerChange, layer: Layer) -> bool:
    """Return whether `*` is the only rule of a `.gitignore`."""
    try:
        lines = layer.read(change.path, _RULE_BYTES).splitlines()
    except OSError:
        return False
    return {line.rstrip() for line in lines if line.strip() and not line.startswith(b"#")} == {b"*"}
