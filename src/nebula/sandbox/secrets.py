"""Which files of a project are masked before a command sees it.

They are found by name, so every folder is looked into, once: the listing of a folder that has not changed since is
remembered for as long as nebula runs. The walk goes on while the launcher starts, and costs less than that start for
most projects.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable
from functools import cache

from nebula.files.reading import UnreadableFile, read_below

GIT_CONFIG = ".git/config"
_GIT_CONFIG_LIMIT = 2**20
_CREDENTIALS_IN_ADDRESS = re.compile(rb"(https?://)[^/@\s\"]+@", re.IGNORECASE)
_CREDENTIAL_SETTINGS = re.compile(
    rb"^[ \t]*(extraheader|password|token|oauthtoken)[ \t]*=.*$", re.IGNORECASE | re.MULTILINE
)
_READABLE_BY_ALL = {stat.S_IFREG: 0o004, stat.S_IFDIR: 0o005}
_YOUNG_NS = 50_000_000
"""A folder changed this recently may change again within one tick of the file system's clock."""

_Listing = tuple[tuple[str, ...], tuple[str, ...]]
"""Names of folders to look into, and of what is secret."""


class SecretFinder:
    """Remembers what it saw, for one judge of names."""

    def __init__(self, is_secret: Callable[[str], bool]) -> None:
        self._is_secret = is_secret
        self._known: dict[str, tuple[tuple[int, ...], _Listing]] = {}

    def find(self, root: str, hidden: tuple[str, ...]) -> list[str]:
        found: list[str] = []
        seen: dict[str, tuple[tuple[int, ...], _Listing]] = {}
        waiting = [""]
        while waiting:
            folder = waiting.pop()
            place = f"{root}/{folder}"
            try:
                stamp = _stamp(place)
                known = self._known.get(place)
                listing = known[1] if known and known[0] == stamp else self._list(place, folder, hidden)
            except OSError:
                continue  # gone, or closed to us: then it is closed to the command
            if time.time_ns() - stamp[0] > _YOUNG_NS:
                seen[place] = stamp, listing
            below, secret = listing
            waiting += [folder + name + "/" for name in below]
            found += [folder + name for name in secret]
        self._known = {**{at: each for at, each in self._known.items() if not at.startswith(f"{root}/")}, **seen}
        return found

    def _list(self, place: str, folder: str, hidden: tuple[str, ...]) -> _Listing:
        below, secret = [], []
        with os.scandir(place) as entries:
            for entry in entries:
                path = folder + entry.name
                if path in hidden or entry.name == ".git":
                    continue
                if self._is_secret(path):
                    secret.append(entry.name)
                elif entry.is_dir(follow_symlinks=False):
                    below.append(entry.name)
        return tuple(below), tuple(secret)


def _stamp(place: str) -> tuple[int, ...]:
    found = os.stat(place)
    return found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev


def cleaned_git_config(root_fd: int) -> bytes | None:
    """The repository's settings without passwords, where there are any in them."""
    try:
        text = read_below(root_fd, GIT_CONFIG, _GIT_CONFIG_LIMIT) or b""
    except UnreadableFile:
        return None
    cleaned = _CREDENTIAL_SETTINGS.sub(b"", _CREDENTIALS_IN_ADDRESS.sub(rb"\1", text))
    return cleaned if cleaned != text else None


@cache
def private_system_files(folder: str = "/etc") -> tuple[str, ...]:
    """What only root may read: as root, a command sees in `/etc` what every user sees, no password hashes, no
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
