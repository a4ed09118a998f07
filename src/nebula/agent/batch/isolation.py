"""A place for one task: a git work tree of the last commit, or a copy where the project is in no repository.

What the task changes stays there; the project is never written. The place is made anew for each attempt, so that a
task that was killed begins from the start.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress

from nebula.config.parsing import MAX_CONFIG_BYTES
from nebula.files.home import derived_folder
from nebula.files.reading import UnreadableFile, read_below
from nebula.git import GitFailed, add_worktree, find_repository, place_in_repository, remove_worktree, safe_git
from nebula.workspace.project_copy import copy_project

_CACHES = ("cache", "cache__", ".pyc", ".results")
PROJECT_CONFIG = ".nebula/config.json"


def make_place(root: str, place: str, ref: str = "") -> str:
    """Return the project's directory in the place, at the commit `ref` or the last one. What an earlier attempt left
    there is gone. Raises GitFailed where `ref` is named and cannot be had."""
    _clear(root, place)
    if ref:
        add_worktree(root, place, ref)
        return os.path.normpath(os.path.join(place, place_in_repository(root)))
    return _work_tree(root, place) or _copy(root, place)


def clear_place(root: str, place: str, inside: str, home: str) -> None:
    """With what was derived from it."""
    _clear(root, place)
    forget_derived(inside, home)


def forget_derived(inside: str, home: str) -> None:
    """Remove what the user's home keeps of a project that is gone."""
    for each in (inside, os.path.join(inside, ".nebula", "graph")):
        shutil.rmtree(derived_folder(each, home), ignore_errors=True)


def left_out_of(root: str) -> list[str]:
    """Return what git ignores in a project, caches aside: a work tree of it does not have that.

    It is not brought along: an environment often has the project itself installed by its path, so that a check in the
    work tree would judge the files of the project, and a result would say verified of what nobody looked at.
    """
    if find_repository(root) is None:
        return []
    try:
        listed = safe_git(root, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    except GitFailed:
        return []
    names = {os.fsdecode(name).rstrip("/") for name in listed.stdout.split(b"\0") if listed.ok and name}
    return sorted(name for name in names if name != ".nebula" and not name.endswith(_CACHES))


def uncommitted_in(root: str) -> list[str]:
    """Return the files of a project whose changes are in no commit, and so not in a work tree of the last one."""
    if find_repository(root) is None:
        return []
    try:
        if not safe_git(root, "rev-parse", "--verify", "--quiet", "HEAD").ok:
            return []  # nothing is committed, so what is there is copied
        listed = safe_git(root, "status", "--porcelain", "-z", "--no-renames", "--", ".")
    except GitFailed:
        return []
    inside = place_in_repository(root)
    names = [os.fsdecode(line[3:]) for line in listed.stdout.split(b"\0") if listed.ok and line]
    return sorted(os.path.relpath(name, inside or ".") for name in names)


def _work_tree(root: str, place: str) -> str | None:
    if find_repository(root) is None:
        return None
    try:
        add_worktree(root, place)
    except GitFailed:  # no commit yet, no git: what is there can still be copied
        shutil.rmtree(place, ignore_errors=True)
        return None
    inside = os.path.join(place, place_in_repository(root))
    os.makedirs(inside, exist_ok=True)  # a folder that no commit has yet
    return os.path.normpath(inside)


def _copy(root: str, place: str) -> str:
    copy_project(root, place)
    with suppress(UnreadableFile):
        settings = read_below(root, PROJECT_CONFIG, MAX_CONFIG_BYTES)
        if settings is not None:
            os.makedirs(os.path.join(place, ".nebula"), mode=0o700, exist_ok=True)
            with open(os.path.join(place, PROJECT_CONFIG), "wb") as file:
                file.write(settings)
    return place


def _clear(root: str, place: str) -> None:
    with suppress(GitFailed):
        remove_worktree(root, place)
    shutil.rmtree(place, ignore_errors=True)
