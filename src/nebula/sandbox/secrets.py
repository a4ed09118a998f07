"""Which files of a project are masked before a command sees it.

They are found by name, so every folder is looked into, once: the listing of a folder that has not changed since is
remembered for as long as nebula runs. The walk goes on while the launcher starts, and costs less than that start for
most projects.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Mapping
from functools import cache

from nebula.sandbox.tracked.views import RepositoryViews
from nebula.value import value

_READABLE_BY_ALL = {stat.S_IFREG: 0o004, stat.S_IFDIR: 0o005}
_YOUNG_NS = 50_000_000
"""A folder changed this recently may change again within one tick of the file system's clock."""

_GIT_SETTINGS = frozenset({"config", "config.worktree", "FETCH_HEAD"})

_Parts = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], frozenset[str]]
"""Of a folder: the folders to look into, what is secret, git's settings, as paths below the root; all its names."""


@value
class FoundSecrets:
    masked: tuple[str, ...]
    """Files and folders that are empty for a command."""
    settings: tuple[str, ...]
    """Settings of repositories, without which git would not work: they are shown without what is secret."""
    names: Mapping[str, frozenset[str]]
    """Folder, ending in "/" → what was in it: what a user removes or renames while the command runs is known by it."""


class SecretFinder:
    """Remembers what it saw, for one judge of paths."""

    def __init__(self, is_secret: Callable[[str], bool]) -> None:
        self.is_secret = is_secret
        self._known: dict[str, tuple[tuple[int, ...], _Parts]] = {}
        self.repositories = RepositoryViews()

    def find(self, root: str, hidden: tuple[str, ...]) -> FoundSecrets:
        masked: list[str] = []
        settings: list[str] = []
        names: dict[str, frozenset[str]] = {}
        waiting = [""]
        now = time.time_ns()
        while waiting:
            folder = waiting.pop()
            place = f"{root}/{folder}"
            try:
                status = os.stat(place)
                stamp = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)
                known = self._known.get(place)
                if known is None or known[0] != stamp:
                    known = (stamp, self._list(place, folder, hidden))
                    if now - stamp[1] > _YOUNG_NS:
                        self._known[place] = known
            except OSError:
                continue  # gone, or closed to us: then it is closed to the command
            below, secret, of_git, names[folder] = known[1]
            waiting += below
            masked += secret
            settings += of_git
        return FoundSecrets(tuple(masked), tuple(settings), names)

    def _list(self, place: str, folder: str, hidden: tuple[str, ...]) -> _Parts:
        below, masked, settings = [], [], []
        is_of_git = ".git/" in folder
        with os.scandir(place) as entries:
            found = {entry.name: entry for entry in entries}
        for name, entry in found.items():
            path = folder + name
            if path in hidden or (is_of_git and name == "objects" and "HEAD" in found):
                continue  # contents under their digests: many, and none that has a name
            if is_of_git and name in _GIT_SETTINGS and not entry.is_dir(follow_symlinks=False):
                settings.append(path)
            elif self.is_secret(path):
                masked.append(path)
            elif entry.is_dir(follow_symlinks=False):
                below.append(f"{path}/")
        return tuple(below), tuple(masked), tuple(settings), frozenset(found)


@cache
def private_kernel_files() -> tuple[str, ...]:
    """Return what only root may read of the kernel itself: the state of every page of memory, and the like."""
    return tuple(
        entry.path
        for entry in os.scandir("/proc")
        if entry.is_file(follow_symlinks=False) and not entry.stat().st_mode & 0o004
    )


@cache
def private_system_files(folder: str = "/etc") -> tuple[str, ...]:
    """Return what only root may read: as root, a command sees in `/etc` what every user sees, no password hashes, no
    keys."""
    found = []
    for entry in os.scandir(folder):
        mode = entry.stat(follow_symlinks=False).st_mode
        needed = _READABLE_BY_ALL.get(stat.S_IFMT(mode), 0)
        if mode & needed != needed:
            found.append(entry.path)
        elif stat.S_ISDIR(mode):
            found += private_system_files(entry.path)
    return tuple(found)
